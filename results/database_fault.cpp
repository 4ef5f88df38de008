#include "results/database_fault.h"

#include <sqlite3.h>

#include <system_error>

#include "results/database.h"

namespace wide::results {

namespace fs = std::filesystem;

namespace {

/// FILE.bak, else the newest of FILE.schema-V.bak; empty: there is none.
std::string best_backup(const fs::path& path) {
  std::error_code none;
  if (fs::path backup = path.string() + ".bak"; fs::exists(backup, none)) return backup.string();
  for (int version = migrations().back().version; version > 0; --version) {
    const std::string backup = path.string() + ".schema-" + std::to_string(version) + ".bak";
    if (fs::exists(backup, none)) return backup;
  }
  return "";
}

}  // namespace

std::string damaged(const fs::path& path, const std::string& how) {
  std::string text = path.string() + ": the database is damaged (" + how.substr(0, how.find('\n')) + "); ";
  const std::string backup = best_backup(path);
  if (backup.empty()) return text + "move it aside, or choose another --db";
  return text + "there is a backup: `widebench runs restore " + backup + " --db " + path.string() +
         "` puts it in its place and keeps what is there";
}

bool is_on_full_disk(const fs::path& path) {
  std::error_code failed;
  const auto space = fs::space(fs::absolute(path).parent_path(), failed);
  return !failed && space.available < (64 << 10);
}

std::string explain(const fs::path& path, const SQLite::Exception& error) {
  const std::string file = path.string() + ": ";
  const int code = error.getErrorCode();
  switch (code == SQLITE_IOERR && is_on_full_disk(path) ? SQLITE_FULL : code) {
    case SQLITE_FULL:
      return file +
             "the disk is full or the database has reached its size limit; what was stored before is safe: "
             "make "
             "room, then resume with --resume";
    case SQLITE_READONLY:
      return file + "no permission to write; choose another --db";
    case SQLITE_CANTOPEN:
      return file + "cannot be opened or created here; check folder and permissions, or choose another --db";
    case SQLITE_NOTADB:
      return best_backup(path).empty() ? file + "this is no SQLite database; choose another --db"
                                       : damaged(path, "this is no SQLite database");
    case SQLITE_CORRUPT:
      return damaged(path, error.what());
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return file + "another process has kept the database locked for over 10 s; try again when it is done";
    case SQLITE_INTERRUPT:
      return file +
             "a query takes far longer than a database of this size can need; it is damaged or made to " +
             "hang: restore a backup, or choose another --db";
    case SQLITE_IOERR:
      return file + "the disk reported an error (" + error.what() + "); check it, or choose another --db";
    default:
      return file + error.what();
  }
}

}  // namespace wide::results
