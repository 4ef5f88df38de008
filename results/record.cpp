#include "results/record.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "results/holm.h"
#include "results/reliability.h"

namespace wide::results {
namespace {

constexpr std::array<std::string_view, 6> kVerdicts = {"pass", "fail", "skipped", "error", "oom", "timeout"};
constexpr std::array<std::string_view, 4> kStatuses = {"running", "done", "interrupted", "failed"};

template <typename Enum, std::size_t kCount>
std::optional<Enum> parse(std::string_view text, const std::array<std::string_view, kCount>& names) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

bool is_set(const Interval& interval) {
  return !std::isnan(interval.value) || !std::isnan(interval.low) || !std::isnan(interval.high);
}

bool is_below_0(const profiler::Summary& time) {
  return time.median_us < 0 || time.ci95.low < 0 || time.min_us < 0 || time.iqr_us < 0 || time.mad_us < 0;
}

/// "WHAT 'NAME'".
std::string about(std::string what, const std::string& name) {
  return what.append(" '").append(name).append("'");
}

/// A lower bound against the best rival holds against every rival, whichever has the smallest median.
void hold_against(const Rival& rival, CaseRecord& record) {
  auto& [value, low, high] = record.speedup_best_rival;
  const bool first = std::isnan(value);
  if (first || rival.speedup.value < value) record.best_rival = rival.name;
  value = first ? rival.speedup.value : std::min(value, rival.speedup.value);
  low = first ? rival.speedup.low : std::min(low, rival.speedup.low);
  high = first ? rival.speedup.high : std::min(high, rival.speedup.high);
  if (std::isnan(rival.speedup.low) || std::isnan(rival.speedup.high)) low = high = kUnknown;
}

}  // namespace

std::string_view name(Verdict verdict) {
  return kVerdicts.at(static_cast<std::size_t>(verdict));
}
std::optional<Verdict> parse_verdict(std::string_view text) {
  return parse<Verdict>(text, kVerdicts);
}
std::string_view name(RunStatus status) {
  return kStatuses.at(static_cast<std::size_t>(status));
}
std::optional<RunStatus> parse_status(std::string_view text) {
  return parse<RunStatus>(text, kStatuses);
}

double max_abs_err(const CaseRecord& record) {
  double largest = kUnknown;
  for (const Check& check : record.checks) {
    if (std::isnan(check.max_abs_err)) return kUnknown;
    if (std::isnan(largest) || check.max_abs_err > largest) largest = check.max_abs_err;
  }
  return largest;
}

void add_measurement(CaseRecord& record, const profiler::Measurement& measurement) {
  record.wide = profiler::summarize(measurement, 0);
  record.noise_floor = profiler::noise_floor(measurement);
  record.rounds = measurement.rounds;
  record.stop_reason = profiler::name(measurement.stop_reason);
  record.first_run_us = measurement.warmup.front().first_run_us;
  record.samples = measurement.samples;
  record.seed = measurement.seed;
  record.circumstances.steady = std::all_of(measurement.warmup.begin(), measurement.warmup.end(),
                                            [](const profiler::Warmup& warmup) { return warmup.steady; });
  record.rivals.clear();
  clear_speedups(record);
  for (int i = 1; i < measurement.twin(); ++i) {
    Rival rival;
    rival.name = measurement.contenders[i];
    rival.time = profiler::summarize(measurement, i);
    rival.first_run_us = measurement.warmup[i].first_run_us;
    if (record.verdict == Verdict::kPass) rival.speedup = profiler::speedup(measurement, i);
    if (rival.name == "eager") record.speedup = rival.speedup;
    if (!std::isnan(rival.speedup.value)) hold_against(rival, record);
    record.rivals.push_back(std::move(rival));
  }
}

std::string objection(const CaseRecord& record) {
  std::vector<const Interval*> speedups = {&record.speedup, &record.speedup_best_rival};
  std::set<std::string_view> names = {"wide"};
  for (const Rival& rival : record.rivals) {
    speedups.push_back(&rival.speedup);
    if (!names.insert(rival.name).second) return about("two of its contenders have the name", rival.name);
  }
  if (record.n < 0) return "a number of members is below 0";
  bool below_0 =
      is_below_0(record.wide) || record.first_run_us < 0 || record.compile_us < 0 || record.seconds < 0;
  for (const Rival& rival : record.rivals) below_0 |= is_below_0(rival.time) || rival.first_run_us < 0;
  for (const auto& sample : record.samples) {
    below_0 |= sample.microseconds < 0;
    if (sample.contender < 0) return "a sample is of no contender";
  }
  if (below_0) return "a time is below 0";
  const bool passed = record.verdict == Verdict::kPass;
  for (const Interval* speedup : speedups) {
    if (!is_set(*speedup)) continue;
    if (!passed) return "its verdict is " + std::string(name(record.verdict)) + ", yet it carries a speed-up";
    if (speedup->value <= 0) return "a speed-up is not above 0";
    if (speedup->low > speedup->high) return "the interval of a speed-up ends before it begins";
  }
  if (!record.circumstances.disturbed.empty() && is_set(record.speedup_best_rival))
    return "its times were disturbed, yet it carries a speed-up";
  if (passed && record.checks.empty()) return "its verdict is pass, yet nothing was checked";
  for (const Check& check : record.checks) {
    if (passed && !check.passed) return about("its verdict is pass, yet it failed the check", check.what);
    if (check.passed && !std::isfinite(check.max_abs_err))
      return about("it passed a check whose error is not finite:", check.what);
  }
  return "";
}

void clear_speedups(CaseRecord& record) {
  record.speedup = record.speedup_best_rival = {};
  record.best_rival.clear();
  for (Rival& rival : record.rivals) rival.speedup = {};
}

void set_disturbed(CaseRecord& record, std::string why) {
  record.circumstances.disturbed = std::move(why);
  clear_speedups(record);
}

double spread_between_processes(const CaseRecord& record) {
  const double known = record.circumstances.spread;
  return std::isnan(known) ? profiler::kAssumedSpread : known;
}

std::vector<profiler::Effect> effects(std::span<const CaseRecord> cases) {
  constexpr double kAlpha = 0.05;
  std::vector<double> p;
  for (const CaseRecord& record : cases)
    p.push_back(
        profiler::p_of(profiler::widened(record.speedup_best_rival, spread_between_processes(record))));
  const auto adjusted = holm(p);
  std::vector<profiler::Effect> result;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    auto effect = profiler::judge(cases[i].speedup_best_rival, cases[i].noise_floor, profiler::kMinimumEffect,
                                  spread_between_processes(cases[i]));
    const bool one_sided = effect == profiler::Effect::kFaster || effect == profiler::Effect::kSlower;
    if (one_sided && !(adjusted[i] <= kAlpha)) effect = profiler::Effect::kInconclusive;
    if (!unreliable(cases[i]).empty()) effect = profiler::Effect::kInconclusive;
    result.push_back(effect);
  }
  return result;
}

profiler::Effect effect(const CaseRecord& record) {
  return effects({&record, 1}).front();
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

bool is_utc(const std::string& text) {
  std::tm utc{};
  int end = 0;
  const int read = std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2dZ%n", &utc.tm_year, &utc.tm_mon,
                               &utc.tm_mday, &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &end);
  if (read != 6 || text.size() != 20 || end != 20) return false;
  const std::chrono::year_month_day day{std::chrono::year(utc.tm_year),
                                        std::chrono::month(static_cast<unsigned>(utc.tm_mon)),
                                        std::chrono::day(static_cast<unsigned>(utc.tm_mday))};
  return day.ok() && utc.tm_hour >= 0 && utc.tm_hour < 24 && utc.tm_min >= 0 && utc.tm_min < 60 &&
         utc.tm_sec >= 0 && utc.tm_sec <= 60;
}

const Rival* find_rival(const CaseRecord& record, const std::string& name) {
  const auto found = std::find_if(record.rivals.begin(), record.rivals.end(),
                                  [&](const Rival& rival) { return rival.name == name; });
  return found == record.rivals.end() ? nullptr : &*found;
}

}  // namespace wide::results
