#include "results/hostile.h"

#include <sqlite3.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <system_error>
#include <utility>

#include "results/database.h"
#include "results/table.h"

namespace wide::results {
namespace {

/// Type and name of an object, to its table and the SQL that made it.
using Objects = std::map<std::pair<std::string, std::string>, std::string>;

/// Without comments and blanks, which mean nothing to SQLite; text in quotes stays.
std::string bare(std::string_view sql) {
  std::string result;
  char quote = 0;
  for (std::size_t at = 0; at < sql.size(); ++at) {
    const char c = sql[at];
    if (quote == 0 && sql.substr(at).starts_with("--")) {
      at = std::min(sql.find('\n', at), sql.size());
    } else if (quote == 0 && sql.substr(at).starts_with("/*")) {
      at = std::min(sql.find("*/", at + 2), sql.size() - 2) + 1;
    } else if (quote != 0 || !std::isspace(static_cast<unsigned char>(c))) {
      result += c;
      if (quote == c) {
        quote = 0;
      } else if (quote == 0 && (c == '\'' || c == '"' || c == '`')) {
        quote = c;
      }
    }
  }
  return result;
}

Objects objects_of(SQLite::Database& db) {
  Objects objects;
  SQLite::Statement select(db, "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema");
  while (select.executeStep()) {
    objects[{select.getColumn(0).getString(), select.getColumn(1).getString()}] =
        select.getColumn(2).getString() + ":" + bare(select.getColumn(3).getString());
  }
  return objects;
}

std::string object_name(const Objects::value_type& object) {
  return "the " + printable(object.first.first, 20) + " '" + printable(object.first.second, 100) + "'";
}

int is_over(void* end) {
  return std::chrono::steady_clock::now() > *static_cast<std::chrono::steady_clock::time_point*>(end);
}

}  // namespace

void make_safe(SQLite::Database& db) {
  const auto set = [&](int option, int value) { sqlite3_db_config(db.getHandle(), option, value, nullptr); };
  set(SQLITE_DBCONFIG_DEFENSIVE, 1);
  set(SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0);
  set(SQLITE_DBCONFIG_ENABLE_TRIGGER, 0);
  set(SQLITE_DBCONFIG_ENABLE_VIEW, 0);
  db.exec("PRAGMA foreign_keys = ON");
  db.exec("PRAGMA cell_size_check = ON");
  db.exec("PRAGMA synchronous = FULL");
}

std::string foreign_object(SQLite::Database& db, int version, std::span<const Migration> known) {
  SQLite::Database model(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
  for (const Migration& migration : known)
    if (migration.version <= version) model.exec(std::string(migration.sql));
  const Objects expected = objects_of(model), found = objects_of(db);
  for (const auto& object : found) {
    const auto ours = expected.find(object.first);
    if (ours == expected.end()) return object_name(object) + " is not of this program";
    if (ours->second != object.second) return object_name(object) + " is not as this program makes it";
  }
  for (const auto& object : expected)
    if (!found.contains(object.first)) return object_name(object) + " is missing";
  return "";
}

TimeLimit::TimeLimit(SQLite::Database& db, std::chrono::duration<double> limit)
    : db_(db.getHandle()),
      end_(std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(limit)) {
  constexpr int kSteps = 100'000;  // of SQLite's machine between two looks at the clock: about a millisecond
  sqlite3_progress_handler(db_, kSteps, is_over, &end_);
}

TimeLimit::~TimeLimit() {
  sqlite3_progress_handler(db_, 0, nullptr, nullptr);
}

std::chrono::duration<double> time_allowed(const std::filesystem::path& path) {
  std::error_code none;
  const auto bytes = std::filesystem::file_size(path, none);
  return std::chrono::duration<double>(60 + (none ? 0 : static_cast<double>(bytes) / (1 << 20)));
}

}  // namespace wide::results
