#include "results/export.h"

#include <array>
#include <cmath>
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

void csv_line(std::string& out, const std::vector<std::string>& fields) {
  for (std::size_t i = 0; i < fields.size(); ++i) out.append(i == 0 ? "" : ",").append(fields[i]);
  out += "\r\n";
}

std::vector<std::string> csv_contender(const std::string& name, const Summary& time,
                                       const Interval& speedup) {
  return {csv_field(name),
          shortest(time.median_us),
          shortest(time.ci95.low),
          shortest(time.ci95.high),
          shortest(time.min_us),
          shortest(time.iqr_us),
          std::to_string(time.outliers),
          std::to_string(time.samples),
          shortest(speedup.value),
          shortest(speedup.low),
          shortest(speedup.high)};
}

const std::map<std::string, std::function<std::string(const RunRecord&, const std::vector<CaseRecord>&,
                                                      const std::vector<Trend>&)>>&
writers() {
  using Cases = std::vector<CaseRecord>;
  using History = std::vector<Trend>;
  static const std::map<std::string,
                        std::function<std::string(const RunRecord&, const Cases&, const History&)>>
      kAll = {{"json", [](const auto& run, const auto& cases,
                          const auto&) { return report(run, cases).dump(2) + "\n"; }},
              {"csv", [](const auto& run, const auto& cases, const auto&) { return to_csv(run, cases); }},
              {"markdown",
               [](const auto& run, const auto& cases, const auto&) { return to_markdown(run, cases); }},
              {"junit", [](const auto& run, const auto& cases, const auto&) { return to_junit(run, cases); }},
              {"html", [](const auto& run, const auto& cases,
                          const auto& history) { return to_html(run, cases, history); }},
              {"svg", [](const auto&, const auto& cases, const auto&) { return to_svg(cases); }},
              {"github", [](const auto&, const auto& cases,
                            const auto&) { return to_github_benchmark(cases).dump(2) + "\n"; }},
              {"bencher",
               [](const auto&, const auto& cases, const auto&) { return to_bencher(cases).dump(2) + "\n"; }}};
  return kAll;
}

}  // namespace

std::string to_csv(const RunRecord& run, const std::vector<CaseRecord>& cases) {
  std::string out;
  csv_line(out, {"run",       "started",   "key",       "subject",     "kind",        "n",
                 "device",    "dtype",     "mode",      "strategy",    "verdict",     "reason",
                 "contender", "median_us", "ci_low_us", "ci_high_us",  "min_us",      "iqr_us",
                 "outliers",  "samples",   "speedup",   "speedup_low", "speedup_high"});
  for (const CaseRecord& record : cases) {
    const std::vector<std::string> head = {csv_field(run.uid),
                                           csv_field(run.started),
                                           csv_field(record.key),
                                           csv_field(record.subject),
                                           csv_field(record.kind),
                                           std::to_string(record.n),
                                           csv_field(record.device),
                                           csv_field(record.dtype),
                                           csv_field(record.mode),
                                           csv_field(record.strategy),
                                           std::string(name(record.verdict)),
                                           csv_field(record.reason)};
    const auto add = [&](const std::string& contender, const Summary& time, const Interval& speedup) {
      auto line = head;
      for (auto& field : csv_contender(contender, time, speedup)) line.push_back(std::move(field));
      csv_line(out, line);
    };
    add("wide", record.wide, {});
    for (const Rival& rival : record.rivals) add(rival.name, rival.time, rival.speedup);
  }
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
      "\n| subject | N | strategy | wide | over eager | over best rival | verdict "
      "|\n|---|--:|---|--:|--:|--:|---|\n";
  for (const CaseRecord& record : cases) {
    std::string verdict(name(record.verdict));
    if (!record.reason.empty()) verdict += ": " + escaped_markdown(record.reason, 100);
    out.append("| ").append(escaped_markdown(record.subject)).append(" | ").append(std::to_string(record.n));
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
