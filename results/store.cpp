#include "results/store.h"

#include <sqlite3.h>

#include <cstdlib>
#include <random>

#include "results/case_store.h"
#include "results/json_fields.h"
#include "results/store_connection.h"
#include "results/table.h"

namespace wide::results {
namespace {

constexpr char kInsertRun[] = R"(
  INSERT INTO run (uid, started, command_line, preset, tool_version, git_commit, settings_id, machine_id, device,
    threads, label, origin, status, environment, statistics_version, parent_id)
  VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?))";

constexpr char kSelectRun[] = R"(
  SELECT run.id, uid, started, command_line, preset, tool_version, git_commit, settings.json, machine.facts, device,
    threads, label, origin, status, environment, statistics_version, coalesce(parent_id, 0)
  FROM run JOIN settings ON settings.id = settings_id JOIN machine ON machine.id = machine_id WHERE run.id = ?)";

constexpr char kSelectRuns[] = R"(
  SELECT run.id, uid, run.started, preset, label, run.device, machine.key, origin, status, count(run_case.id),
    coalesce(sum(run_case.verdict = 'pass'), 0), coalesce(parent_id, 0), pinned
  FROM run JOIN machine ON machine.id = machine_id LEFT JOIN run_case ON run_case.run_id = run.id
  GROUP BY run.id ORDER BY run.id)";

constexpr char kUnfinishedRun[] = R"(
  SELECT run.id FROM run JOIN settings ON settings.id = settings_id JOIN machine ON machine.id = machine_id
  WHERE settings.json = ? AND machine.key = ? AND origin = 'measured' AND status <> 'done' AND parent_id IS NULL
  ORDER BY run.id DESC LIMIT 1)";

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
  SQLite::Statement insert(db, "INSERT OR IGNORE INTO machine (key, facts) VALUES (?, ?)");
  Binder(insert).text(profiler::key(facts)).json(document);
  insert.exec();
  SQLite::Statement select(db, "SELECT id FROM machine WHERE key = ? AND facts = ?");
  Binder(select).text(profiler::key(facts)).json(document);
  select.executeStep();
  return select.getColumn(0).getInt64();
}

std::int64_t settings_row(SQLite::Database& db, const nlohmann::json& settings) {
  SQLite::Statement insert(db, "INSERT OR IGNORE INTO settings (json) VALUES (?)");
  Binder(insert).json(settings);
  insert.exec();
  SQLite::Statement select(db, "SELECT id FROM settings WHERE json = ?");
  Binder(select).json(settings);
  select.executeStep();
  return select.getColumn(0).getInt64();
}

void insert_marks(SQLite::Database& db, std::int64_t id, const RunRecord& run) {
  SQLite::Statement tag(db, "INSERT OR IGNORE INTO tag VALUES (?, ?)");
  for (const std::string& text : run.tags) {
    if (text.empty()) continue;
    Binder(tag).integer(id).text(text);
    tag.exec();
    tag.reset();
  }
  SQLite::Statement note(db, "INSERT INTO note (run_id, created, text) VALUES (?, ?, ?)");
  for (const Note& entry : run.notes) {
    Binder(note).integer(id).text(entry.created).text(entry.text);
    note.exec();
    note.reset();
  }
}

std::vector<Note> select_notes(SQLite::Database& db, std::int64_t run) {
  SQLite::Statement select(db, "SELECT created, text FROM note WHERE run_id = ? ORDER BY id");
  select.bind(1, run);
  std::vector<Note> notes;
  while (select.executeStep()) {
    Columns row(select);
    Note note;
    note.created = row.text();
    note.text = row.text();
    notes.push_back(std::move(note));
  }
  return notes;
}

/// Second column of every row, under its first: what belongs to which run.
std::map<std::int64_t, std::vector<std::string>> by_run(SQLite::Database& db, const char* sql) {
  std::map<std::int64_t, std::vector<std::string>> result;
  SQLite::Statement select(db, sql);
  while (select.executeStep()) {
    Columns row(select);
    const std::int64_t run = row.integer();
    result[run].push_back(row.text());
  }
  return result;
}

std::int64_t insert_run(SQLite::Database& db, const RunRecord& run) {
  const std::int64_t settings = settings_row(db, run.settings);
  const std::int64_t machine = machine_row(db, run.machine);
  SQLite::Statement insert(db, kInsertRun);
  Binder binder(insert);
  binder.text(run.uid.empty() ? new_uid() : run.uid).text(run.started.empty() ? utc_now() : run.started);
  binder.text(run.command_line).text(run.preset).text(run.tool_version).text(run.git_commit);
  binder.integer(settings).integer(machine).text(run.device).integer(run.threads).text(run.label);
  binder.text(run.origin).text(name(run.status)).json(environment_json(run.environment));
  binder.integer(run.statistics_version);
  if (run.parent > 0) {
    binder.integer(run.parent);
  } else {
    binder.null();
  }
  insert.exec();
  const std::int64_t id = db.getLastInsertRowid();
  insert_marks(db, id, run);
  return id;
}

void refuse_objections(const CaseRecord& record) {
  const std::string why = objection(record);
  if (!why.empty()) throw Error("store", "case '" + printable(record.key) + "' is not stored: " + why);
}

}  // namespace

void require_run(SQLite::Database& db, const std::filesystem::path& path, std::int64_t id) {
  SQLite::Statement select(db, "SELECT 1 FROM run WHERE id = ?");
  select.bind(1, id);
  if (select.executeStep()) return;
  throw Error("store",
              path.string() + ": there is no run " + std::to_string(id) + "; see `widebench runs list`");
}

std::filesystem::path default_path() {
  const auto folder = [](const char* variable) -> std::filesystem::path {
    const char* value = std::getenv(variable);
    return value != nullptr && value[0] == '/' ? value : "";  // the XDG rules tell to ignore relative ones
  };
  if (const auto data = folder("XDG_DATA_HOME"); !data.empty()) return data / "widebench" / "results.db";
  if (const auto home = folder("HOME"); !home.empty()) return home / ".local/share/widebench/results.db";
  throw Error("store", "neither XDG_DATA_HOME nor HOME is set; name the database with --db");
}

Store::Store(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Store Store::open(const std::filesystem::path& path, OpenMode mode, std::int64_t max_bytes) {
  return Store(std::make_unique<Connection>(Connection{path, open_database(path, mode, max_bytes)}));
}

void Store::back_up() const {
  connection_->with([&](SQLite::Database& db) { copy_database(db, path().string() + ".bak"); });
}

const std::filesystem::path& Store::path() const {
  return connection_->path;
}

std::int64_t Store::begin_run(const RunRecord& run) {
  return connection_->change([&](SQLite::Database& db) { return insert_run(db, run); });
}

void Store::add_case(std::int64_t run, const CaseRecord& record) {
  refuse_objections(record);
  connection_->change([&](SQLite::Database& db) {
    require_run(db, path(), run);
    SQLite::Statement select(db, "SELECT 1 FROM run_case WHERE run_id = ? AND key = ?");
    Binder(select).integer(run).text(record.key);
    if (select.executeStep()) {
      throw Error("store",
                  "case '" + printable(record.key) + "' is already stored in run " + std::to_string(run));
    }
    CaseWriter(db).insert(run, record);
    return true;
  });
}

void Store::finish_run(std::int64_t run, RunStatus status) {
  connection_->change([&](SQLite::Database& db) {
    require_run(db, path(), run);
    SQLite::Statement update(db, "UPDATE run SET status = ? WHERE id = ?");
    Binder(update).text(name(status)).integer(run);
    return update.exec();
  });
}

std::int64_t Store::import_run(RunRecord run, const std::vector<CaseRecord>& cases) {
  run.origin = "imported";
  run.parent = 0;  // the number of a run in another database
  for (const CaseRecord& record : cases) refuse_objections(record);
  return connection_->change([&](SQLite::Database& db) {
    SQLite::Statement select(db, "SELECT id FROM run WHERE uid = ?");
    Binder(select).text(run.uid);
    if (!run.uid.empty() && select.executeStep()) {
      throw Error("store", path().string() + ": this run is already here as run " +
                               std::to_string(select.getColumn(0).getInt64()));
    }
    const std::int64_t id = insert_run(db, run);
    CaseWriter writer(db);
    for (const CaseRecord& record : cases) writer.insert(id, record);
    return id;
  });
}

std::vector<RunSummary> Store::runs() const {
  return connection_->with([](SQLite::Database& db) {
    std::vector<RunSummary> result;
    SQLite::Transaction one_view(db);
    auto tags = by_run(db, "SELECT run_id, tag FROM tag ORDER BY run_id, tag");
    auto baselines = by_run(db, "SELECT run_id, name FROM baseline_run ORDER BY run_id, name");
    SQLite::Statement select(db, kSelectRuns);
    while (select.executeStep()) {
      Columns row(select);
      RunSummary run;
      run.id = row.integer();
      run.uid = row.text();
      run.started = row.text();
      run.preset = row.text();
      run.label = row.text();
      run.device = row.text();
      run.machine_key = row.text();
      run.origin = row.text();
      run.status = parse_status(row.text()).value_or(RunStatus::kFailed);
      run.cases = row.integer();
      run.passed = row.integer();
      run.parent = row.integer();
      run.pinned = row.integer() != 0;
      run.tags = std::move(tags[run.id]);
      run.baselines = std::move(baselines[run.id]);
      result.push_back(std::move(run));
    }
    return result;
  });
}

RunRecord Store::run(std::int64_t id) const {
  return connection_->with([&](SQLite::Database& db) {
    require_run(db, path(), id);
    SQLite::Statement select(db, kSelectRun);
    select.bind(1, id);
    select.executeStep();
    Columns row(select);
    RunRecord run;
    run.id = row.integer();
    run.uid = row.text();
    run.started = row.text();
    run.command_line = row.text();
    run.preset = row.text();
    run.tool_version = row.text();
    run.git_commit = row.text();
    run.settings = row.json();
    run.machine = facts_from_json(row.json());
    run.device = row.text();
    run.threads = row.small();
    run.label = row.text();
    run.origin = row.text();
    run.status = parse_status(row.text()).value_or(RunStatus::kFailed);
    run.environment = environment_from_json(row.json());
    run.statistics_version = row.small();
    run.parent = row.integer();
    run.tags = by_run(db, "SELECT run_id, tag FROM tag ORDER BY run_id, tag")[id];
    run.notes = select_notes(db, id);
    return run;
  });
}

std::vector<CaseRecord> Store::cases(std::int64_t run, bool with_samples) const {
  return connection_->with([&](SQLite::Database& db) {
    require_run(db, path(), run);
    SQLite::Transaction one_view(db);  // so that a writer in between cannot tear the picture
    return select_cases(db, run, with_samples);
  });
}

std::set<std::string> Store::finished_cases(std::int64_t run) const {
  return connection_->with([&](SQLite::Database& db) {
    require_run(db, path(), run);
    std::set<std::string> keys;
    SQLite::Statement select(db, "SELECT key FROM run_case WHERE run_id = ?");
    select.bind(1, run);
    while (select.executeStep()) keys.insert(select.getColumn(0).getString());
    return keys;
  });
}

std::optional<std::int64_t> Store::unfinished_run(const nlohmann::json& settings,
                                                  const profiler::Facts& machine) const {
  return connection_->with([&](SQLite::Database& db) -> std::optional<std::int64_t> {
    SQLite::Statement select(db, kUnfinishedRun);
    Binder(select).json(settings).text(profiler::key(machine));
    if (!select.executeStep()) return std::nullopt;
    return select.getColumn(0).getInt64();
  });
}

}  // namespace wide::results
