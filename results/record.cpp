#include "results/record.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <ctime>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

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

/// "WHAT 'NAME'".
std::string about(std::string what, const std::string& name) {
  return what.append(" '").append(name).append("'");
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
  record.rivals.clear();
  clear_speedups(record);
  for (int i = 1; i < measurement.twin(); ++i) {
    Rival rival;
    rival.name = measurement.contenders[i];
    rival.time = profiler::summarize(measurement, i);
    rival.first_run_us = measurement.warmup[i].first_run_us;
    if (record.verdict == Verdict::kPass) rival.speedup = profiler::speedup(measurement, i);
    if (rival.name == "eager") record.speedup = rival.speedup;
    const double value = rival.speedup.value;
    if (!std::isnan(value) && !(value >= record.speedup_best_rival.value)) {
      record.speedup_best_rival = rival.speedup;
      record.best_rival = rival.name;
    }
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
  const bool passed = record.verdict == Verdict::kPass;
  for (const Interval* speedup : speedups) {
    if (!is_set(*speedup)) continue;
    if (!passed) return "its verdict is " + std::string(name(record.verdict)) + ", yet it carries a speed-up";
    if (speedup->value <= 0) return "a speed-up is not above 0";
  }
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

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

const Rival* find_rival(const CaseRecord& record, const std::string& name) {
  const auto found = std::find_if(record.rivals.begin(), record.rivals.end(),
                                  [&](const Rival& rival) { return rival.name == name; });
  return found == record.rivals.end() ? nullptr : &*found;
}

}  // namespace wide::results
