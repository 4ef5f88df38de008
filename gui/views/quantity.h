#pragma once
// Numbers as people read them: three significant figures, a unit, and the interval where there is one. "-"
// for what is not known. All take an interval, so that they can stand in a Column.

#include <string>

#include "profiler/statistics.h"

namespace wide::gui {

using profiler::Interval;

inline constexpr const char* kNotKnown = "–";

std::string show_time(const Interval& microseconds);  ///< "1.52 ms [1.50, 1.55]", "148 µs"
std::string show_ratio(const Interval& ratio);        ///< "1.38× [1.35, 1.41]"
std::string show_change(const Interval& ratio);       ///< "+4.20 % [+3.10, +5.30]" of 1.042 [1.031, 1.053]
std::string show_count(const Interval& count);        ///< "12", "1,234,567"; fractions "12.5"
std::string show_share(const Interval& share);        ///< "12.5 %" of 0.125
std::string show_error(const Interval& error);        ///< "3.10e-07"; "0"
/// "0.0123", "1"; tiny ones with an exponent.
std::string show_probability(const Interval& p);
std::string show_rate(const Interval& per_second);  ///< "12.3 GFLOP/s"
std::string show_bytes(const Interval& bytes);      ///< "1.20 MB", powers of 1000

/// The number alone, three significant figures, never in exponent form: "0.92", "12.3", "1234".
std::string three_figures(double value);

}  // namespace wide::gui
