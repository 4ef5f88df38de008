#pragma once
// The open database behind a Store, and what its files share. Only results/ includes this.

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>

#include "results/database.h"
#include "results/store.h"

namespace wide::results {

struct Store::Connection {
  std::filesystem::path path;
  SQLite::Database db;

  /// Runs `work(db)` with faults turned into wide::Error.
  template <typename Work>
  auto with(Work&& work) {
    return guarded(path, [&] { return work(db); });
  }

  /// The same as one transaction; `work` returns a value.
  template <typename Work>
  auto change(Work&& work) {
    return guarded(path, [&] {
      SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
      auto result = work(db);
      transaction.commit();
      return result;
    });
  }
};

/// Throws wide::Error when there is no run `id`.
void require_run(SQLite::Database& db, const std::filesystem::path& path, std::int64_t id);

}  // namespace wide::results
