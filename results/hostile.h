#pragma once
// What keeps a database of strangers from doing more than being read. Only results/ includes this.

#include <SQLiteCpp/SQLiteCpp.h>

#include <chrono>
#include <filesystem>
#include <span>
#include <string>

struct sqlite3;

namespace wide::results {

struct Migration;

/// Settings of every connection: no triggers, views or functions of the file's own take effect.
void make_safe(SQLite::Database& db);

/// What the file has beside the tables and indexes of schema `version`, has otherwise, or lacks: "the trigger
/// 'x' is not of this program". Empty: nothing. To be asked before anything else is, integrity included: then
/// nothing that the file brings along is ever run.
std::string foreign_object(SQLite::Database& db, int version, std::span<const Migration> known);

/// While it lives, what SQLite does for this connection ends with SQLITE_INTERRUPT after `limit`.
class TimeLimit {
 public:
  TimeLimit(SQLite::Database& db, std::chrono::duration<double> limit);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  sqlite3* db_;
  std::chrono::steady_clock::time_point end_;
};

/// A minute, and a second for each MiB of the file: far beyond what any query of ours needs on a slow disk.
std::chrono::duration<double> time_allowed(const std::filesystem::path& path);

}  // namespace wide::results
