#pragma once
// The open database behind a Store, and what its files share. Only results/ includes this.

#include <SQLiteCpp/SQLiteCpp.h>
#include <sqlite3.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "formats/error.h"
#include "results/case_store.h"
#include "results/checked_files.h"
#include "results/database.h"
#include "results/hostile.h"
#include "results/store.h"

namespace wide::results {

/// Throws wide::Error when there is no run `id`.
void require_run(SQLite::Database& db, const std::filesystem::path& path, std::int64_t id);

struct Store::Connection {
  std::filesystem::path path;
  std::optional<SQLite::Database> open;  ///< until the end
  bool writes = false;

  Connection(std::filesystem::path file, OpenMode mode, std::int64_t max_bytes)
      : path(std::move(file)),
        open(open_database(path, mode, max_bytes)),
        writes(mode == OpenMode::kReadWrite) {}
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  /// What was whole and written by SQLite alone is whole.
  ~Connection() {
    open.reset();
    if (writes) remember_whole(path, state_of(path));
  }

  /// Runs `work(db)` with faults turned into wide::Error.
  template <typename Work>
  auto with(Work&& work) {
    return guarded(path, [&] {
      const TimeLimit limit(*open, time_allowed(path));
      return work(*open);
    });
  }

  std::vector<CaseRecord> cases(std::int64_t run, CaseParts parts) {
    return with([&](SQLite::Database& db) {
      require_run(db, path, run);
      SQLite::Transaction one_view(db);  // so that a writer in between cannot tear the picture
      return select_cases(db, run, parts);
    });
  }

  // What is written into a file that has lost its name, or beside another one of this name, is lost.
  void refuse_if_gone() {
    int moved = 0;
    if (sqlite3_file_control(open->getHandle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) != SQLITE_OK ||
        moved == 0)
      return;
    throw Error("store", path.string() +
                             ": was moved, replaced or deleted while it was open; what was measured since is "
                             "not in the file of this "
                             "name: put the old one back, or choose another --db");
  }

  /// The same as one transaction; `work` returns a value.
  template <typename Work>
  auto change(Work&& work) {
    return guarded(path, [&] {
      refuse_if_gone();
      const TimeLimit limit(*open, time_allowed(path));
      SQLite::Transaction transaction(*open, SQLite::TransactionBehavior::IMMEDIATE);
      auto result = work(*open);
      transaction.commit();
      return result;
    });
  }
};

}  // namespace wide::results
