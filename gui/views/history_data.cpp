#include "gui/views/history_data.h"

#include <algorithm>
#include <array>
#include <set>

#include "app/run_lock.h"
#include "app/stored_captures.h"
#include "app/stored_report.h"
#include "formats/error.h"
#include "gui/views/quantity.h"
#include "gui/views/sweep_form.h"
#include "gui/views/sweep_rows.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using results::OpenMode;
using results::printable;
using results::Store;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text.append(text.empty() ? "" : ", ").append(printable(word, 60));
  return text;
}

results::Side read_side(const Store& store, std::int64_t run) {
  return {.name = "run " + std::to_string(run), .runs = {{store.run(run), store.cases(run)}}};
}

void add_run(Table& table, const results::RunSummary& run, bool is_profile) {
  const auto row = table.add_row();
  const std::array<std::string, 14> cells = {"",
                                             short_time(run.started),
                                             printable(run.label, 100),
                                             joined(run.subjects),
                                             printable(run.preset, 60),
                                             printable(run.device, 40),
                                             "",
                                             "",
                                             is_profile ? "profile" : std::string(results::name(run.status)),
                                             joined(run.tags),
                                             joined(run.baselines),
                                             run.pinned ? "pinned" : "",
                                             run.machine_key.substr(0, 6),
                                             run.origin == "measured" ? "" : printable(run.origin, 20)};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (table.columns()[i].kind == CellKind::kText) table.set(row, i, cells[i]);
  }
  table.set(row, 0, static_cast<double>(run.id));
  table.set(row, 6, static_cast<double>(run.cases));
  if (!is_profile) table.set(row, 7, static_cast<double>(run.passed));
}

}  // namespace

std::string short_time(const std::string& iso) {
  auto text = printable(iso, 20);
  if (text.size() < 16 || text[10] != 'T') return text;
  text[10] = ' ';
  return text.substr(0, 16);
}

Table runs_table() {
  const auto text = CellKind::kText, number = CellKind::kNumber;
  return Table({{"run", "run", number, show_count},
                {"started", "started"},
                {"label", "label"},
                {"subjects", "subjects", text, nullptr, "", 3},
                {"preset", "preset", text, nullptr, "", 4},
                {"device", "device", text, nullptr, "", 8},
                {"cases", "cases", number, show_count},
                {"passed", "passed", number, show_count, "", 1},
                {"status", "status"},
                {"tags", "tags", text, nullptr, "", 5},
                {"baselines", "baseline", text, nullptr, "", 2},
                {"pinned", "pinned", text, nullptr, "", 6},
                {"machine", "machine", text, nullptr, "", 7},
                {"origin", "origin", text, nullptr, "", 9}});
}

std::size_t HistoryData::row_of(std::int64_t run) const {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const auto& r) { return r.id == run; });
  return static_cast<std::size_t>(found - runs.begin());
}

std::string stamp_of(const std::filesystem::path& database) {
  std::string text;
  for (const char* ending : {"", "-wal"}) {
    auto file = database;
    file += ending;
    std::error_code failed;
    const auto size = std::filesystem::file_size(file, failed);
    if (failed || size == 0) continue;  // who reads only may leave an empty log
    const auto when = std::filesystem::last_write_time(file, failed);
    text.append(std::to_string(size)).append(" ");
    text.append(std::to_string(when.time_since_epoch().count())).append(" ");
  }
  return text;
}

bool is_stale(const HistoryData& data) {
  if (stamp_of(data.database) != data.stamp) return true;
  return std::any_of(data.runs.begin(), data.runs.end(), [&](const results::RunSummary& run) {
    return app::status_now(data.database, run.id, run.status) != run.status;
  });
}

HistoryData make_history(std::vector<results::RunSummary> runs, std::set<std::int64_t> profiles) {
  HistoryData data{
      .exists = true, .runs = std::move(runs), .profiles = std::move(profiles), .table = runs_table()};
  for (const auto& run : data.runs) add_run(data.table, run, data.profiles.contains(run.id));
  data.table.refresh();
  return data;
}

HistoryData read_history(const std::filesystem::path& database) {
  std::error_code failed;
  const auto stamp = stamp_of(database);
  if (!std::filesystem::exists(database, failed)) return {.database = database, .table = runs_table()};
  const auto store = Store::open(database, OpenMode::kReadOnly);
  auto runs = store.runs();
  std::set<std::int64_t> profiles;
  for (auto& run : runs) {
    run.status = app::status_now(store, run.id, run.status);
    if (app::only_captured(store, run)) profiles.insert(run.id);
  }
  std::reverse(runs.begin(), runs.end());
  auto data = make_history(std::move(runs), std::move(profiles));
  data.database = database;
  data.stamp = stamp;
  data.baselines = store.baselines();
  return data;
}

RunData read_run(const std::filesystem::path& database, std::int64_t wanted) {
  const auto store = Store::open(database, OpenMode::kReadOnly);
  if (wanted == 0) {
    const auto runs = store.runs();
    if (runs.empty()) throw Error("runs", database.string() + ": holds no run yet");
    const auto newest = std::find_if(runs.rbegin(), runs.rend(), [&](const results::RunSummary& run) {
      return !app::only_captured(store, run);
    });
    wanted = newest == runs.rend() ? runs.back().id : newest->id;
  }
  RunData data{
      .run = store.run(wanted), .cases = store.cases(wanted, /*with_samples=*/false), .table = sweep_table()};
  data.run.status = app::status_now(store, wanted, data.run.status);
  add_cases(data.table, data.cases);
  std::set<std::string> seen;
  for (const auto& record : data.cases) {
    if (seen.insert(record.subject).second) data.subjects.push_back(record.subject);
    if (data.captured.empty() && !store.traces(wanted, record.key).empty()) data.captured = record.key;
  }
  return data;
}

bool is_of(const results::CaseRecord& record, const std::string& subject, bool built_in) {
  return record.subject == subject && (record.kind != "model") == built_in;
}

std::optional<RunData> newest_run(const std::filesystem::path& database, const std::string& subject,
                                  bool built_in) {
  std::int64_t newest = 0;
  {
    const auto store = Store::open(database, OpenMode::kReadOnly);
    const auto runs = store.runs();
    const auto fits = [&](const results::RunSummary& run) {
      if (run.origin != "measured" || app::only_captured(store, run)) return false;
      if (subject.empty()) return true;
      const auto cases = store.compared_cases(run.id);
      return std::any_of(cases.begin(), cases.end(),
                         [&](const results::CaseRecord& one) { return is_of(one, subject, built_in); });
    };
    const auto found = std::find_if(runs.rbegin(), runs.rend(), fits);
    if (found == runs.rend()) return std::nullopt;
    newest = found->id;
  }
  return read_run(database, newest);
}

Table compare_table() {
  const auto text = CellKind::kText, number = CellKind::kNumber;
  return Table({{"subject", "subject"},
                {"n", "N", number, show_count},
                {"strategy", "strategy", text, nullptr, "", 1},
                {"change", "verdict"},
                {"ratio", "cost, second to first", CellKind::kInterval, show_change},
                {"first", "first", number, show_time, "us", 3},
                {"second", "second", number, show_time, "us", 3},
                {"dtype", "dtype", text, nullptr, "", 6},
                {"device", "device", text, nullptr, "", 8},
                {"mode", "mode", text, nullptr, "", 7},
                {"p", "p (Holm)", number, show_probability, "", 5},
                {"against", "measured against", text, nullptr, "", 4},
                {"reasons", "why", text, nullptr, "", 2}});
}

CompareData make_comparison(results::Comparison comparison) {
  CompareData data{std::move(comparison), compare_table()};
  for (const auto& change : data.comparison.cases) {
    const auto row = data.table.add_row();
    data.table.set(row, 0, printable(change.subject));
    data.table.set(row, 1, static_cast<double>(change.n));
    data.table.set(row, 2, printable(change.strategy));
    data.table.set(row, 3, results::name(change.change));
    data.table.set(row, 4, change.ratio);
    data.table.set(row, 5, change.first_us);
    data.table.set(row, 6, change.second_us);
    data.table.set(row, 7, printable(change.dtype));
    data.table.set(row, 8, printable(change.device));
    data.table.set(row, 9, printable(change.mode));
    data.table.set(row, 10, change.adjusted_p);
    data.table.set(row, 11, change.reference.empty() ? "the clock alone" : printable(change.reference));
    data.table.set(row, 12, joined(change.reasons));
  }
  const auto add_missing = [&](const std::vector<results::Missing>& missing, const std::string& where) {
    for (const auto& one : missing) {
      const auto row = data.table.add_row();
      data.table.set(row, 0, printable(one.subject));
      data.table.set(row, 1, static_cast<double>(one.n));
      data.table.set(row, 3, "missing");
      std::string why = "only in ";
      data.table.set(row, 12, why.append(printable(where, 60)));
    }
  };
  add_missing(data.comparison.only_in_first, data.comparison.first);
  add_missing(data.comparison.only_in_second, data.comparison.second);
  data.table.refresh();
  return data;
}

std::vector<CompareData> compare_runs(const std::filesystem::path& database,
                                      const std::vector<std::int64_t>& runs, bool across_machines) {
  if (runs.size() < 2)
    throw Error("compare", "select two runs or more: the first is what the others are compared with");
  const auto store = Store::open(database, OpenMode::kReadOnly);
  const auto first = read_side(store, runs.front());
  results::CompareOptions options;
  options.across_machines = across_machines;
  std::vector<CompareData> all;
  for (std::size_t i = 1; i < runs.size(); ++i)
    all.push_back(make_comparison(results::compare(first, read_side(store, runs[i]), options)));
  return all;
}

std::string headline(const results::Comparison& comparison) {
  std::string text;
  for (const auto& [change, count] : comparison.counts) {
    text.append(text.empty() ? "" : ", ").append(std::to_string(count)).append(" ");
    text.append(results::name(change));
  }
  if (text.empty()) text = "no case is in both";
  if (comparison.geometric_mean.known())
    text.append("; cost on the whole ").append(show_change(comparison.geometric_mean));
  return text;
}

void export_run(const std::filesystem::path& database, std::int64_t run, const std::string& format,
                const std::filesystem::path& file) {
  const auto store = Store::open(database, OpenMode::kReadOnly);
  results::write_text(file, app::stored_report(store, run, format));
}

std::string compare_command(const std::filesystem::path& database, const std::vector<std::int64_t>& runs,
                            bool across_machines) {
  std::vector<std::string> words = {"runs", "compare"};
  for (const auto run : runs) words.push_back(std::to_string(run));
  if (across_machines) words.emplace_back("--across-machines");
  words.insert(words.end(), {"--db", database.string()});
  return command_text(words);
}

}  // namespace wide::gui
