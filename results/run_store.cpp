#include "results/run_store.h"

#include <sqlite3.h>

#include <random>

#include "results/case_store.h"
#include "results/json_fields.h"

namespace wide::results {
namespace {

constexpr char kInsertRun[] = R"(
  INSERT INTO run (status, uid, started, command_line, preset, tool_version, git_commit, settings_id, machine_id,
    device, threads, label, origin, environment, statistics_version, parent_id, sum)
  VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?))";

constexpr char kSelectRows[] = R"(
  SELECT run.id, status, run.sum, uid, started, command_line, preset, tool_version, git_commit, settings_id,
    machine_id, device, threads, label, origin, environment, statistics_version, parent_id, pinned, machine.key
  FROM run JOIN machine ON machine.id = machine_id)";

constexpr int kFirstOfRow = 3, kEndOfRow = 18;  // of these columns: uid to parent_id, which the sum is over

/// 128 random bits in hex.
std::string new_uid() {
  static constexpr std::string_view kHex = "0123456789abcdef";
  std::random_device device;
  std::string uid;
  for (int word = 0; word < 4; ++word) {
    std::uint32_t bits = device();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) uid += kHex[bits & 15];
  }
  return uid;
}

std::int64_t machine_row(SQLite::Database& db, const profiler::Facts& facts) {
  const auto document = facts_json(facts);
  Checksum sum;
  SQLite::Statement insert(db, "INSERT OR IGNORE INTO machine (key, facts, sum) VALUES (?, ?, ?)");
  Binder binder(insert);
  binder.into(sum).text(profiler::key(facts)).json(document).integer(sum.value());
  insert.exec();
  SQLite::Statement select(db, "SELECT id FROM machine WHERE key = ? AND facts = ?");
  Binder(select).text(profiler::key(facts)).json(document);
  select.executeStep();
  return select.getColumn(0).getInt64();
}

std::int64_t settings_row(SQLite::Database& db, const nlohmann::json& settings) {
  Checksum sum;
  SQLite::Statement insert(db, "INSERT OR IGNORE INTO settings (json, sum) VALUES (?, ?)");
  Binder binder(insert);
  binder.into(sum).json(settings).integer(sum.value());
  insert.exec();
  SQLite::Statement select(db, "SELECT id FROM settings WHERE json = ?");
  Binder(select).json(settings);
  select.executeStep();
  return select.getColumn(0).getInt64();
}

std::vector<Note> select_notes(SQLite::Database& db, std::int64_t run) {
  ManyRows select(db, "SELECT sum, run_id, created, text FROM note WHERE run_id = ? ORDER BY id");
  select.bind(1, run);
  std::vector<Note> notes;
  while (select.step()) {
    Columns row(select);
    Checksum read;
    const auto sum = row.optional_integer();
    row.into(&read).integer();
    Note& note = notes.emplace_back();
    note.created = row.text();
    note.text = row.text();
    require_sum(sum, read, "a note of run " + std::to_string(run));
  }
  return notes;
}

/// Tags of every run, in order.
std::map<std::int64_t, std::vector<std::string>> select_tags(SQLite::Database& db) {
  std::map<std::int64_t, std::vector<std::string>> result;
  ManyRows select(db, "SELECT sum, run_id, tag FROM tag ORDER BY run_id, tag");
  while (select.step()) {
    Columns row(select);
    Checksum read;
    const auto sum = row.optional_integer();
    const std::int64_t run = row.into(&read).integer();
    result[run].push_back(row.text());
    require_sum(sum, read, "a tag of run " + std::to_string(run));
  }
  return result;
}

struct Row {
  RunRow known;
  bool pinned = false;
};

/// `found` stands on a row of kSelectRows.
Row read_row(const ManyRows& found) {
  Row result;
  Columns row(found);
  Checksum read;
  RunRecord& run = result.known.run;
  run.id = row.integer();
  const auto status = parse_status(row.text());
  if (!status)
    throw SQLite::Exception("the status of run " + std::to_string(run.id) + " is none", SQLITE_CORRUPT);
  run.status = *status;
  const auto sum = row.optional_integer();
  row.into(&read);
  for (std::string* text :
       {&run.uid, &run.started, &run.command_line, &run.preset, &run.tool_version, &run.git_commit})
    *text = row.text();
  row.integer();  // settings
  row.integer();  // machine
  run.device = row.text();
  run.threads = row.small();
  run.label = row.text();
  run.origin = row.text();
  const std::string environment = row.text();
  run.statistics_version = row.small();
  run.parent = row.optional_integer().value_or(0);
  require_sum(sum, read, "run " + std::to_string(run.id));
  run.environment = environment_from_json(formats::parse_document(environment));
  row.into(nullptr);
  result.pinned = row.integer() != 0;
  result.known.machine_key = row.text();
  return result;
}

void read_settings_and_machine(SQLite::Database& db, RunRecord& run) {
  ManyRows select(db,
                  "SELECT settings.sum, machine.sum, json, key, facts FROM run "
                  "JOIN settings ON settings.id = settings_id JOIN machine ON machine.id = machine_id "
                  "WHERE run.id = ?");
  select.bind(1, run.id);
  if (!select.step()) throw SQLite::Exception("run without settings", SQLITE_CORRUPT);
  Columns row(select);
  Checksum settings, machine;
  const auto settings_sum = row.optional_integer(), machine_sum = row.optional_integer();
  run.settings = row.into(&settings).json();
  row.into(&machine).text();
  run.machine = facts_from_json(row.json());
  require_sum(settings_sum, settings, "the settings of run " + std::to_string(run.id));
  require_sum(machine_sum, machine, "the machine of run " + std::to_string(run.id));
}

struct CountedCases {
  std::int64_t all = 0, passed = 0;
  std::vector<std::string> subjects;
};

/// Of every run that has cases. Goes through the index and the table: where they do not agree, the file is
/// damaged.
std::map<std::int64_t, CountedCases> count_cases(SQLite::Database& db) {
  std::map<std::int64_t, CountedCases> result;
  std::int64_t counted = 0;
  ManyRows select(db,
                  "SELECT run_id, subject, count(*), sum(verdict = 'pass') FROM run_case INDEXED BY "
                  "sqlite_autoindex_run_case_1 GROUP BY run_id, subject");
  while (select.step()) {
    Columns row(select);
    auto& cases = result[row.integer()];
    cases.subjects.push_back(row.text());
    const std::int64_t more = row.integer();
    cases.all += more, counted += more;
    cases.passed += row.integer();
  }
  ManyRows all(db, "SELECT count(*) FROM run_case NOT INDEXED");
  if (!all.step() || all.integer(0) != counted)
    throw SQLite::Exception("a case is not in the index", SQLITE_CORRUPT);
  return result;
}

/// Names of the baselines that every run stands in.
std::map<std::int64_t, std::vector<std::string>> baselines_by_run(SQLite::Database& db) {
  std::map<std::int64_t, std::vector<std::string>> result;
  ManyRows select(db, "SELECT run_id, name FROM baseline_run ORDER BY run_id, name");
  while (select.step()) {
    Columns row(select);
    const std::int64_t run = row.integer();
    result[run].push_back(row.text());
  }
  return result;
}

}  // namespace

void insert_tag(SQLite::Database& db, std::int64_t run, const std::string& tag) {
  Checksum sum;
  SQLite::Statement insert(db, "INSERT OR IGNORE INTO tag (run_id, tag, sum) VALUES (?, ?, ?)");
  Binder binder(insert);
  binder.into(sum).integer(run).text(tag).integer(sum.value());
  insert.exec();
}

void insert_note(SQLite::Database& db, std::int64_t run, const Note& note) {
  Checksum sum;
  SQLite::Statement insert(db, "INSERT INTO note (run_id, created, text, sum) VALUES (?, ?, ?, ?)");
  Binder binder(insert);
  binder.into(sum).integer(run).text(note.created).text(note.text).integer(sum.value());
  insert.exec();
}

std::int64_t insert_run(SQLite::Database& db, const RunRecord& run) {
  const std::int64_t settings = settings_row(db, run.settings);
  const std::int64_t machine = machine_row(db, run.machine);
  Checksum sum;
  SQLite::Statement insert(db, kInsertRun);
  Binder binder(insert);
  binder.text(name(run.status)).into(sum);
  binder.text(run.uid.empty() ? new_uid() : run.uid).text(run.started.empty() ? utc_now() : run.started);
  binder.text(run.command_line).text(run.preset).text(run.tool_version).text(run.git_commit);
  binder.integer(settings).integer(machine).text(run.device).integer(run.threads).text(run.label);
  binder.text(run.origin).json(environment_json(run.environment)).integer(run.statistics_version);
  if (run.parent > 0) {
    binder.integer(run.parent);
  } else {
    binder.null();
  }
  binder.integer(sum.value());
  insert.exec();
  const std::int64_t id = db.getLastInsertRowid();
  for (const std::string& tag : run.tags) {
    if (!tag.empty()) insert_tag(db, id, tag);
  }
  for (const Note& note : run.notes) insert_note(db, id, note);
  return id;
}

void fill_run_sums(SQLite::Database& db) {
  const auto fill = [&](const std::string& table, const std::string& select_sql, int first, int end) {
    std::vector<std::pair<std::int64_t, std::int64_t>> sums;
    ManyRows found(db, select_sql);
    while (found.step()) {
      Checksum sum;
      found.add(sum, first, end);
      sums.emplace_back(found.integer(0), sum.value());
    }
    SQLite::Statement update(db, "UPDATE " + table + " SET sum = ? WHERE id = ?");
    for (const auto& [id, sum] : sums) {
      Binder(update).integer(sum).integer(id);
      update.exec();
      update.reset();
    }
  };
  fill("run", std::string(kSelectRows) + " WHERE run.sum IS NULL", kFirstOfRow, kEndOfRow);
  fill("settings", "SELECT id, json FROM settings WHERE sum IS NULL", 1, 2);
  fill("machine", "SELECT id, key, facts FROM machine WHERE sum IS NULL", 1, 3);
}

RunRecord select_run(SQLite::Database& db, std::int64_t id) {
  ManyRows select(db, std::string(kSelectRows) + " WHERE run.id = ?");
  select.bind(1, id);
  // With no machine to a run, the keys that hold the rows together are damaged.
  if (!select.step()) throw SQLite::Exception("run without a machine", SQLITE_CORRUPT);
  RunRecord run = read_row(select).known.run;
  read_settings_and_machine(db, run);
  run.tags = select_tags(db)[id];
  run.notes = select_notes(db, id);
  return run;
}

std::vector<RunSummary> select_summaries(SQLite::Database& db) {
  std::vector<RunSummary> result;
  auto tags = select_tags(db), baselines = baselines_by_run(db);
  auto counts = count_cases(db);
  ManyRows select(db, std::string(kSelectRows) + " ORDER BY run.id");
  while (select.step()) {
    Row row = read_row(select);
    RunRecord& run = row.known.run;
    const auto counted = counts.extract(run.id);
    auto [cases, passed, subjects] = counted ? std::move(counted.mapped()) : CountedCases();
    RunSummary& summary = result.emplace_back();
    summary.id = run.id;
    summary.uid = std::move(run.uid);
    summary.started = std::move(run.started);
    summary.preset = std::move(run.preset);
    summary.label = std::move(run.label);
    summary.device = std::move(run.device);
    summary.machine_key = std::move(row.known.machine_key);
    summary.origin = std::move(run.origin);
    summary.status = run.status;
    summary.cases = cases;
    summary.passed = passed;
    summary.subjects = std::move(subjects);
    summary.parent = run.parent;
    summary.pinned = row.pinned;
    summary.tags = std::move(tags[run.id]);
    summary.baselines = std::move(baselines[run.id]);
  }
  if (!counts.empty()) throw SQLite::Exception("a case belongs to no run", SQLITE_CORRUPT);
  return result;
}

std::map<std::int64_t, RunRow> select_rows(SQLite::Database& db) {
  std::map<std::int64_t, RunRow> result;
  ManyRows select(db, kSelectRows);
  while (select.step()) {
    Row row = read_row(select);
    const std::int64_t id = row.known.run.id;
    result.emplace(id, std::move(row.known));
  }
  return result;
}

}  // namespace wide::results
