#pragma once
// Robust statistics of samples and of per-round ratios. NaN means "not known" and never passes as a number.

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "profiler/measure.h"

namespace wide::profiler {

/// Raised when a stored interval or summary would come out differently from the same samples.
inline constexpr int kStatisticsVersion = 2;
inline constexpr int kResamples = 2000;
inline constexpr double kNormal95 = 1.959963984540054;  ///< 97.5 % quantile of the normal distribution
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// An estimate with its 95 % interval.
struct Interval {
  double value = kUnknown;
  double low = kUnknown;
  double high = kUnknown;

  bool known() const { return value == value && low == low && high == high; }
  /// (high - low) / value; NaN when not known.
  double relative_width() const { return (high - low) / value; }
};

/// One contender's samples in short. All times in microseconds per run; NaN without samples.
struct Summary {
  double median_us = kUnknown;
  Interval ci95;  ///< of the median; value == median_us
  double min_us = kUnknown;
  double iqr_us = kUnknown;
  double mad_us = kUnknown;  ///< median absolute deviation, not scaled
  int outliers = 0;          ///< beyond 1.5 IQR from the quartiles: counted, never dropped
  int samples = 0;
};

/// What a ratio says. Not to be confused with a case's verdict (right or wrong numbers).
enum class Effect : std::uint8_t { kFaster, kSlower, kSame, kInconclusive };

/// "faster", "slower", "same" or "inconclusive".
std::string_view name(Effect effect);

/// NaN when empty or when any value is NaN.
double median(std::vector<double> values);
/// Linear interpolation between order statistics; `q` in [0, 1]. NaN when empty or when any value is NaN.
double quantile(std::vector<double> values, double q);
/// Lower level of a two-sided 95 % bootstrap interval from `count` values. See Note [Expanded percentiles].
double expanded_level(std::size_t count);
/// Expanded percentile bootstrap interval of the median. Unknown limits below 3 values; all unknown when any
/// value is not finite.
Interval bootstrap_median(std::span<const double> values, std::uint64_t seed, int resamples = kResamples);

/// Summary of all samples of one contender.
Summary summarize(const Measurement& measurement, int contender);
Summary summarize(std::span<const double> microseconds, std::uint64_t seed);

/// Per-round time of `numerator` over that of `denominator`, for rounds in which both were measured.
std::vector<double> round_ratios(std::span<const Sample> samples, int numerator, int denominator);
/// How many times faster contender 0 is than `rival`: median over rounds of rival / wide.
Interval speedup(const Measurement& measurement, int rival);
/// The same for the A/A twin: what the machine reports when nothing differs.
Interval noise_floor(const Measurement& measurement);

/// Smallest effect that may be called faster or slower, whatever its significance.
inline constexpr double kMinimumEffect = 0.02;

/// Beyond that the same work measured twice shows that the machine had other things to do: no speed-up.
inline constexpr double kMostNoise = 0.25;
/// And beyond that there is a speed-up, but no verdict.
inline constexpr double kMostNoiseOfVerdict = 0.10;
/// An interval that reaches further than this factor both ways holds both much faster and much slower.
inline constexpr double kMuch = 1.25;
/// Nor from an interval whose ends differ by more than this factor.
inline constexpr double kMostWidth = 4;
/// How much processes of the same program differ (standard deviation of the logarithm of a ratio), where
/// nothing is known of the case: 1 to 3 % are usual, 10 % happen.
inline constexpr double kAssumedSpread = 0.04;

/// An interval from the rounds of one process, with the `spread` between processes in it.
Interval widened(const Interval& ratio, double spread);
/// Two-sided p-value of "no difference" for a ratio, by its interval. NaN when not known.
double p_of(const Interval& ratio);

/// Half-width of the band that counts as no change: the larger of `minimum_effect` and the noise floor's
/// reach.
double indifference(const Interval& noise, double minimum_effect = kMinimumEffect);
/// Whether an interval reaches from much slower to much faster (kMuch).
bool holds_both(const Interval& ratio);
/// faster/slower: the interval, widened by `spread`, excludes 1 and the value lies outside the band; same:
/// the interval lies within what the band or processes show; else, and whenever a number is unknown, the
/// noise above kMostNoiseOfVerdict or the interval wider than kMostWidth or around both, inconclusive.
Effect judge(const Interval& speedup, const Interval& noise, double minimum_effect = kMinimumEffect,
             double spread = 0);

}  // namespace wide::profiler
