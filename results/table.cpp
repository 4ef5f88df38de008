#include "results/table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <map>

#include "profiler/statistics.h"
#include "results/json_fields.h"
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

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
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

std::string speedup_text(const Interval& speedup) {
  if (std::isnan(speedup.value)) return "-";
  const std::string value = digits(speedup.value) + "x";
  return speedup.known() ? value + " [" + digits(speedup.low) + ", " + digits(speedup.high) + "]" : value;
}

/// Rows of cells, each column as wide as its widest cell; the first `left` columns and the last stand left.
class Grid {
 public:
  explicit Grid(std::vector<bool> left) : left_(std::move(left)), widths_(left_.size()) {}

  void row(std::vector<std::string> cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], characters(cells[i]));
    lines_.push_back({std::move(cells), false});
  }
  void heading(std::string text) { lines_.push_back({{std::move(text)}, true}); }

  std::string str() const {
    std::string result;
    for (const auto& [cells, spans] : lines_) {
      std::string line = spans ? cells[0] : "";
      for (std::size_t i = 0; !spans && i < cells.size(); ++i) {
        const std::string padding(widths_[i] - characters(cells[i]), ' ');
        line += "  " + (left_[i] ? cells[i] + padding : padding + cells[i]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      result += line + "\n";
    }
    return result;
  }

 private:
  struct Line {
    std::vector<std::string> cells;
    bool spans;  ///< a heading over all columns
  };
  std::vector<bool> left_;
  std::vector<std::size_t> widths_;
  std::vector<Line> lines_;
};

std::string group_of(const CaseRecord& record) {
  std::string title = printable(record.subject);
  if (title.empty()) title = "(no name)";
  for (const std::string* part : {&record.device, &record.dtype, &record.mode}) {
    if (!part->empty()) title += "  " + printable(*part);
  }
  if (!record.shape.is_null()) title += "  " + printable(dump(record.shape));
  return title;
}

const Rival* find_rival(const CaseRecord& record, const std::string& name) {
  const auto found = std::find_if(record.rivals.begin(), record.rivals.end(),
                                  [&](const Rival& r) { return r.name == name; });
  return found == record.rivals.end() ? nullptr : &*found;
}

/// "pass, faster", "fail: member 3 is off by …".
std::string verdict_text(const CaseRecord& record) {
  std::string text(name(record.verdict));
  if (record.verdict != Verdict::kPass)
    return record.reason.empty() ? text : text + ": " + printable(record.reason, 100);
  if (std::isnan(record.speedup_best_rival.value)) return text;
  return text + ", " +
         std::string(profiler::name(profiler::judge(record.speedup_best_rival, record.noise_floor)));
}

std::vector<std::string> cells_of(const CaseRecord& record) {
  const Rival* best = find_rival(record, record.best_rival);
  return {std::to_string(record.n),
          printable(record.strategy),
          duration(record.wide.median_us),
          best != nullptr ? printable(best->name) + " " + duration(best->time.median_us) : "-",
          speedup_text(record.speedup),
          speedup_text(record.speedup_best_rival),
          verdict_text(record)};
}

std::string totals(const std::vector<CaseRecord>& cases) {
  std::map<Verdict, int> counts;
  for (const CaseRecord& record : cases) ++counts[record.verdict];
  std::string text = std::to_string(cases.size()) + (cases.size() == 1 ? " case" : " cases");
  const char* separator = ": ";
  for (const auto& [verdict, count] : counts) {
    text += separator + std::to_string(count) + " " + std::string(name(verdict));
    separator = ", ";
  }
  return text + "\n";
}

}  // namespace

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

std::string table(const std::vector<CaseRecord>& cases) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const CaseRecord*>> groups;
  for (const CaseRecord& record : cases) {
    const std::string group = group_of(record);
    if (!groups.contains(group)) order.push_back(group);
    groups[group].push_back(&record);
  }
  Grid grid({false, true, false, true, false, false, true});
  grid.row({"N", "strategy", "wide", "best rival", "over eager", "over best", "verdict"});
  for (const std::string& group : order) {
    grid.heading(group);
    for (const CaseRecord* record : groups[group]) grid.row(cells_of(*record));
  }
  return grid.str() + totals(cases);
}

std::string table(const std::vector<RunSummary>& runs) {
  Grid grid({false, true, true, true, false, false, true, true});
  grid.row({"run", "started", "preset", "device", "cases", "passed", "status", "label"});
  for (const RunSummary& run : runs) {
    const std::string origin = run.origin == "measured" ? "" : " (" + printable(run.origin) + ")";
    grid.row({std::to_string(run.id), printable(run.started), printable(run.preset), printable(run.device),
              std::to_string(run.cases), std::to_string(run.passed), std::string(name(run.status)) + origin,
              printable(run.label)});
  }
  return grid.str();
}

}  // namespace wide::results
