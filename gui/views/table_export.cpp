// Tables as CSV and JSON.
#include <cmath>
#include <nlohmann/json.hpp>

#include "gui/views/table.h"
#include "results/escape.h"

namespace wide::gui {
namespace {

using nlohmann::json;

std::string heading(const Column& column, const char* suffix) {
  auto text = column.key;
  text.append(suffix);
  if (!column.unit.empty()) text.append("_").append(column.unit);
  return text;
}

json number(double value) {
  return std::isfinite(value) ? json(value) : json();
}

}  // namespace

std::string to_csv(const Table& table) {
  std::string csv;
  const auto add = [&](const std::string& text) {
    csv.append(csv.empty() || csv.back() == '\n' ? "" : ",").append(text);
  };
  for (const auto& column : table.columns()) {
    add(results::csv_field(heading(column, "")));
    if (column.kind == CellKind::kInterval)
      add(results::csv_field(heading(column, "_low"))), add(results::csv_field(heading(column, "_high")));
  }
  csv.append("\r\n");
  for (const auto row : table.shown()) {
    std::string line;
    for (std::size_t c = 0; c < table.columns().size(); ++c) {
      if (c > 0) line.push_back(',');
      const auto kind = table.columns()[c].kind;
      if (kind == CellKind::kText) {
        line.append(results::csv_field(table.text(row, c)));
        continue;
      }
      const auto value = table.interval(row, c);
      line.append(results::shortest(value.value));
      if (kind == CellKind::kInterval)
        line.append(",")
            .append(results::shortest(value.low))
            .append(",")
            .append(results::shortest(value.high));
    }
    csv.append(line).append("\r\n");
  }
  return csv;
}

json to_json(const Table& table) {
  auto result = json::array();
  for (const auto row : table.shown()) {
    auto entry = json::object();
    for (std::size_t c = 0; c < table.columns().size(); ++c) {
      const auto& column = table.columns()[c];
      const auto value = column.kind == CellKind::kText ? profiler::Interval{} : table.interval(row, c);
      auto& place = entry[heading(column, "")];
      if (column.kind == CellKind::kText) place = std::string(table.text(row, c));
      if (column.kind == CellKind::kNumber) place = number(value.value);
      if (column.kind == CellKind::kInterval)
        place = {{"value", number(value.value)}, {"low", number(value.low)}, {"high", number(value.high)}};
    }
    result.push_back(std::move(entry));
  }
  return result;
}

}  // namespace wide::gui
