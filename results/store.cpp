#include "results/store.h"

#include <cstdlib>

#include "results/case_store.h"
#include "results/escape.h"
#include "results/run_store.h"
#include "results/store_connection.h"
#include "results/table.h"

namespace wide::results {
namespace {

constexpr char kUnfinishedRun[] = R"(
  SELECT run.id FROM run JOIN settings ON settings.id = settings_id JOIN machine ON machine.id = machine_id
  WHERE settings.json = ? AND machine.key = ? AND origin = 'measured' AND status <> 'done' AND parent_id IS NULL
  ORDER BY run.id DESC LIMIT 1)";

void refuse_objections(const CaseRecord& record) {
  const std::string why = objection(record);
  if (!why.empty())
    throw Error("store", "case '" + printable(record.key) + "' is not stored: " + printable(why, 300));
}

}  // namespace

void require_run(SQLite::Database& db, const std::filesystem::path& path, std::int64_t id) {
  SQLite::Statement select(db, "SELECT 1 FROM run WHERE id = ?");
  select.bind(1, id);
  if (select.executeStep()) return;
  throw Error("store", path.string() + ": there is no run " + std::to_string(id) +
                           "; see `widebench runs list" + database_flag(path) + "`");
}

std::string database_flag(const std::filesystem::path& path) {
  try {
    if (path == default_path()) return "";
  } catch (const Error&) {  // there is none: each command names it
  }
  return " --db " + printable(shell_word(path.string()), 4096);
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
  return Store(std::make_unique<Connection>(path, mode, max_bytes));
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
    SQLite::Transaction one_view(db);
    return select_summaries(db);
  });
}

RunRecord Store::run(std::int64_t id) const {
  return connection_->with([&](SQLite::Database& db) {
    require_run(db, path(), id);
    SQLite::Transaction one_view(db);
    return select_run(db, id);
  });
}

std::vector<CaseRecord> Store::cases(std::int64_t run, bool with_samples) const {
  return connection_->cases(run, with_samples ? CaseParts::kAll : CaseParts::kNoSamples);
}

std::vector<CaseRecord> Store::compared_cases(std::int64_t run) const {
  return connection_->cases(run, CaseParts::kCompared);
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
