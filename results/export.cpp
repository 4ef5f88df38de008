#include "results/export.h"

#include <array>
#include <cmath>
#include <concepts>
#include <functional>
#include <map>

#include "formats/error.h"
#include "results/escape.h"
#include "results/json_fields.h"
#include "results/markdown.h"
#include "results/table.h"
#include "results/text.h"

namespace wide::results {
namespace {

using nlohmann::json;

/// Titles of columns, with a comma after each.
struct CsvTitles {
  std::string text;
  void operator()(const Field& field, const auto&) {
    if (field.is_in_csv) text.append(field.column).append(",");
  }
};

/// Values of columns, with a comma after each.
struct CsvValues {
  std::string text;
  void operator()(const Field& field, const auto& value) {
    if (field.is_in_csv) text.append(written(value)).append(",");
  }
  static std::string written(const std::string& value) { return csv_field(value); }
  static std::string written(const json& value) { return csv_field(dump(value)); }
  static std::string written(Verdict value) { return std::string(name(value)); }
  static std::string written(std::integral auto value) { return std::to_string(value); }
  static std::string written(double value) { return shortest(value); }
  static std::string written(const Limits<const double>& value) {
    return shortest(value.low) + "," + shortest(value.high);
  }
  static std::string written(const std::optional<std::int64_t>& value) {
    return value ? std::to_string(*value) : "";
  }
};

/// A line for every contender of the case.
template <typename Cells>
void add_csv(std::string& out, const RunRecord& run, const CaseRecord& record) {
  Cells head, metrics;
  head(Field("run"), run.uid);
  head(Field("started"), run.started);
  visit_names(record, head);
  visit_figures(record, [&](const Field& field, const auto& value) {
    if (field.is_metric) metrics(field, value);
  });
  const auto line = [&](const Rival& contender) {
    Cells cells;
    cells(Field("contender"), contender.name);
    visit_fields(contender, cells);
    out.append(head.text).append(cells.text).append(metrics.text);
    out.replace(out.size() - 1, 1, "\r\n");
  };
  line({.name = "wide", .time = record.wide});
  for (const Rival& rival : record.rivals) line(rival);
}

using Cases = std::vector<CaseRecord>;
using History = std::vector<Trend>;
using Writer = std::function<std::string(const RunRecord&, const Cases&, const History&)>;

const std::map<std::string, Writer>& writers() {
  static const std::map<std::string, Writer> kAll = {
      {"json", [](auto& run, auto& cases, auto&) { return report(run, cases).dump(2) + "\n"; }},
      {"csv", [](auto& run, auto& cases, auto&) { return to_csv(run, cases); }},
      {"markdown", [](auto& run, auto& cases, auto&) { return to_markdown(run, cases); }},
      {"junit", [](auto& run, auto& cases, auto&) { return to_junit(run, cases); }},
      {"html", [](auto& run, auto& cases, auto& history) { return to_html(run, cases, history); }},
      {"svg", [](auto&, auto& cases, auto&) { return to_svg(cases); }},
      {"github", [](auto&, auto& cases, auto&) { return to_github_benchmark(cases).dump(2) + "\n"; }},
      {"bencher", [](auto&, auto& cases, auto&) { return to_bencher(cases).dump(2) + "\n"; }}};
  return kAll;
}

}  // namespace

std::string to_csv(const RunRecord& run, const std::vector<CaseRecord>& cases) {
  std::string out;
  add_csv<CsvTitles>(out, {}, {});
  for (const CaseRecord& record : cases) add_csv<CsvValues>(out, run, record);
  return out;
}

std::string to_markdown(const RunRecord& run, const std::vector<CaseRecord>& cases) {
  std::string out = "## Widebench run " + escaped_markdown(run.uid) + "\n\n";
  const auto line = [&](const char* what, const std::string& value) {
    if (!value.empty())
      out.append("- ").append(what).append(": ").append(escaped_markdown(value, 500)).append("\n");
  };
  line("started", run.started);
  line("machine",
       run.machine.cpu + ", " + std::to_string(run.machine.physical_cores) + " cores, " + run.machine.os);
  line("label", run.label);
  line("origin", run.origin);
  line("command", run.command_line);
  line("again", reproduce_json(run).at("again").get<std::string>());
  for (const auto& [name, value] : run.environment) line("environment", name + "=" + value);
  out +=
      "\n| subject | shape | run as | N | strategy | wide | over eager | over best rival | verdict "
      "|\n|---|---|---|--:|---|--:|--:|--:|---|\n";
  const auto judged = effects(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const CaseRecord& record = cases[i];
    const auto verdict = escaped_markdown(verdict_text(record, judged[i]), 200);
    const auto shape = record.shape.is_null() ? std::string() : escaped_markdown(dump(record.shape), 200);
    out.append("| ").append(escaped_markdown(record.subject)).append(" | ").append(shape).append(" | ");
    out.append(escaped_markdown(record.device + " " + record.dtype + " " + record.mode));
    out.append(" | ").append(std::to_string(record.n));
    out.append(" | ")
        .append(escaped_markdown(record.strategy))
        .append(" | ")
        .append(duration(record.wide.median_us));
    out.append(" | ").append(speedup_text(record.speedup)).append(" | ");
    out.append(speedup_text(record.speedup_best_rival)).append(" | ").append(verdict).append(" |\n");
  }
  return out;
}

std::string to_junit(const RunRecord& run, const std::vector<CaseRecord>& cases) {
  int failures = 0, errors = 0, skipped = 0;
  std::string tests;
  for (const CaseRecord& record : cases) {
    tests.append("  <testcase classname=\"").append(escaped_markup(record.subject)).append("\" name=\"");
    tests.append(escaped_markup(record.key)).append("\" time=\"");
    tests.append(std::isfinite(record.seconds) ? fixed(record.seconds, 6) : "0").append("\"");
    const std::string reason =
        escaped_markup(record.reason.empty() ? std::string(name(record.verdict)) : record.reason, 2000);
    const auto with = [&](const char* element, int& count) {
      ++count;
      tests.append("><").append(element).append(" message=\"").append(reason).append("\"/></testcase>\n");
    };
    switch (record.verdict) {
      case Verdict::kPass:
        tests += "/>\n";
        break;
      case Verdict::kFail:
        with("failure", failures);
        break;
      case Verdict::kSkipped:
        with("skipped", skipped);
        break;
      default:
        with("error", errors);
    }
  }
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"widebench ";
  out.append(escaped_markup(run.preset))
      .append("\" timestamp=\"")
      .append(escaped_markup(run.started))
      .append("\"");
  for (const auto& [what, count] :
       {std::pair{"tests", static_cast<int>(cases.size())}, std::pair{"failures", failures},
        std::pair{"errors", errors}, std::pair{"skipped", skipped}}) {
    out.append(" ").append(what).append("=\"").append(std::to_string(count)).append("\"");
  }
  out.append(">\n  <properties>\n    <property name=\"command\" value=\"")
      .append(escaped_markup(run.command_line, 2000));
  out.append("\"/>\n    <property name=\"run\" value=\"")
      .append(escaped_markup(run.uid))
      .append("\"/>\n  </properties>\n");
  return out + tests + "</testsuite>\n";
}

json to_github_benchmark(const std::vector<CaseRecord>& cases) {
  json list = json::array();
  for (const CaseRecord& record : cases) {
    if (record.verdict != Verdict::kPass || !std::isfinite(record.wide.median_us)) continue;
    std::string range;
    if (record.wide.ci95.known()) range = "± " + fixed((record.wide.ci95.high - record.wide.ci95.low) / 2, 3);
    list.push_back({{"name", printable(record.key, 300)},
                    {"unit", "us"},
                    {"value", record.wide.median_us},
                    {"range", range},
                    {"extra", "speed-up over eager " + speedup_text(record.speedup)}});
  }
  return list;
}

json to_bencher(const std::vector<CaseRecord>& cases) {
  json all = json::object();
  const auto metric = [](const Interval& interval, double factor) {
    json value = {{"value", interval.value * factor}};
    if (std::isfinite(interval.low)) value["lower_value"] = interval.low * factor;
    if (std::isfinite(interval.high)) value["upper_value"] = interval.high * factor;
    return value;
  };
  for (const CaseRecord& record : cases) {
    if (record.verdict != Verdict::kPass || !std::isfinite(record.wide.median_us)) continue;
    json& entry = all[printable(record.key, 300)];
    Interval time = record.wide.ci95;
    time.value = record.wide.median_us;
    entry["latency"] = metric(time, 1e3);
    if (std::isfinite(record.speedup.value)) entry["speedup"] = metric(record.speedup, 1);
  }
  return all;
}

const std::vector<std::string>& export_formats() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& [name, writer] : writers()) names.push_back(name);
    return names;
  }();
  return kNames;
}

std::string exported(std::string_view format, const RunRecord& run, const std::vector<CaseRecord>& cases,
                     const std::vector<Trend>& history) {
  const auto writer = writers().find(std::string(format));
  if (writer == writers().end())
    throw Error("export",
                "no format is called '" + printable(format) + "'; see `widebench runs export --help`");
  return writer->second(run, cases, history);
}

}  // namespace wide::results
