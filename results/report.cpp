#include "results/report.h"

#include <cmath>
#include <concepts>
#include <set>

#include "formats/error.h"
#include "results/in_parts.h"
#include "results/json_fields.h"
#include "results/table.h"
#include "results/text.h"

namespace wide::results {
namespace {

using nlohmann::json;

/// A value of a record as a report has it: text made valid, numbers that are not finite null.
struct Written {
  static json of(const std::string& text) { return valid_utf8(text); }
  static json of(const json& value) { return json::parse(dump(value)); }
  static json of(double value) { return finite(value); }
  static json of(std::integral auto value) { return value; }
  static json of(Verdict verdict) { return name(verdict); }
  static json of(const std::optional<std::int64_t>& value) { return value ? json(*value) : json(); }
  static json of(const Limits<const double>& limits) {
    if (!std::isfinite(limits.low) && !std::isfinite(limits.high)) return nullptr;
    return json::array({finite(limits.low), finite(limits.high)});
  }
};

void add_fields(const auto& record, json& object) {
  visit_fields(record, [&](const Field& field, const auto& value) {
    json& place = field.object.empty() ? object : object[std::string(field.object)];
    place.emplace(field.json, Written::of(value));
  });
}

json fields_json(const auto& record) {
  json object;
  add_fields(record, object);
  return object;
}

json rivals_json(const CaseRecord& record) {
  json rivals = json::object();
  for (const Rival& rival : record.rivals) {
    const std::string name = valid_utf8(rival.name);
    if (!rivals.emplace(name, fields_json(rival)).second) {
      throw Error("report",
                  "case '" + printable(record.key) + "' has two rivals named '" + printable(name) + "'");
    }
  }
  return rivals;
}

/// Names in the order of Sample::contender; this is also what keeps the order of the rivals.
json contenders_json(const CaseRecord& record) {
  json names = json::array({"wide"});
  for (const Rival& rival : record.rivals) names.push_back(valid_utf8(rival.name));
  names.push_back("wide'");
  return names;
}

json checks_json(const CaseRecord& record) {
  json checks = json::array();
  for (const Check& check : record.checks) checks.push_back(fields_json(check));
  return checks;
}

/// Columns rather than rows: a tenth of the size.
json samples_json(const CaseRecord& record) {
  const profiler::Sample none;
  std::vector<std::pair<std::string, json>> columns;
  visit_fields(none,
               [&](const Field& field, const auto&) { columns.emplace_back(field.json, json::array()); });
  for (const profiler::Sample& sample : record.samples) {
    auto next = columns.begin();
    visit_fields(sample,
                 [&](const Field&, const auto& value) { next++->second.push_back(Written::of(value)); });
  }
  json samples;
  for (auto& [name, column] : columns) samples.emplace(name, std::move(column));
  return samples;
}

json tags_json(const RunRecord& run) {
  json tags = json::array();
  for (const std::string& tag : run.tags) tags.push_back(valid_utf8(tag));
  return tags;
}

json notes_json(const RunRecord& run) {
  json notes = json::array();
  for (const Note& note : run.notes)
    notes.push_back({{"created", valid_utf8(note.created)}, {"text", valid_utf8(note.text)}});
  return notes;
}

}  // namespace

json reproduce_json(const RunRecord& run) {
  std::set<std::uint64_t> seeds;
  if (run.settings.is_object() && run.settings.contains("cases") && run.settings["cases"].is_array()) {
    for (const json& spec : run.settings["cases"]) {
      const auto seed = spec.is_object() ? spec.find("seed") : spec.end();
      if (spec.is_object() && seed != spec.end() && seed->is_number_unsigned())
        seeds.insert(seed->get<std::uint64_t>());
    }
  }
  return {{"command", valid_utf8(run.command_line)},
          {"again", "widebench reproduce " + valid_utf8(run.uid.empty() ? "REPORT.json" : run.uid)},
          {"seeds", seeds},
          {"threads", run.threads},
          {"environment", environment_json(run.environment)},
          {"tool", valid_utf8(run.tool_version)},
          {"git_commit", valid_utf8(run.git_commit)}};
}

json case_json(const CaseRecord& record, Samples samples) {
  json result = fields_json(record);
  result["max_abs_err"] = finite(max_abs_err(record));
  result["checks"] = checks_json(record);
  add_fields(record.wide, result["wide"]);
  result["rivals"] = rivals_json(record);
  result["contenders"] = contenders_json(record);
  result["circumstances"] = to_json(record.circumstances);
  if (samples == Samples::kInclude) result["samples"] = samples_json(record);
  return result;
}

json report(const RunRecord& run, const std::vector<CaseRecord>& cases, Samples samples) {
  json machine = facts_json(run.machine);
  machine["key"] = profiler::key(run.machine);
  json entries = json::array();
  for (const CaseRecord& record : cases) entries.push_back(case_json(record, samples));
  return {{"schema_version", kReportSchemaVersion},
          {"tool",
           {{"name", "widebench"},
            {"version", valid_utf8(run.tool_version)},
            {"git_commit", valid_utf8(run.git_commit)},
            {"statistics_version", run.statistics_version}}},
          {"run",
           {{"uid", valid_utf8(run.uid)},
            {"started", valid_utf8(run.started)},
            {"command_line", valid_utf8(run.command_line)},
            {"preset", valid_utf8(run.preset)},
            {"device", valid_utf8(run.device)},
            {"threads", run.threads},
            {"label", valid_utf8(run.label)},
            {"origin", valid_utf8(run.origin)},
            {"status", name(run.status)},
            {"environment", environment_json(run.environment)},
            {"tags", tags_json(run)},
            {"notes", notes_json(run)}}},
          {"reproduce", reproduce_json(run)},
          {"machine", std::move(machine)},
          {"settings", Written::of(run.settings)},
          {"cases", std::move(entries)}};
}

std::string report_text(const RunRecord& run, const std::vector<CaseRecord>& cases, const json& more) {
  json frame = report(run, {});
  frame.update(more);
  frame.erase("cases");  // the first by name, so that it can stand before all others
  std::string text = R"({"cases":[)";
  for (const std::string& part : in_parts(cases.size(), [&](std::size_t first, std::size_t last) {
         std::string written;
         for (std::size_t i = first; i < last; ++i)
           written.append(i > 0 ? "," : "").append(dump(case_json(cases[i])));
         return written;
       }))
    text += part;
  return text.append("],").append(dump(frame), 1);
}

}  // namespace wide::results
