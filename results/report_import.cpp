// Reads a report back. A report is a claim from elsewhere: every field is checked for its type, and a case
// that breaks the rules of a record (objection) is refused by its place in the document.

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <variant>

#include "formats/document.h"
#include "formats/error.h"
#include "profiler/statistics.h"
#include "results/json_fields.h"
#include "results/report.h"
#include "results/table.h"

namespace wide::results {
namespace {

using nlohmann::json;

/// A value of the document and where it lies: "cases[3].wide", put into words only for a refusal. A place
/// within another must not outlive that one, nor its name.
class Place {
 public:
  Place(const json& value, std::string_view name) : value_(value), name_(name) {}

  const json& value() const { return value_; }

  [[noreturn]] void refuse(const std::string& why) const {
    const std::string where = path();
    throw Error("import", (where.empty() ? "the report" : "the report's " + printable(where, 200)) + ": " +
                              printable(why, 300));
  }
  Place member(std::string_view name) const {
    const auto found = value_.find(name);
    if (found == value_.end()) refuse("the field '" + std::string(name) + "' is missing");
    return {*found, name, this};
  }
  bool has(std::string_view name) const {
    const auto found = value_.find(name);
    return found != value_.end() && !found->is_null();
  }
  Place element(std::size_t index) const { return {value_[index], index, this}; }

  const Place& object() const {
    if (!value_.is_object()) refuse("an object is expected here");
    return *this;
  }
  const Place& array() const {
    if (!value_.is_array()) refuse("an array is expected here");
    return *this;
  }
  std::string text() const {
    if (!value_.is_string()) refuse("a text is expected here");
    return value_.get<std::string>();
  }
  double real() const {
    if (value_.is_null()) return kUnknown;
    if (!value_.is_number()) refuse("a number or null is expected here");
    return value_.get<double>();
  }
  std::int64_t integer() const {
    const bool fits = value_.is_number_integer() && (!value_.is_number_unsigned() ||
                                                     value_.get<std::uint64_t>() <= std::uint64_t{INT64_MAX});
    if (!fits) refuse("a whole number is expected here");
    return value_.get<std::int64_t>();
  }
  int small() const {
    const auto wide = integer();
    if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
      refuse("the number is too large");
    return static_cast<int>(wide);
  }
  bool boolean() const {
    if (!value_.is_boolean()) refuse("true or false is expected here");
    return value_.get<bool>();
  }

  // Optional members, with what stands for a missing or null one.
  std::string text(std::string_view name) const { return has(name) ? member(name).text() : ""; }
  std::string moment(std::string_view name) const {
    auto moment = text(name);
    if (!moment.empty() && !is_utc(moment))
      member(name).refuse("a moment is expected here, as 2026-05-01T12:34:56Z");
    return moment;
  }
  int small(std::string_view name) const { return has(name) ? member(name).small() : 0; }

 private:
  Place(const json& value, std::variant<std::string_view, std::size_t> name, const Place* around)
      : value_(value), name_(name), around_(around) {}

  std::string path() const {
    std::string text = around_ ? around_->path() : "";
    if (const auto* index = std::get_if<std::size_t>(&name_))
      return text.append("[").append(std::to_string(*index)).append("]");
    return text.append(text.empty() ? "" : ".").append(std::get<std::string_view>(name_));
  }

  const json& value_;
  std::variant<std::string_view, std::size_t> name_;
  const Place* around_ = nullptr;
};

/// A value as a record has it.
struct Read {
  static void into(std::string& value, const Place& at) { value = at.text(); }
  static void into(json& value, const Place& at) { value = at.value(); }
  static void into(double& value, const Place& at) { value = at.real(); }
  static void into(int& value, const Place& at) { value = at.small(); }
  static void into(std::int64_t& value, const Place& at) { value = at.integer(); }
  static void into(std::optional<std::int64_t>& value, const Place& at) { value = at.integer(); }
  static void into(bool& value, const Place& at) { value = at.boolean(); }
  static void into(std::uint64_t& value, const Place& at) {
    if (!at.value().is_number_unsigned()) at.refuse("a whole number from 0 is expected here");
    value = at.value().get<std::uint64_t>();
  }
  static void into(Verdict& value, const Place& at) {
    const auto parsed = parse_verdict(at.text());
    if (!parsed) at.refuse("no such verdict; known are pass, fail, skipped, error, oom, timeout");
    value = *parsed;
  }
  static void into(const Limits<double>& value, const Place& at) {
    if (at.array().value().size() != 2) at.refuse("two limits are expected here");
    value.low = at.element(0).real();
    value.high = at.element(1).real();
  }
};

/// Reads the fields that visit_fields() gives out of the object `at`. One that is missing or null is not
/// known.
auto reader(const Place& at) {
  return [&at](const Field& field, auto&& value) {
    const auto from = [&](const Place& object) {
      if (field.is_needed || object.has(field.json)) Read::into(value, object.member(field.json));
    };
    if (field.object.empty()) {
      from(at);
    } else if (at.has(field.object)) {
      from(at.member(field.object).object());
    }
  };
}

/// In the order of `contenders`; those it does not name come after, by name.
void read_rivals(const Place& at, CaseRecord& record) {
  if (!at.has("rivals")) return;
  const Place rivals = at.member("rivals");
  rivals.object();
  std::set<std::string> done;
  const auto add = [&](const std::string& name) {
    if (rivals.value().contains(name) && done.insert(name).second) {
      record.rivals.push_back({.name = name});
      visit_fields(record.rivals.back(), reader(rivals.member(name).object()));
    }
  };
  if (at.has("contenders")) {
    const Place order = at.member("contenders");
    for (std::size_t i = 0; i < order.array().value().size(); ++i) add(order.element(i).text());
  }
  for (const auto& item : rivals.value().items()) add(item.key());
}

void read_checks(const Place& at, CaseRecord& record) {
  if (!at.has("checks")) {  // the short form: one error figure
    if (!at.has("max_abs_err")) return;
    Check check;
    check.what = "as reported";
    check.max_abs_err = at.member("max_abs_err").real();
    check.passed = record.verdict == Verdict::kPass;
    record.checks.push_back(check);
    return;
  }
  const Place checks = at.member("checks");
  for (std::size_t i = 0; i < checks.array().value().size(); ++i) {
    const Place entry = checks.element(i);
    visit_fields(record.checks.emplace_back(), reader(entry.object()));
  }
}

void read_samples(const Place& at, CaseRecord& record) {
  if (!at.has("samples")) return;
  const Place samples = at.member("samples");
  samples.object();
  const profiler::Sample none;
  std::vector<Place> columns;
  visit_fields(none, [&](const Field& field, const auto&) { columns.push_back(samples.member(field.json)); });
  const std::size_t count = columns.front().array().value().size();
  for (const Place& column : columns) {
    if (column.array().value().size() != count) samples.refuse("its columns differ in length");
  }
  record.samples.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    auto next = columns.begin();
    visit_fields(record.samples[i],
                 [&](const Field&, auto& value) { Read::into(value, next++->element(i)); });
  }
}

CaseRecord read_case(const Place& at) {
  at.object();
  CaseRecord record;
  visit_names(record, reader(at));
  read_checks(at, record);
  if (at.has("wide")) visit_fields(record.wide, reader(at.member("wide").object()));
  read_rivals(at, record);
  visit_figures(record, reader(at));
  if (at.has("circumstances")) {
    const Place circumstances = at.member("circumstances");
    try {
      record.circumstances = circumstances_from_json(circumstances.value());
    } catch (const Error& error) {
      circumstances.refuse(error.what());
    }
  }
  read_samples(at, record);
  if (const std::string why = objection(record); !why.empty()) at.refuse(why);
  return record;
}

void read_marks(const Place& about, RunRecord& run) {
  if (about.has("environment")) {
    const Place environment = about.member("environment");
    try {
      run.environment = environment_from_json(environment.object().value());
    } catch (const json::exception&) {
      environment.refuse("an object of texts is expected here");
    }
  }
  if (about.has("tags")) {
    const Place tags = about.member("tags");
    for (std::size_t i = 0; i < tags.array().value().size(); ++i) run.tags.push_back(tags.element(i).text());
  }
  if (about.has("notes")) {
    const Place notes = about.member("notes");
    for (std::size_t i = 0; i < notes.array().value().size(); ++i) {
      const Place note = notes.element(i);
      note.object();
      run.notes.push_back({note.moment("created"), note.text("text")});
    }
  }
}

RunRecord read_run(const Place& top) {
  RunRecord run;
  const Place tool = top.member("tool");
  run.tool_version = tool.object().text("version");
  run.git_commit = tool.text("git_commit");
  run.statistics_version = tool.has("statistics_version") ? tool.small("statistics_version") : 1;
  run.settings = top.member("settings").value();
  const Place machine = top.member("machine");
  try {
    run.machine = facts_from_json(machine.object().value());
  } catch (const json::exception& error) {
    machine.refuse(printable(error.what(), 200));
  } catch (const Error& error) {
    machine.refuse(error.what());
  }
  run.status = RunStatus::kDone;
  if (!top.has("run")) return run;
  const Place about = top.member("run");
  run.uid = about.object().text("uid");
  run.started = about.moment("started");
  run.command_line = about.text("command_line");
  run.preset = about.text("preset");
  run.device = about.text("device");
  run.threads = about.small("threads");
  run.label = about.text("label");
  run.origin = about.text("origin");
  if (about.has("status")) {
    const Place status = about.member("status");
    const auto parsed = parse_status(status.text());
    if (!parsed) status.refuse("no such status; known are running, done, interrupted, failed");
    run.status = *parsed;
  }
  read_marks(about, run);
  return run;
}

/// All but the cases.
RunRecord read_frame(const Place& top) {
  const Place version = top.object().member("schema_version");
  if (version.integer() != kReportSchemaVersion) {
    version.refuse("it is " + std::to_string(version.integer()) + ", and only " +
                   std::to_string(kReportSchemaVersion) + " is understood");
  }
  return read_run(top);
}

/// What the samples say other than the summary does, or empty. `version` is of the statistics: others than
/// ours may have made another summary of them.
std::string contradiction(const CaseRecord& record, int version) {
  constexpr double kRounding = 1e-6, kOtherMiddle = 0.01;  // of ratios, by their logarithms
  if (!record.started.empty() && !is_utc(record.started))
    return "it started at no moment such as 2026-05-01T12:34:56Z";
  if (version != profiler::kStatisticsVersion) return "";
  const auto same = [](double a, double b, double share) {
    return std::abs(a - b) <= share * std::max(a, b);
  };
  std::set<std::pair<int, int>> turns;
  std::map<int, std::vector<double>> samples;
  for (const auto& sample : record.samples) {
    if (!turns.emplace(sample.contender, sample.round).second)
      return "a contender has two samples of one round";
    samples[sample.contender].push_back(sample.microseconds);
  }
  const auto disagrees = [&](int contender, const profiler::Summary& time) {
    const auto& own = samples[contender];
    if (own.empty() || std::isnan(time.median_us)) return false;
    return !same(profiler::median(own), time.median_us, kRounding) ||
           (!std::isnan(time.min_us) &&
            !same(*std::min_element(own.begin(), own.end()), time.min_us, kRounding));
  };
  if (disagrees(0, record.wide)) return "its samples of wide have another median or minimum";
  for (std::size_t i = 0; i < record.rivals.size(); ++i) {
    const auto& rival = record.rivals[i];
    if (disagrees(static_cast<int>(i) + 1, rival.time))
      return "its samples of " + printable(rival.name, 60) + " have another median or minimum";
    if (samples[0].empty() || samples[static_cast<int>(i) + 1].empty() || !rival.speedup.known()) continue;
    const auto ratios = profiler::round_ratios(record.samples, static_cast<int>(i) + 1, 0);
    if (!ratios.empty() && !same(profiler::median(ratios), rival.speedup.value, kOtherMiddle))
      return "its samples give another speed-up over " + printable(rival.name, 60);
  }
  return "";
}

std::string case_path(std::size_t index) {
  return "cases[" + std::to_string(index) + "]";
}

void refuse_equal_keys(const std::vector<CaseRecord>& cases) {
  std::set<std::string_view> keys;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!keys.insert(cases[i].key).second)
      Place(json(), case_path(i)).refuse("another case has the same key");
  }
}

}  // namespace

CaseRecord case_from_json(const json& document) {
  return read_case(Place(document, ""));
}

Imported from_report(const std::string& text) {
  std::vector<CaseRecord> cases;
  std::exception_ptr fault;  // told after those of what stands behind the cases: another version explains all
  const auto take = [&](json&& one) {
    if (fault) return;
    try {
      cases.push_back(read_case(Place(one, case_path(cases.size()))));
    } catch (const Error&) {
      fault = std::current_exception();
    }
  };
  const json document = formats::parse_document(text, {"cases", take});
  const Place top(document, "");
  Imported result{read_frame(top), {}};
  top.member("cases").array();
  if (fault) std::rethrow_exception(fault);
  refuse_equal_keys(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto why = contradiction(cases[i], result.run.statistics_version);
    if (!why.empty()) Place(json(), case_path(i)).refuse(why);
  }
  result.cases = std::move(cases);
  return result;
}

}  // namespace wide::results
