// What people and CI do with stored runs: pin, name, tag, note, delete; and the traces of a case.
#include <sqlite3.h>

#include "results/case_store.h"
#include "results/json_fields.h"
#include "results/run_names.h"
#include "results/run_store.h"
#include "results/store_connection.h"
#include "results/table.h"

namespace wide::results {
namespace {

/// Runs one statement that changes something; how many rows it changed.
template <typename... Values>
int execute(SQLite::Database& db, const char* sql, const Values&... values) {
  SQLite::Statement statement(db, sql);
  Binder binder(statement);
  const auto bind = [&](const auto& value) {
    if constexpr (std::is_integral_v<std::decay_t<decltype(value)>>) {
      binder.integer(value);
    } else {
      binder.text(value);
    }
  };
  (bind(values), ...);
  return statement.exec();
}

/// Names are typed on command lines and printed: one short line without blanks at its ends.
void check_name(const std::string& what, const std::string& name) {
  constexpr std::size_t kLongest = 100;
  const std::string shown = printable(name, kLongest + 1);
  if (name.empty() || shown != name || name.size() > kLongest || name.front() == ' ' || name.back() == ' ') {
    throw Error("runs", "\"" + shown + "\" cannot name a " + what +
                            "; give up to 100 printable characters, no blanks at the ends");
  }
}

std::vector<std::string> texts(SQLite::Database& db, const char* sql, std::int64_t run) {
  SQLite::Statement select(db, sql);
  select.bind(1, run);
  std::vector<std::string> result;
  while (select.executeStep()) result.push_back(select.getColumn(0).getString());
  return result;
}

void refuse_if_kept(SQLite::Database& db, const std::filesystem::path& path, std::int64_t run) {
  SQLite::Statement select(db,
                           "SELECT id, name FROM run LEFT JOIN baseline_run ON run_id = id "
                           "WHERE (id = ?1 OR parent_id = ?1) AND (pinned = 1 OR name IS NOT NULL) ORDER BY "
                           "name IS NULL, id, name");
  select.bind(1, run);
  if (!select.executeStep()) return;
  const auto kept = select.getColumn(0).getInt64();
  const auto again = kept == run ? "" : ", which measured run " + std::to_string(run) + " again,";
  std::string names;
  std::size_t count = 0;
  do {
    if (select.getColumn(0).getInt64() != kept || select.isColumnNull(1)) break;
    names += (names.empty() ? "'" : ", '") + printable(select.getColumn(1).getString()) + "'";
  } while (++count, select.executeStep());
  const auto why = count == 0   ? std::string(" is pinned; unpin it first")
                   : count == 1 ? " stands in the baseline " + names + "; unpin that first"
                                : " stands in the baselines " + names + "; unpin those first";
  throw Error("runs", path.string() + ": run " + std::to_string(kept) + again + why);
}

/// A run that computed wrong numbers, itself or when alerts of it were measured again, is nothing to hold
/// others against.
void refuse_wrong_numbers(SQLite::Database& db, const std::filesystem::path& path, std::int64_t run) {
  SQLite::Statement select(
      db,
      "SELECT run_id, key FROM run_case WHERE verdict = 'fail' AND (run_id = ?1 OR run_id IN "
      "(SELECT id FROM run WHERE parent_id = ?1)) LIMIT 1");
  select.bind(1, run);
  if (!select.executeStep()) return;
  throw Error("runs", path.string() + ": run " + std::to_string(select.getColumn(0).getInt64()) +
                          " computed wrong numbers in '" + printable(select.getColumn(1).getString(), 150) +
                          "': no baseline is made of it; name other runs");
}

/// Whoever typed it would be given the baseline, and never learn of the run.
void refuse_uid(SQLite::Database& db, const std::string& baseline) {
  SQLite::Statement select(db, "SELECT id, uid FROM run");
  while (select.executeStep()) {
    if (!is_start_of_uid(baseline, select.getColumn(1).getString())) continue;
    throw Error("usage", "a baseline cannot be called \"" + printable(baseline) + "\": the uid of run " +
                             std::to_string(select.getColumn(0).getInt64()) +
                             " starts so; choose a plain name such as main");
  }
}

void refuse_nothing_passed(SQLite::Database& db, const std::filesystem::path& path,
                           const std::string& baseline) {
  SQLite::Statement select(
      db,
      "SELECT 1 FROM baseline_run JOIN run_case USING (run_id) WHERE name = ? AND verdict = 'pass' LIMIT 1");
  Binder(select).text(baseline);
  if (!select.executeStep())
    throw Error("runs",
                path.string() + ": no case of the runs passed: no baseline is made of them; name other runs");
}

std::int64_t case_row(SQLite::Database& db, const std::filesystem::path& path, std::int64_t run,
                      const std::string& key) {
  require_run(db, path, run);
  SQLite::Statement select(db, "SELECT id FROM run_case WHERE run_id = ? AND key = ?");
  Binder(select).integer(run).text(key);
  if (select.executeStep()) return select.getColumn(0).getInt64();
  throw Error("store",
              path.string() + ": run " + std::to_string(run) + " has no case '" + printable(key) + "'");
}

}  // namespace

void Store::set_baseline(const std::string& name, const std::vector<std::int64_t>& runs) {
  check_name("baseline", name);
  check_baseline_name(name);
  if (runs.empty()) throw Error("runs", "a baseline needs at least one run");
  connection_->change([&](SQLite::Database& db) {
    refuse_uid(db, name);
    execute(db, "DELETE FROM baseline WHERE name = ?", name);
    Checksum sum;
    SQLite::Statement insert(db, "INSERT INTO baseline (name, created, sum) VALUES (?, ?, ?)");
    Binder(insert).into(sum).text(name).text(utc_now()).integer(sum.value());
    insert.exec();
    for (const std::int64_t run : runs) {
      require_run(db, path(), run);
      refuse_wrong_numbers(db, path(), run);
      execute(db, "INSERT OR IGNORE INTO baseline_run VALUES (?, ?)", name, run);
    }
    refuse_nothing_passed(db, path(), name);
    return true;
  });
}

bool Store::remove_baseline(const std::string& name) {
  return connection_->change(
      [&](SQLite::Database& db) { return execute(db, "DELETE FROM baseline WHERE name = ?", name) > 0; });
}

std::vector<Baseline> Store::baselines() const {
  return connection_->with([](SQLite::Database& db) {
    std::vector<Baseline> result;
    ManyRows select(db,
                    "SELECT sum, name, created, run_id FROM baseline JOIN baseline_run USING (name) "
                    "ORDER BY name, run_id");
    while (select.step()) {
      Columns row(select);
      Checksum read;
      const auto sum = row.optional_integer();
      row.into(&read);
      Baseline next;
      next.name = row.text();
      next.created = row.text();
      row.into(nullptr);
      require_sum(sum, read, "a baseline");
      if (result.empty() || result.back().name != next.name) result.push_back(std::move(next));
      result.back().runs.push_back(row.integer());
    }
    return result;
  });
}

void Store::set_pinned(std::int64_t run, bool pinned) {
  connection_->change([&](SQLite::Database& db) {
    require_run(db, path(), run);
    return execute(db, "UPDATE run SET pinned = ? WHERE id = ?", pinned ? 1 : 0, run);
  });
}

void Store::add_tag(std::int64_t run, const std::string& tag) {
  check_name("tag", tag);
  connection_->change([&](SQLite::Database& db) {
    require_run(db, path(), run);
    insert_tag(db, run, tag);
    return true;
  });
}

bool Store::remove_tag(std::int64_t run, const std::string& tag) {
  return connection_->change([&](SQLite::Database& db) {
    require_run(db, path(), run);
    return execute(db, "DELETE FROM tag WHERE run_id = ? AND tag = ?", run, tag) > 0;
  });
}

void Store::add_note(std::int64_t run, const std::string& text) {
  if (text.empty()) throw Error("runs", "the note is empty; write down what is to be remembered");
  connection_->change([&](SQLite::Database& db) {
    require_run(db, path(), run);
    insert_note(db, run, {utc_now(), text});
    return true;
  });
}

void Store::delete_runs(std::span<const std::int64_t> runs) {
  connection_->change([&](SQLite::Database& db) {
    for (const auto run : runs) {
      require_run(db, path(), run);
      refuse_if_kept(db, path(), run);
    }
    for (const auto run : runs) execute(db, "DELETE FROM run WHERE id = ?", run);
    return true;
  });
}

std::vector<std::int64_t> Store::prune(std::size_t keep, const std::function<bool(std::int64_t)>& is_held) {
  return connection_->change([&](SQLite::Database& db) {
    // A run that is still going on, in this process or another, or that can be resumed, is never taken away.
    SQLite::Statement select(
        db,
        "SELECT id FROM run WHERE parent_id IS NULL AND pinned = 0 "
        "AND (status = 'done' OR origin = 'imported') "
        "AND NOT EXISTS (SELECT 1 FROM baseline_run b WHERE b.run_id = run.id) "
        "AND NOT EXISTS (SELECT 1 FROM run child LEFT JOIN baseline_run b ON b.run_id = child.id "
        "  WHERE child.parent_id = run.id AND (child.pinned = 1 OR b.run_id IS NOT NULL)) "
        "ORDER BY id DESC LIMIT -1 OFFSET ?");
    select.bind(1, static_cast<std::int64_t>(keep));
    std::vector<std::int64_t> gone;
    while (select.executeStep()) {
      const auto run = select.getColumn(0).getInt64();
      if (!is_held || !is_held(run)) gone.push_back(run);
    }
    for (const std::int64_t run : gone) execute(db, "DELETE FROM run WHERE id = ?", run);
    return gone;
  });
}

std::vector<TrendPoint> Store::trend(const std::string& subject) const {
  return connection_->with([&](SQLite::Database& db) {
    SQLite::Transaction one_view(db);
    return select_subject(db, subject, select_rows(db));
  });
}

ProcessSpread Store::process_spread(const CaseRecord& record, const std::string& machine_key,
                                    int threads) const {
  constexpr int kFewest = 3, kNewest = 11;  // processes
  constexpr double kPriorWeight = 3;        // processes that the assumed spread stands for
  std::vector<double> logs;
  if (record.speedup_best_rival.value > 0) logs.push_back(std::log(record.speedup_best_rival.value));
  connection_->with([&](SQLite::Database& db) {
    SQLite::Statement select(
        db,
        "SELECT best_speedup FROM run_case JOIN run ON run.id = run_id "
        "JOIN machine ON machine.id = machine_id WHERE run_case.key = ? AND machine.key = ? "
        "AND model_hash = ? AND threads = ? AND origin = 'measured' AND verdict = 'pass' "
        "AND best_speedup > 0 ORDER BY run.id DESC LIMIT ?");
    Binder(select)
        .text(record.key)
        .text(machine_key)
        .text(record.model_hash)
        .integer(threads)
        .integer(kNewest);
    while (select.executeStep()) logs.push_back(std::log(select.getColumn(0).getDouble()));
    return true;
  });
  if (logs.size() < kFewest) return {};
  double sum = 0, squares = 0;
  for (const double value : logs) sum += value;
  const double count = static_cast<double>(logs.size());
  for (const double value : logs) squares += (value - sum / count) * (value - sum / count);
  const double assumed = kPriorWeight * profiler::kAssumedSpread * profiler::kAssumedSpread;
  return {std::sqrt((assumed + squares) / (kPriorWeight + count - 1)), static_cast<int>(logs.size())};
}

void Store::add_trace(std::int64_t run, const std::string& key, const std::string& name,
                      std::string_view bytes) {
  check_name("trace", name);
  connection_->change([&](SQLite::Database& db) {
    const auto id = case_row(db, path(), run, key);
    SQLite::Statement insert(db,
                             "INSERT INTO trace (case_id, name, size, bytes, sum) VALUES (?, ?, ?, ?, ?) "
                             "ON CONFLICT (case_id, name) DO UPDATE SET size = excluded.size, "
                             "bytes = excluded.bytes, sum = excluded.sum");
    Checksum sum;
    Binder binder(insert);
    binder.integer(id).text(name).integer(std::ssize(bytes)).into(sum).blob(bytes).integer(sum.value());
    return insert.exec();
  });
}

std::vector<TraceInfo> Store::traces(std::int64_t run, const std::string& key) const {
  return connection_->with([&](SQLite::Database& db) {
    ManyRows select(db, "SELECT name, size FROM trace WHERE case_id = ? ORDER BY name");
    select.bind(1, case_row(db, path(), run, key));
    std::vector<TraceInfo> result;
    while (select.step()) {
      Columns row(select);
      result.push_back({row.text(), row.integer()});
    }
    return result;
  });
}

std::vector<std::string> Store::traced_cases(std::int64_t run) const {
  return connection_->with([&](SQLite::Database& db) {
    require_run(db, path(), run);
    return texts(db,
                 "SELECT key FROM run_case WHERE run_id = ? AND EXISTS "
                 "(SELECT 1 FROM trace WHERE case_id = run_case.id) ORDER BY id",
                 run);
  });
}

std::string Store::read_trace(std::int64_t run, const std::string& key, const std::string& name) const {
  return connection_->with([&](SQLite::Database& db) {
    ManyRows select(db, "SELECT sum, bytes FROM trace WHERE case_id = ? AND name = ?");
    select.bind(1, case_row(db, path(), run, key));
    select.bind(2, name);
    if (select.step()) {
      Columns row(select);
      Checksum read;
      const auto sum = row.optional_integer();
      std::string bytes = row.into(&read).text();
      require_sum(sum, read, "a trace");
      return bytes;
    }
    throw Error("store", path().string() + ": the case '" + printable(key) + "' of run " +
                             std::to_string(run) + " has no trace '" + printable(name) + "'");
  });
}

}  // namespace wide::results
