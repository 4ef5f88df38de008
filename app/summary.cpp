#include "app/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "profiler/crossover.h"
#include "profiler/random.h"
#include "results/grid.h"
#include "results/in_parts.h"
#include "results/table.h"

// Note [Wins]
// Strategies of one subject are cases of their own, measured one after the other in processes of their own,
// so their times are not comparable as they stand. Each was measured in the same rounds as N eager runs,
// though: the strategy that gains most over those is the fastest. `auto` chooses among the others and does
// not compete.

namespace wide::app {
namespace {

using profiler::Interval;
using results::CaseRecord;
using results::Verdict;

constexpr std::string_view kAuto = "auto";
constexpr std::size_t kMostRemarks = 20;

// What two cases must have in common to compete; `with_n` false: to lie on one curve over N.
std::string place(const CaseRecord& record, bool with_n) {
  nlohmann::json key{record.subject, record.shape, record.device, record.dtype, record.mode};
  key.push_back(with_n ? nlohmann::json(record.n) : nlohmann::json(record.strategy));
  return key.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool competes(const CaseRecord& record) {
  return record.verdict == Verdict::kPass && record.strategy != kAuto && record.speedup.known();
}

StrategySummary& of(std::vector<StrategySummary>& list, const std::string& strategy) {
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.strategy == strategy; });
  if (found != list.end()) return *found;
  return list.emplace_back(StrategySummary{.strategy = strategy, .headline = {}});
}

void count_wins(const std::vector<CaseRecord>& cases, std::vector<StrategySummary>& strategies) {
  std::map<std::string, std::vector<const CaseRecord*>> places;
  for (const auto& record : cases) {
    if (competes(record)) places[place(record, true)].push_back(&record);
  }
  for (auto& [key, entrants] : places) {
    if (entrants.size() < 2) continue;
    std::stable_sort(entrants.begin(), entrants.end(),
                     [](const auto* a, const auto* b) { return a->speedup.value > b->speedup.value; });
    for (const auto* record : entrants) ++of(strategies, record->strategy).contests;
    auto& winner = of(strategies, entrants[0]->strategy);
    ++winner.fastest;
    winner.clearly += entrants[0]->speedup.low > entrants[1]->speedup.high;
  }
}

std::vector<StrategySummary> by_strategy(const std::vector<CaseRecord>& cases) {
  std::vector<StrategySummary> result;
  for (const auto& record : cases) of(result, record.strategy);
  for (auto& one : result) one.headline = headline(cases, one.strategy);
  count_wins(cases, result);
  return result;
}

// `only` empty: all rivals.
profiler::CrossoverPoint point_of(const CaseRecord& record, const std::string& only) {
  profiler::CrossoverPoint point{record.n, {}};
  for (std::size_t i = 0; i < record.rivals.size(); ++i) {
    if (!only.empty() && record.rivals[i].name != only) continue;
    point.ratios.push_back(profiler::round_ratios(record.samples, static_cast<int>(i) + 1, 0));
  }
  return point;
}

Interval crossover_of(const std::vector<const CaseRecord*>& curve, const std::string& only) {
  std::vector<profiler::CrossoverPoint> points;
  for (const auto* record : curve) points.push_back(point_of(*record, only));
  return profiler::crossover(points, profiler::derive(curve[0]->seed, 3000));
}

CrossoverSummary crossover_summary(std::vector<const CaseRecord*> curve) {
  std::stable_sort(curve.begin(), curve.end(), [](const auto* a, const auto* b) { return a->n < b->n; });
  CrossoverSummary one;
  one.like.subject = curve[0]->subject, one.like.shape = curve[0]->shape;
  one.like.device = curve[0]->device, one.like.dtype = curve[0]->dtype;
  one.like.mode = curve[0]->mode, one.like.strategy = curve[0]->strategy;
  for (const auto* record : curve) one.n.push_back(record->n);
  one.over_eager = crossover_of(curve, "eager");
  one.over_best_rival = crossover_of(curve, "");
  return one;
}

std::vector<CrossoverSummary> crossovers(const std::vector<CaseRecord>& cases) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const CaseRecord*>> curves;
  for (const auto& record : cases) {
    if (record.verdict != Verdict::kPass || record.samples.empty() || !record.circumstances.disturbed.empty())
      continue;
    auto& curve = curves[place(record, false)];
    if (curve.empty()) order.push_back(place(record, false));
    curve.push_back(&record);
  }
  std::erase_if(order, [&](const auto& key) { return curves[key].size() < 2; });
  const auto parts = results::in_parts(order.size(), [&](std::size_t first, std::size_t last) {
    std::vector<CrossoverSummary> some;
    for (std::size_t i = first; i < last; ++i) {
      auto one = crossover_summary(curves.at(order[i]));
      if (one.over_eager.known() || one.over_best_rival.known()) some.push_back(std::move(one));
    }
    return some;
  });
  std::vector<CrossoverSummary> result;
  for (const auto& part : parts) result.insert(result.end(), part.begin(), part.end());
  return result;
}

// Plans come from databases and reports too: what is not as a worker writes it is passed over.
std::vector<std::string> remarks(const std::vector<CaseRecord>& cases) {
  std::vector<std::string> result;
  const auto add = [&](const CaseRecord& record, const std::string& text) {
    auto line = fmt::format("{} N={}: {}", results::printable(record.subject), record.n,
                            results::printable(text, 200));
    if (result.size() < kMostRemarks && std::find(result.begin(), result.end(), line) == result.end())
      result.push_back(std::move(line));
  };
  for (const auto& record : cases) {
    if (!record.plan.is_object()) continue;
    if (const auto out = record.plan.find("left_out"); out != record.plan.end() && out->is_object()) {
      for (const auto& [rival, why] : out->items())
        if (why.is_string()) add(record, "without the rival " + rival + ": " + why.get<std::string>());
    }
    if (const auto notes = record.plan.find("unproved"); notes != record.plan.end() && notes->is_array()) {
      for (const auto& note : *notes)
        if (note.is_string()) add(record, note.get<std::string>());
    }
  }
  return result;
}

std::string remarks_text(const std::vector<std::string>& remarks) {
  std::string text;
  for (const auto& line : remarks) text += "\n" + line;
  return text.empty() ? "" : text + "\n";
}

// "5.3", "below 2", "never"
std::string end_text(double n, std::int64_t smallest) {
  if (n == profiler::kBelowSmallest) return fmt::format("below {}", smallest);
  if (n == profiler::kNever) return "never";
  return fmt::format("{:.1f}", n);
}

std::string crossover_text(const Interval& interval, std::int64_t smallest) {
  if (!interval.known()) return "-";
  const auto value = end_text(interval.value, smallest), low = end_text(interval.low, smallest),
             high = end_text(interval.high, smallest);
  return low == value && high == value ? value : fmt::format("{} [{}, {}]", value, low, high);
}

nlohmann::json end_json(double n) {
  if (n == profiler::kBelowSmallest) return "below";
  if (n == profiler::kNever) return "never";
  return n;
}

nlohmann::json crossover_json(const Interval& interval) {
  if (!interval.known()) return nullptr;
  return {{"n", end_json(interval.value)}, {"ci95", {end_json(interval.low), end_json(interval.high)}}};
}

std::string strategies_text(const std::vector<StrategySummary>& strategies) {
  if (strategies.size() < 2) return "";
  results::Grid grid({true, false, false, false, false, false});
  grid.row({"by strategy", "passed", "fastest", "clearly", "over eager", "over best"});
  for (const auto& one : strategies) {
    const auto passed = one.headline.verdicts.find(Verdict::kPass);
    const bool competed = one.contests > 0;
    grid.row({results::printable(one.strategy),
              std::to_string(passed == one.headline.verdicts.end() ? 0 : passed->second),
              competed ? fmt::format("{} of {}", one.fastest, one.contests) : "-",
              competed ? std::to_string(one.clearly) : "-", results::speedup_text(one.headline.over_eager),
              results::speedup_text(one.headline.over_best_rival)});
  }
  return "\n" + grid.str();
}

std::string crossovers_text(const std::vector<CrossoverSummary>& list) {
  if (list.empty()) return "";
  results::Grid grid({true, true, true, true, true, true});
  grid.row({"wide pays from N =", "strategy", "over eager", "over the best rival", "run as", "shape"});
  for (const auto& one : list) {
    const auto& like = one.like;
    grid.row({results::printable(like.subject), results::printable(like.strategy),
              crossover_text(one.over_eager, one.n.front()),
              crossover_text(one.over_best_rival, one.n.front()),
              results::printable(like.device + " " + like.dtype + " " + like.mode),
              like.shape.is_null() ? ""
                                   : results::printable(like.shape.dump(
                                         -1, ' ', false, nlohmann::json::error_handler_t::replace))});
  }
  return "\n" + grid.str();
}

}  // namespace

Summary summarize(const std::vector<CaseRecord>& cases) {
  return {headline(cases), by_strategy(cases), crossovers(cases), remarks(cases)};
}

std::string text(const Summary& summary) {
  return text(summary.headline) + strategies_text(summary.strategies) + crossovers_text(summary.crossovers) +
         remarks_text(summary.remarks);
}

nlohmann::json to_json(const Summary& summary) {
  auto strategies = nlohmann::json::array(), list = nlohmann::json::array();
  for (const auto& one : summary.strategies) {
    strategies.push_back({{"strategy", one.strategy},
                          {"contests", one.contests},
                          {"fastest", one.fastest},
                          {"clearly_fastest", one.clearly},
                          {"headline", to_json(one.headline)}});
  }
  for (const auto& one : summary.crossovers) {
    list.push_back({{"subject", one.like.subject},
                    {"shape", one.like.shape},
                    {"device", one.like.device},
                    {"dtype", one.like.dtype},
                    {"mode", one.like.mode},
                    {"strategy", one.like.strategy},
                    {"n", one.n},
                    {"over_eager", crossover_json(one.over_eager)},
                    {"over_best_rival", crossover_json(one.over_best_rival)}});
  }
  return {{"headline", to_json(summary.headline)}, {"strategies", strategies}, {"crossovers", list}};
}

nlohmann::json full_report(const results::RunRecord& run, const std::vector<CaseRecord>& cases,
                           const nlohmann::json& gate) {
  auto document = results::report(run, cases);
  document["summary"] = to_json(summarize(cases));
  if (!gate.is_null()) document["gate"] = gate;
  return document;
}

std::string full_report_text(const results::RunRecord& run, const std::vector<CaseRecord>& cases,
                             const nlohmann::json& gate) {
  nlohmann::json more{{"summary", to_json(summarize(cases))}};
  if (!gate.is_null()) more["gate"] = gate;
  return results::report_text(run, cases, more) + "\n";
}

}  // namespace wide::app
