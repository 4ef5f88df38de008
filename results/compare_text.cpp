// A comparison as JSON, as text for a terminal, as Markdown for a pull request.
#include <cmath>

#include "results/compare.h"
#include "results/counted.h"
#include "results/escape.h"
#include "results/json_fields.h"
#include "results/markdown.h"
#include "results/table.h"
#include "results/text.h"

namespace wide::results {
namespace {

using nlohmann::json;

json missing_json(const std::vector<Missing>& missing) {
  json list = json::array();
  for (const Missing& entry : missing)
    list.push_back({{"key", valid_utf8(entry.key)}, {"subject", valid_utf8(entry.subject)}, {"n", entry.n}});
  return list;
}

json texts_json(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const auto& text : texts) list.push_back(valid_utf8(text));
  return list;
}

json change_json(const CaseChange& change) {
  return {{"key", valid_utf8(change.key)},
          {"subject", valid_utf8(change.subject)},
          {"n", change.n},
          {"device", valid_utf8(change.device)},
          {"dtype", valid_utf8(change.dtype)},
          {"mode", valid_utf8(change.mode)},
          {"strategy", valid_utf8(change.strategy)},
          {"change", name(change.change)},
          {"reasons", texts_json(change.reasons)},
          {"reference", valid_utf8(change.reference)},
          {"ratio", interval_json(change.ratio)},
          {"first_us", finite(change.first_us)},
          {"second_us", finite(change.second_us)},
          {"reference_ratio", finite(change.reference_ratio)},
          {"p", finite(change.p)},
          {"adjusted_p", finite(change.adjusted_p)}};
}

json all_but_cases(const Comparison& comparison) {
  json counts = json::object();
  for (const auto& [change, count] : comparison.counts) counts[std::string(name(change))] = count;
  return {{"first", valid_utf8(comparison.first)},
          {"second", valid_utf8(comparison.second)},
          {"barriers", texts_json(comparison.barriers)},
          {"remarks", texts_json(comparison.remarks)},
          {"only_in_first", missing_json(comparison.only_in_first)},
          {"only_in_second", missing_json(comparison.only_in_second)},
          {"geometric_mean", interval_json(comparison.geometric_mean)},
          {"spread", finite(comparison.spread)},
          {"spread_from", comparison.spread_from},
          {"prior_degrees", comparison.prior ? finite(comparison.prior->degrees) : json(nullptr)},
          {"counts", std::move(counts)}};
}

/// "+10.3 %"; above 0: slower.
std::string percent(double ratio) {
  if (!std::isfinite(ratio)) return "-";
  const double change = (ratio - 1) * 100;
  return (change < 0 ? "" : "+") + fixed(change, 1) + " %";
}

std::string percent(const Interval& ratio) {
  if (!std::isfinite(ratio.value)) return "-";
  std::string text = percent(ratio.value);
  if (ratio.known())
    text.append(" [").append(percent(ratio.low)).append(", ").append(percent(ratio.high)).append("]");
  return text;
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : "; ") + part;
  return text;
}

bool is_shown(const CaseChange& change, bool all) {
  return all || change.change == Change::kSlower || change.change == Change::kFaster ||
         change.change == Change::kNotComparable;
}

std::string totals(const Comparison& comparison) {
  std::string text = counted(comparison.cases.size(), "case") + " compared";
  const char* separator = ": ";
  for (const auto& [change, count] : comparison.counts) {
    text.append(separator).append(std::to_string(count)).append(" ").append(name(change));
    separator = ", ";
  }
  return text;
}

std::string mean_text(const Comparison& comparison) {
  return "geometric mean of the change: " + percent(comparison.geometric_mean) +
         " (above 0: slower); runs of one case differ by " + fixed(comparison.spread * 100, 1) + " % (from " +
         comparison.spread_from + ")";
}

}  // namespace

json to_json(const Comparison& comparison) {
  json document = all_but_cases(comparison);
  auto& cases = document["cases"] = json::array();
  for (const CaseChange& change : comparison.cases) cases.push_back(change_json(change));
  return document;
}

void write_json(std::ostream& out, const Comparison& comparison) {
  write_object(out, all_but_cases(comparison), "cases", comparison.cases.size(),
               [&](std::size_t i) { return change_json(comparison.cases[i]); });
}

std::string text(const Comparison& comparison, bool all) {
  std::string result = printable(comparison.second) + " compared with " + printable(comparison.first) + "\n";
  for (const auto& line : comparison.barriers) result += "DIFFERENT  " + line + "\n";
  for (const auto& line : comparison.remarks) result += "note       " + line + "\n";
  for (const Missing& entry : comparison.only_in_first)
    result += "MISSING    " + printable(entry.key, 150) + " is not in " + printable(comparison.second) + "\n";
  for (const Missing& entry : comparison.only_in_second)
    result += "NEW        " + printable(entry.key, 150) + " is not in " + printable(comparison.first) + "\n";
  for (const CaseChange& change : comparison.cases) {
    if (!is_shown(change, all)) continue;
    std::string label(name(change.change));
    label.resize(std::max<std::size_t>(label.size(), 14), ' ');
    result.append(label)
        .append("  ")
        .append(printable(change.key, 150))
        .append("  ")
        .append(percent(change.ratio));
    result.append("  ").append(duration(change.first_us)).append(" -> ").append(duration(change.second_us));
    if (!change.reasons.empty())
      result.append("  (").append(printable(joined(change.reasons), 200)).append(")");
    result += "\n";
  }
  return result + totals(comparison) + "\n" + mean_text(comparison) + "\n";
}

std::string markdown(const Comparison& comparison, bool all) {
  std::string result = "### " + escaped_markdown(comparison.second) + " compared with " +
                       escaped_markdown(comparison.first) + "\n\n";
  for (const auto& line : comparison.barriers) result += "- **different** " + escaped_markdown(line) + "\n";
  for (const auto& line : comparison.remarks) result += "- " + escaped_markdown(line) + "\n";
  for (const Missing& entry : comparison.only_in_first)
    result += "- **missing in the second** " + escaped_markdown(entry.key) + "\n";
  for (const Missing& entry : comparison.only_in_second)
    result += "- only in the second: " + escaped_markdown(entry.key) + "\n";
  result += "\n" + totals(comparison) + ". " + mean_text(comparison) + ".\n\n";
  bool first = true;
  for (const CaseChange& change : comparison.cases) {
    if (!is_shown(change, all)) continue;
    if (first) result += "| case | verdict | change | before | after | why |\n|---|---|---|--:|--:|---|\n";
    first = false;
    result.append("| ").append(escaped_markdown(change.key)).append(" | ").append(name(change.change));
    result.append(" | ").append(percent(change.ratio)).append(" | ").append(duration(change.first_us));
    result.append(" | ").append(duration(change.second_us)).append(" | ");
    result.append(escaped_markdown(joined(change.reasons))).append(" |\n");
  }
  return result;
}

}  // namespace wide::results
