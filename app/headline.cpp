#include "app/headline.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/exit_code.h"
#include "profiler/random.h"
#include "results/counted.h"
#include "results/reliability.h"

namespace wide::app {
namespace {

using profiler::Effect;
using profiler::Interval;
using results::CaseRecord;
using results::Verdict;

constexpr const char* kApart = "apart";

// Note [Mean of speed-ups]
// Speed-ups are ratios: their mean is taken of the logarithms. Each case's 95 % interval gives the standard
// error of its logarithm, width / (2 * 1.96), and processes differ by what is known of them or assumed; the
// cases were measured apart, so the errors add in squares.
// The interval covers the error of measuring these cases. It says nothing of other shapes or subjects.
class GeometricMean {
 public:
  void add(const Interval& rounds, double spread) {
    const auto ratio = profiler::widened(rounds, spread);
    const double error = (std::log(ratio.high) - std::log(ratio.low)) / (2 * profiler::kNormal95);
    sum_ += std::log(ratio.value);
    squares_ += error * error;
    ++count_;
  }
  Interval interval() const {
    if (count_ == 0) return {};
    const double mean = sum_ / count_, reach = profiler::kNormal95 * std::sqrt(squares_) / count_;
    return {std::exp(mean), std::exp(mean - reach), std::exp(mean + reach)};
  }

 private:
  double sum_ = 0, squares_ = 0;
  int count_ = 0;
};

bool usable(const Interval& ratio) {
  return ratio.known() && ratio.low > 0 && std::isfinite(ratio.high) && ratio.value > 0;
}

std::string factor(const Interval& ratio) {
  if (!ratio.known()) return "not known";
  return fmt::format("{:.2f}x [{:.2f}, {:.2f}]", ratio.value, ratio.low, ratio.high);
}

// Members apart by our kernels over eager, from the rounds that have both.
Interval gain_by_kernels(const CaseRecord& record) {
  int eager = 0, apart = 0;
  for (std::size_t i = 0; i < record.rivals.size(); ++i) {
    if (record.rivals[i].name == "eager") eager = static_cast<int>(i) + 1;
    if (record.rivals[i].name == kApart) apart = static_cast<int>(i) + 1;
  }
  if (eager == 0 || apart == 0) return {};
  return profiler::bootstrap_median(profiler::round_ratios(record.samples, eager, apart),
                                    profiler::derive(record.seed, 4000));
}

int count(const auto& counts, auto what) {
  const auto found = counts.find(what);
  return found == counts.end() ? 0 : found->second;
}

nlohmann::json to_json(const Interval& ratio) {
  if (!ratio.known()) return nullptr;
  return {{"value", ratio.value}, {"ci95", {ratio.low, ratio.high}}};
}

}  // namespace

Headline headline(const std::vector<results::CaseRecord>& cases, const std::string& strategy) {
  Headline result;
  GeometricMean eager, rival, width, kernels;
  const auto judged = results::effects(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& record = cases[i];
    if (!strategy.empty() && record.strategy != strategy) continue;
    ++result.verdicts[record.verdict];
    const bool measured = usable(record.speedup) && usable(record.speedup_best_rival);
    const bool disturbed = !results::unreliable(record).empty();
    result.disturbed += disturbed;
    if (disturbed) ++result.against_best_rival[Effect::kInconclusive];
    if (record.verdict != Verdict::kPass || !measured || disturbed) continue;
    ++result.measured;
    eager.add(record.speedup, results::spread_between_processes(record));
    rival.add(record.speedup_best_rival, results::spread_between_processes(record));
    ++result.against_best_rival[judged[i]];
    const double spread = results::spread_between_processes(record);
    if (const auto* apart = results::find_rival(record, kApart); apart != nullptr && usable(apart->speedup)) {
      width.add(apart->speedup, spread);
      if (const auto gain = gain_by_kernels(record); usable(gain)) kernels.add(gain, spread);
    }
  }
  result.over_eager = eager.interval();
  result.over_best_rival = rival.interval();
  result.by_width = width.interval();
  result.by_kernels = kernels.interval();
  return result;
}

std::string text(const Headline& headline) {
  std::string lines;
  if (headline.measured > 0) {
    const auto& effects = headline.against_best_rival;
    lines = fmt::format(
        "speed-up over N eager runs: {}\nspeed-up over the best rival: {}\n"
        "  (geometric means over {} with the 95 % interval of their measuring error)\n"
        "against the best rival: {} faster, {} same, {} slower, {} inconclusive\n",
        factor(headline.over_eager), factor(headline.over_best_rival),
        results::counted(headline.measured, "case"), count(effects, Effect::kFaster),
        count(effects, Effect::kSame), count(effects, Effect::kSlower),
        count(effects, Effect::kInconclusive));
    if (headline.by_width.known()) {
      lines += fmt::format("gain by width, over the members apart with the same kernels: {}\n",
                           factor(headline.by_width));
      lines +=
          fmt::format("gain by kernels, of the members apart over eager: {}\n", factor(headline.by_kernels));
    }
  }
  if (headline.disturbed > 0) {
    lines += fmt::format(
        "left out of the means: {} that passed beside other work or show no more than noise; measure again "
        "on "
        "a quieter machine\n",
        results::counted(headline.disturbed, "case"));
  }
  const int without = count(headline.verdicts, Verdict::kPass) - headline.measured - headline.disturbed;
  if (without > 0) {
    lines += fmt::format(
        "left out of the means: {} that passed with too few rounds for an interval, or no eager runs "
        "beside\n",
        results::counted(without, "case"));
  }
  return lines;
}

nlohmann::json to_json(const Headline& headline) {
  nlohmann::json verdicts = nlohmann::json::object(), effects = nlohmann::json::object();
  for (const auto& [verdict, number] : headline.verdicts)
    verdicts[std::string(results::name(verdict))] = number;
  for (const auto& [effect, number] : headline.against_best_rival) {
    effects[std::string(profiler::name(effect))] = number;
  }
  return {{"verdicts", verdicts},
          {"measured", headline.measured},
          {"disturbed", headline.disturbed},
          {"speedup_geometric_mean", to_json(headline.over_eager)},
          {"speedup_best_rival_geometric_mean", to_json(headline.over_best_rival)},
          {"gain_by_width", to_json(headline.by_width)},
          {"gain_by_kernels", to_json(headline.by_kernels)},
          {"against_best_rival", effects}};
}

int exit_code(const Headline& headline) {
  if (count(headline.verdicts, Verdict::kFail) > 0) return kExitWrongNumbers;
  const int without = count(headline.verdicts, Verdict::kError) + count(headline.verdicts, Verdict::kOom) +
                      count(headline.verdicts, Verdict::kTimeout);
  return without > 0 || count(headline.verdicts, Verdict::kPass) == 0 ? kExitCannotMeasure : kExitDone;
}

int worst(int a, int b) {
  return a == kExitDone || b == kExitWrongNumbers ? b : a;
}

}  // namespace wide::app
