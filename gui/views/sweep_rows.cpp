#include "gui/views/sweep_rows.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "gui/views/quantity.h"
#include "results/reliability.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using results::CaseRecord;
using results::printable;
using results::Verdict;

enum : std::size_t {
  kSubject,
  kN,
  kStrategy,
  kVerdict,
  kWide,
  kEager,
  kBest,
  kRival,
  kRivalTime,
  kShape,
  kDevice,
  kDtype,
  kMode,
  kError,
  kReason,
  kRivals
};

const results::Rival* best_rival(const CaseRecord& record) {
  const auto found = std::find_if(record.rivals.begin(), record.rivals.end(),
                                  [&](const auto& rival) { return rival.name == record.best_rival; });
  return found == record.rivals.end() ? nullptr : &*found;
}

}  // namespace

std::string shape_text(const nlohmann::json& shape) {
  if (!shape.is_object()) return "";
  std::string text;
  for (const auto& [name, size] : shape.items()) {
    text.append(text.empty() ? "" : ", ").append(printable(name, 40)).append(" ");
    text.append(size.is_number_integer() ? std::to_string(size.get<std::int64_t>()) : "?");
  }
  return text;
}

Table sweep_table() {
  const auto text = CellKind::kText, number = CellKind::kNumber, interval = CellKind::kInterval;
  return Table({{"subject", "subject"},
                {"n", "N", number, show_count},
                {"strategy", "strategy", text, nullptr, "", 2},
                {"verdict", "verdict"},
                {"wide", "wide", interval, show_time, "us", 1},
                {"eager", "over N eager", interval, show_ratio, "", 3},
                {"best", "over best rival", interval, show_ratio},
                {"rival", "best rival", text, nullptr, "", 4},
                {"rival_time", "its time", interval, show_time, "us", 6},
                {"shape", "shape", text, nullptr, "", 7},
                {"device", "device", text, nullptr, "", 10},
                {"dtype", "dtype", text, nullptr, "", 8},
                {"mode", "mode", text, nullptr, "", 9},
                {"error", "largest error", number, show_error, "", 11},
                {"reason", "reason", text, nullptr, "", 5},
                {"rivals", "times of rivals", text, nullptr, "", 12}});
}

void add_cases(Table& table, const std::vector<CaseRecord>& cases) {
  const auto judged = results::effects(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto& record = cases[i];
    const auto row = table.add_row();
    table.set(row, kSubject, printable(record.subject));
    table.set(row, kShape, shape_text(record.shape));
    table.set(row, kDevice, printable(record.device));
    table.set(row, kDtype, printable(record.dtype));
    table.set(row, kMode, printable(record.mode));
    table.set(row, kN, static_cast<double>(record.n));
    table.set(row, kStrategy, printable(record.strategy));
    table.set(row, kVerdict, verdict_word(record, judged[i]));
    table.set(row, kError, results::max_abs_err(record));
    table.set(row, kReason, reason_text(record));
    if (record.verdict != Verdict::kPass) continue;
    table.set(row, kWide, record.wide.ci95.known() ? record.wide.ci95 : Interval{record.wide.median_us});
    table.set(row, kRival, printable(record.best_rival));
    if (const auto* rival = best_rival(record))
      table.set(row, kRivalTime,
                rival->time.ci95.known() ? rival->time.ci95 : Interval{rival->time.median_us});
    table.set(row, kEager, record.speedup);
    table.set(row, kBest, record.speedup_best_rival);
    table.set(row, kRivals, rivals_text(record));
  }
  table.refresh();
}

std::string verdict_word(const CaseRecord& record) {
  return verdict_word(record, results::effect(record));
}

std::string verdict_word(const CaseRecord& record, profiler::Effect effect) {
  if (record.verdict != Verdict::kPass) return std::string(results::name(record.verdict));
  if (!results::unreliable(record).empty()) return "inconclusive";
  if (std::isnan(record.speedup_best_rival.value)) return "pass";
  return std::string(profiler::name(effect));
}

std::string reason_text(const CaseRecord& record) {
  const auto why = results::unreliable(record);
  if (why.empty()) return printable(record.reason, 1000);
  return std::string(results::kUnreliable).append("; ").append(printable(why, 1000));
}

std::string rivals_text(const CaseRecord& record) {
  if (record.verdict != Verdict::kPass) return "";
  std::string text;
  for (const auto& rival : record.rivals) {
    if (!(rival.time.median_us > 0)) continue;
    text.append(text.empty() ? "" : ", ").append(printable(rival.name, 40)).append(" ");
    text.append(show_time({rival.time.median_us}));
  }
  return text.empty() || results::unreliable(record).empty() ? text : "doubtful: " + text;
}

Meaning meaning(std::string_view word) {
  if (word == "faster" || word == "pass") return Meaning::kGood;
  if (word == "slower") return Meaning::kBad;
  if (word == "same") return Meaning::kSame;
  if (word == "fail" || word == "error" || word == "oom" || word == "timeout") return Meaning::kBroken;
  return Meaning::kUnclear;  // "inconclusive", "not comparable", "skipped"
}

std::string totals(const std::vector<CaseRecord>& cases) {
  std::map<Verdict, int> counts;
  for (const auto& record : cases) ++counts[record.verdict];
  std::string text;
  for (const auto& [verdict, count] : counts) {
    text.append(text.empty() ? "" : ", ").append(std::to_string(count)).append(" ");
    text.append(results::name(verdict));
  }
  return text;
}

}  // namespace wide::gui
