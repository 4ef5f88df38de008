#include "results/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>

#include "profiler/statistics.h"
#include "results/counted.h"
#include "results/grid.h"
#include "results/json_fields.h"
#include "results/reliability.h"
#include "results/text.h"

namespace wide::results {
namespace {

/// Controls, bidirectional controls and separators: what could move the cursor or reorder a line.
bool is_unsafe(char32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x061C ||
         (code >= 0x200B && code <= 0x200F) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF || (code >= 0xFFF9 && code <= 0xFFFB) ||
         (code >= 0xE0000 && code <= 0xE007F);
}

/// `value` with three significant digits, never in exponent form: "0.92", "1.50", "12.3", "148".
std::string digits(double value) {
  const int decimals = value < 10 ? 2 : value < 100 ? 1 : 0;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.*f", decimals, value);
  std::string result = text.data();
  std::replace(result.begin(), result.end(), ',', '.');  // whatever the locale says
  return result;
}

std::string group_of(const CaseRecord& record) {
  std::string title = printable(record.subject);
  if (title.empty()) title = "(no name)";
  for (const std::string* part : {&record.device, &record.dtype, &record.mode}) {
    if (!part->empty()) title += "  " + printable(*part);
  }
  if (!record.shape.is_null()) title += "  " + printable(dump(record.shape));
  return title;
}

/// Names of all rivals, in the order in which they first stand in a case, those that could not run included.
std::vector<std::string> rival_names(const std::vector<CaseRecord>& cases) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& rival) {
    if (std::find(names.begin(), names.end(), rival) == names.end()) names.push_back(rival);
  };
  for (const CaseRecord& record : cases) {
    for (const Rival& rival : record.rivals) add(rival.name);
    for (const auto& [rival, reason] : unmeasured_rivals(record)) add(rival);
  }
  return names;
}

/// "python_vmap" -> "py vmap": columns are narrow.
std::string column_title(const std::string& rival) {
  constexpr std::string_view kPython = "python_";
  if (!rival.starts_with(kPython)) return printable(rival, 20);
  auto title = "py " + printable(rival.substr(kPython.size()), 20);
  std::replace(title.begin(), title.end(), '_', ' ');
  return title;
}

std::string rival_cell(const CaseRecord& record, const std::string& name) {
  if (const Rival* rival = find_rival(record, name)) return duration(rival->time.median_us);
  const auto missing = unmeasured_rivals(record);
  const bool failed =
      std::any_of(missing.begin(), missing.end(), [&](const auto& m) { return m.first == name; });
  return failed ? "failed" : "-";
}

std::vector<std::string> cells_of(const CaseRecord& record, profiler::Effect effect,
                                  const std::vector<std::string>& rivals) {
  std::vector<std::string> cells = {std::to_string(record.n), printable(record.strategy),
                                    duration(record.wide.median_us)};
  for (const auto& rival : rivals) cells.push_back(rival_cell(record, rival));
  cells.push_back(speedup_text(record.speedup));
  cells.push_back(speedup_text(record.speedup_best_rival));
  cells.push_back(column_title(record.best_rival));
  cells.push_back(verdict_text(record, effect));
  return cells;
}

/// Why rivals could not be measured, each reason once.
std::string failures(const std::vector<CaseRecord>& cases) {
  std::string text;
  std::set<std::pair<std::string, std::string>> told;
  for (const CaseRecord& record : cases) {
    for (const auto& [rival, reason] : unmeasured_rivals(record)) {
      if (!told.insert({rival, reason}).second) continue;
      text += "not measured: " + column_title(rival) + " of " + printable(record.subject) + ", N " +
              std::to_string(record.n) + ": " + printable(reason, 200) + "\n";
    }
  }
  return text;
}

std::string totals_line(const std::vector<CaseRecord>& cases) {
  std::map<Verdict, int> counts;
  for (const CaseRecord& record : cases) ++counts[record.verdict];
  std::string text = counted(cases.size(), "case");
  const char* separator = ": ";
  for (const auto& [verdict, count] : counts) {
    text += separator + std::to_string(count) + " " + std::string(name(verdict));
    separator = ", ";
  }
  return text + "\n";
}

}  // namespace

std::string verdict_text(const CaseRecord& record, profiler::Effect effect) {
  std::string text(name(record.verdict));
  if (record.verdict != Verdict::kPass)
    return record.reason.empty() ? text : text + ": " + printable(record.reason, 100);
  if (const auto why = unreliable(record); !why.empty())
    return text + ", inconclusive: " + printable(why, 100);
  if (std::isnan(record.speedup_best_rival.value)) return text;
  return text + ", " + std::string(profiler::name(effect));
}

std::string printable(std::string_view text, std::size_t limit) {
  std::string result;
  std::size_t count = 0;
  while (!text.empty()) {
    const Character next = decode(text);
    const std::string_view bytes = next.valid ? text.substr(0, next.bytes) : "\xEF\xBF\xBD";
    text.remove_prefix(next.bytes);
    if (next.valid && is_unsafe(next.code)) continue;
    if (count == limit) return result + "…";
    result += bytes;
    ++count;
  }
  return result;
}

std::string duration(double microseconds) {
  if (!std::isfinite(microseconds)) return "-";
  if (microseconds < 1) return digits(microseconds * 1e3) + " ns";
  if (microseconds < 1e3) return digits(microseconds) + " us";
  if (microseconds < 1e6) return digits(microseconds * 1e-3) + " ms";
  return digits(microseconds * 1e-6) + " s";
}

std::string speedup_text(const Interval& speedup) {
  if (std::isnan(speedup.value)) return "-";
  std::string text = digits(speedup.value) + "x";
  if (speedup.known()) text += " [" + digits(speedup.low) + ", " + digits(speedup.high) + "]";
  return text;
}

std::vector<std::pair<std::string, std::string>> unmeasured_rivals(const CaseRecord& record) {
  std::vector<std::pair<std::string, std::string>> result;
  if (!record.plan.is_object()) return result;
  const auto peers = record.plan.find("peers");
  if (peers == record.plan.end() || !peers->is_array()) return result;
  for (const auto& peer : *peers) {
    if (!peer.is_object() || peer.value("ok", nlohmann::json()) != false) continue;
    const auto text = [&](const char* key) {
      const auto found = peer.find(key);
      return found != peer.end() && found->is_string() ? found->get<std::string>() : std::string();
    };
    result.emplace_back(text("name"), text("reason"));
  }
  return result;
}

std::string table(const std::vector<CaseRecord>& cases) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::size_t>> groups;
  const auto judged = effects(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string group = group_of(cases[i]);
    if (!groups.contains(group)) order.push_back(group);
    groups[group].push_back(i);
  }
  const auto rivals = rival_names(cases);
  std::vector<bool> left = {false, true, false};
  std::vector<std::string> titles = {"N", "strategy", "wide"};
  for (const auto& rival : rivals) left.push_back(false), titles.push_back(column_title(rival));
  left.insert(left.end(), {false, false, true, true});
  titles.insert(titles.end(), {"over eager", "over best", "best rival", "verdict"});
  Grid grid(left);
  grid.row(titles);
  for (const std::string& group : order) {
    grid.heading(group);
    for (const std::size_t i : groups[group]) grid.row(cells_of(cases[i], judged[i], rivals));
  }
  return grid.str() + failures(cases) + totals_line(cases);
}

std::string subjects_text(const RunSummary& run) {
  constexpr std::size_t kNamed = 2, kLongest = 40;
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, run.subjects.size()); ++i)
    text.append(i == 0 ? "" : ", ").append(printable(run.subjects[i], kLongest));
  if (run.subjects.size() > kNamed)
    text.append(" and ").append(std::to_string(run.subjects.size() - kNamed)).append(" more");
  return text;
}

std::string table(const std::vector<RunSummary>& runs) {
  Grid grid({false, true, true, true, false, false, true, true, true});
  grid.row({"run", "started", "preset", "device", "cases", "passed", "status", "subjects", "label"});
  for (const RunSummary& run : runs) {
    const std::string origin = run.origin == "measured" ? "" : " (" + printable(run.origin) + ")";
    grid.row({std::to_string(run.id), printable(run.started), printable(run.preset), printable(run.device),
              std::to_string(run.cases), std::to_string(run.passed), std::string(name(run.status)) + origin,
              subjects_text(run), printable(run.label)});
  }
  return grid.str();
}

}  // namespace wide::results
