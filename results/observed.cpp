#include "results/observed.h"

#include <algorithm>
#include <cmath>

#include "results/escape.h"
#include "results/table.h"

namespace wide::results {
namespace {

constexpr double kMostLoad = 1.5;  // per CPU, besides the one that measuring may add

bool usable(const Interval& interval) {
  return interval.known() && interval.low > 0 && std::isfinite(interval.high);
}

/// Threads that wait for each other take a thousand times as long when others hold the CPUs: no statistics
/// mend that.
std::string overload_of(const RunRecord& run, const CaseRecord& record) {
  const int cores = run.machine.logical_cores;
  if (run.threads == 1 || cores < 1 || !(record.load_1min > kMostLoad * cores + 1)) return "";
  return "the machine was overloaded: load " + fixed(record.load_1min, 1) + " on " + std::to_string(cores) +
         " CPUs";
}

}  // namespace

double Sample::mean() const {
  double sum = 0;
  for (const double value : log_cost) sum += value;
  return sum / static_cast<double>(log_cost.size());
}

double Sample::squares() const {
  const double middle = mean();
  double sum = 0;
  for (const double value : log_cost) sum += (value - middle) * (value - middle);
  return sum;
}

std::string common_rival(const Observed& first, const Observed& second) {
  std::vector<std::string> names{"eager"};
  for (const Rival& rival : first.passed.front()->rivals) names.push_back(rival.name);
  for (const auto& name : names) {
    const auto has = [&](const CaseRecord* record) {
      const Rival* rival = find_rival(*record, name);
      return rival != nullptr && usable(rival->speedup);
    };
    if (std::all_of(first.passed.begin(), first.passed.end(), has) &&
        std::all_of(second.passed.begin(), second.passed.end(), has)) {
      return name;
    }
  }
  return "";
}

std::optional<Sample> sample_of(const Observed& side, const std::string& rival) {
  Sample sample;
  std::vector<double> wide, rivals;
  for (const CaseRecord* record : side.passed) {
    const Rival* reference = rival.empty() ? nullptr : find_rival(*record, rival);
    const Interval& cost = reference != nullptr ? reference->speedup : record->wide.ci95;
    if (!usable(cost)) return std::nullopt;
    const double log_value = std::log(cost.value);
    sample.log_cost.push_back(reference != nullptr ? -log_value : log_value);
    sample.error.push_back((std::log(cost.high) - std::log(cost.low)) / (2 * profiler::kNormal95));
    wide.push_back(record->wide.median_us);
    if (reference != nullptr) rivals.push_back(reference->time.median_us);
  }
  sample.wide_us = profiler::median(wide);
  sample.rival_us = profiler::median(rivals);
  return sample;
}

double noise_of(const Observed& first, const Observed& second) {
  double largest = 0;
  for (const auto* side : {&first, &second}) {
    std::vector<double> ratios;
    for (const CaseRecord* record : side->passed) {
      if (!(record->noise_floor.value > 0)) return kUnknown;
      ratios.push_back(std::log(record->noise_floor.value));
    }
    largest = std::max(largest, std::abs(profiler::median(ratios)));
  }
  return std::exp(largest) - 1;
}

bool is_another_model(const Observed& first, const Observed& second) {
  auto models = first.models;
  models.insert(second.models.begin(), second.models.end());
  return models.size() > 1;
}

Cases::Cases(const Side& side) {
  all.reserve(side.runs.front().cases.size());
  by_key.reserve(all.capacity());
  for (const Imported& run : side.runs) {
    for (const CaseRecord& record : run.cases) {
      const auto [at, is_new] = by_key.emplace(record.key, all.size());
      if (is_new) all.emplace_back().any = &record;
      Observed& seen = all[at->second];
      seen.runs += record.verdict == Verdict::kPass;
      if (!record.model_hash.empty()) seen.models.insert(record.model_hash);
      if (record.verdict == Verdict::kPass && !record.circumstances.disturbed.empty()) {
        seen.disturbed = record.circumstances.disturbed;
      } else if (record.verdict == Verdict::kPass) {
        seen.passed.push_back(&record);
        if (auto overload = overload_of(run.run, record); !overload.empty())
          seen.overload = std::move(overload);
      } else {
        seen.trouble = std::string(name(record.verdict));
        if (!record.reason.empty()) seen.trouble += ": " + printable(record.reason, 200);
      }
    }
  }
}

const Observed* Cases::find(std::string_view key) const {
  const auto found = by_key.find(key);
  return found == by_key.end() ? nullptr : &all[found->second];
}

double median_of_chi_square(double degrees) {  // Wilson and Hilferty
  const double part = 1 - 2 / (9 * degrees);
  return part * part * part;
}

}  // namespace wide::results
