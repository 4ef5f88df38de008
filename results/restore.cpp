#include "results/restore.h"

#include <sqlite3.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <system_error>

#include "results/counted.h"
#include "results/database.h"
#include "results/store.h"
#include "results/store_connection.h"

// Note [Restoring]
// A log (-wal) that stays beside another database than its own would be played into it, so it moves together
// with its database, and before the backup takes the place. The copy is complete and on disk under a name of
// its own until then: all that is left to do are renames, and a kill between them loses nothing, since each
// file lies under one of its two names.

namespace wide::results {
namespace {

namespace fs = std::filesystem;

/// Cases by uid of their run.
using Contents = std::map<std::string, std::int64_t>;

Contents contents_of(const Store& store) {
  Contents contents;
  for (const auto& run : store.runs()) contents[run.uid] = run.cases;
  return contents;
}

/// Reads all there is, since the sum of a row is checked when it is read.
Restored read_whole(const Store& store) {
  Restored result;
  for (const auto& run : store.runs()) {
    store.run(run.id);
    for (const auto& record : store.cases(run.id)) {
      for (const auto& trace : store.traces(run.id, record.key)) {
        store.read_trace(run.id, record.key, trace.name);
      }
      ++result.cases;
    }
    ++result.runs;
    result.newest = std::max(result.newest, run.started);
  }
  return result;
}

/// Why a whole database should not give way to the backup; empty: it holds nothing more.
std::string more_than(const Contents& backup, const fs::path& target) {
  std::int64_t runs = 0, cases = 0;
  for (const auto& [uid, count] : contents_of(Store::open(target, OpenMode::kReadOnly))) {
    const auto found = backup.find(uid);
    const auto known = found == backup.end() ? 0 : found->second;
    runs += found == backup.end();
    cases += std::max<std::int64_t>(0, count - known);
  }
  if (runs == 0 && cases == 0) return "";
  return "it is whole and holds " + counted(runs, "run") + " and " + counted(cases, "case") +
         " that the backup has not";
}

bool has_damaged_rows(const fs::path& target) {
  const auto store = Store::open(target, OpenMode::kReadOnly);
  try {
    read_whole(store);
    return false;
  } catch (const Error&) {
    return true;
  }
}

std::string objection_of(Condition condition, const Contents& backup, const fs::path& target) {
  switch (condition) {
    case Condition::kAbsent:
    case Condition::kDamaged:
      return "";
    case Condition::kNewer:
      return "its schema is newer than ours";
    case Condition::kForeign:
      return "it is the SQLite file of another program";
    case Condition::kWhole:
      return has_damaged_rows(target) ? "" : more_than(backup, target);
  }
  return "";
}

/// Throws when another process has the database open. What is too damaged for SQLite to say is used by none.
void refuse_if_used(const fs::path& target) {
  try {
    SQLite::Database db(fs::absolute(target).string(), SQLite::OPEN_READWRITE, 2'000);
    sqlite3_db_config(db.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    db.exec("PRAGMA locking_mode = EXCLUSIVE");
    db.exec("BEGIN EXCLUSIVE");
    db.exec("ROLLBACK");
  } catch (const SQLite::Exception& error) {
    if (error.getErrorCode() == SQLITE_BUSY || error.getErrorCode() == SQLITE_LOCKED) {
      throw Error("store",
                  target.string() +
                      ": another process uses the database; it is left as it is: end that process first");
    }
  }
}

fs::path beside(const fs::path& file, const std::string& end) {
  return file.string() + end;
}

/// The first TARGET.replaced-K that nothing has, nor a log of that name.
fs::path free_name(const fs::path& target) {
  for (int number = 1;; ++number) {
    const fs::path name = beside(target, ".replaced-" + std::to_string(number));
    std::error_code none;
    if (!fs::exists(fs::symlink_status(name, none)) && !fs::exists(beside(name, "-wal"), none)) return name;
  }
}

/// Moves the database, its log and its rollback journal; what cannot all be moved moves back.
void move_aside(const fs::path& from, const fs::path& to) {
  static constexpr const char* kEnds[] = {"-wal", "-journal", ""};
  std::size_t done = 0;
  std::error_code none;
  try {
    for (; done < std::size(kEnds); ++done) {
      if (fs::exists(beside(from, kEnds[done]), none))
        fs::rename(beside(from, kEnds[done]), beside(to, kEnds[done]));
    }
  } catch (const fs::filesystem_error&) {
    while (done-- > 0) fs::rename(beside(to, kEnds[done]), beside(from, kEnds[done]), none);
    throw;
  }
  fs::remove(beside(from, "-shm"), none);  // SQLite makes it from the log
}

/// Renames only; see Note [Restoring].
fs::path exchange(const fs::path& copy, const fs::path& target) {
  std::error_code none;
  fs::path kept;
  if (fs::exists(target, none) || fs::exists(beside(target, "-wal"), none)) {
    kept = free_name(target);
    move_aside(target, kept);
  }
  try {
    fs::rename(copy, target);
  } catch (const fs::filesystem_error&) {
    if (!kept.empty()) move_aside(kept, target);
    throw;
  }
  return kept;
}

}  // namespace

void Store::back_up() const {
  const fs::path backup = beside(path(), ".bak"),
                 copy = beside(backup, "." + std::to_string(::getpid()) + ".new");
  std::error_code none;
  try {
    connection_->with([&](SQLite::Database& db) { copy_database(db, copy); });
    if (fs::exists(backup, none)) read_whole(Store::open(copy, OpenMode::kReadOnly));
    fs::rename(copy, backup);
    flush_names(backup);
  } catch (const fs::filesystem_error& error) {
    fs::remove(copy, none);
    throw Error("store", backup.string() + ": the backup cannot be put in its place (" +
                             error.code().message() + "); check the folder's permissions");
  } catch (const Error& error) {
    fs::remove(copy, none);
    throw Error("store", std::string(error.what()) + "; " + backup.string() + " stays as it was before");
  }
}

Restored restore(const fs::path& backup, const fs::path& given, bool force) {
  std::error_code none;
  if (given.empty()) throw Error("store", "the name of the database is empty; name a file with --db");
  if (!fs::exists(backup, none) || fs::is_directory(backup, none))
    throw Error("store", backup.string() + ": there is no such backup");
  // A link stays one: what it points to is replaced.
  const fs::path target = fs::is_symlink(given, none) ? fs::weakly_canonical(given, none) : given;
  if (fs::equivalent(backup, target, none))
    throw Error("store", backup.string() + ": this is the database itself; name a backup of it");
  if (fs::is_directory(target, none))
    throw Error("store", target.string() + ": this is a folder; name a file with --db");
  const Store source = Store::open(backup, OpenMode::kReadOnly);
  Restored result = read_whole(source);
  if (!force) {
    if (const auto why = objection_of(condition_of(target), contents_of(source), target); !why.empty()) {
      throw Error("store", target.string() + ": " + why +
                               "; --force restores all the same and keeps what is there under another name");
    }
  }
  if (fs::exists(target, none)) refuse_if_used(target);
  const fs::path copy = beside(target, ".restored-" + std::to_string(::getpid()));
  guarded(target, [&] {
    SQLite::Database db(fs::absolute(backup).string(), SQLite::OPEN_READONLY);
    copy_database(db, copy);
    return true;
  });
  try {
    result.kept = exchange(copy, target);
    flush_names(target);
  } catch (const fs::filesystem_error& error) {
    fs::remove(copy, none);
    throw Error("store", target.string() + ": the backup cannot be put in its place (" +
                             error.code().message() + "); check the folder's permissions");
  }
  return result;
}

}  // namespace wide::results
