#pragma once
// Opening the SQLite file: safety settings, schema version, migration. Only results/ includes this.

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "formats/error.h"
#include "formats/fault.h"
#include "results/database_fault.h"
#include "results/store.h"

namespace wide::results {

/// One numbered .sql file of results/migrations: takes schema `version - 1` to `version`.
struct Migration {
  int version = 0;
  std::string_view sql;
};

/// All of them in order, from 1. The last one's version is the current schema.
std::span<const Migration> migrations();

/// Opens and checks the file, and migrates it in one transaction after a backup "FILE.schema-V.bak".
/// `max_bytes` > 0 keeps the file from growing beyond. Throws wide::Error.
SQLite::Database open_database(const std::filesystem::path& path, OpenMode mode, std::int64_t max_bytes = 0,
                               std::span<const Migration> known = migrations());

/// What lies at a path, without touching it.
enum class Condition : std::uint8_t {
  kAbsent,   ///< nothing, or an empty file
  kWhole,    ///< a database of ours with a sound structure; older schemas count
  kDamaged,  ///< no SQLite file, one with a broken structure, or one of ours with a schema that was changed
  kNewer,    ///< its schema is newer than ours
  kForeign   ///< a sound SQLite file of another program
};
/// Throws wide::Error when the file cannot be read.
Condition condition_of(const std::filesystem::path& path);

/// Brings the names in the folder of `path` to disk. Throws std::filesystem::filesystem_error.
void flush_names(const std::filesystem::path& path);

/// A copy of the database as it stands at `target`: complete or not there at all, and only then in place of
/// an older one.
void copy_database(SQLite::Database& db, const std::filesystem::path& target);

inline constexpr const char* kUnreadableJson = ": a JSON field of the database cannot be read (";

/// Runs `work`; a fault of SQLite or of JSON in a row becomes wide::Error{"store", explain(…)}.
template <typename Work>
auto guarded(const std::filesystem::path& path, Work&& work) {
  try {
    return work();
  } catch (const SQLite::Exception& error) {
    throw Error("store", explain(path, error));
  } catch (const nlohmann::json::exception& error) {
    throw Error("store", path.string() + kUnreadableJson + error.what() + ")");
  } catch (const formats::Fault& fault) {
    throw Error("store", path.string() + kUnreadableJson + fault.what() + ")");
  } catch (const Error& error) {
    if (error.stage() != "import") throw;
    throw Error("store", path.string() + kUnreadableJson + error.what() + ")");
  }
}

}  // namespace wide::results
