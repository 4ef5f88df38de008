#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "results/database.h"

namespace wide::results {
namespace {

namespace fs = std::filesystem;

/// On the disk, before another name or the loss of power can matter.
void flush(const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC);
  const bool done = file >= 0 && ::fsync(file) == 0;
  const int code = errno;
  if (file >= 0) ::close(file);
  if (!done) throw fs::filesystem_error("fsync", path, std::error_code(code, std::generic_category()));
}

/// A copy that failed, and the journal of it, which SQLite leaves when it cannot even cut it off.
void remove_copy(const fs::path& temporary) {
  std::error_code none;
  for (const char* end : {"", "-journal", "-wal", "-shm"}) fs::remove(temporary.string() + end, none);
}

}  // namespace

void flush_names(const fs::path& path) {
  flush(fs::absolute(path).parent_path(), O_RDONLY | O_DIRECTORY);
}

void copy_database(SQLite::Database& db, const fs::path& target) {
  // A name of its own: another process may copy the same database at the same time.
  const fs::path temporary = target.string() + "." + std::to_string(::getpid()) + ".tmp";
  remove_copy(temporary);
  try {
    SQLite::Statement copy(db, "VACUUM INTO ?");
    copy.bind(1, temporary.string());
    copy.exec();
    std::error_code none;
    fs::permissions(temporary, fs::status(db.getFilename()).permissions(), none);
    flush(temporary, O_RDONLY);
    fs::rename(temporary, target);
    flush_names(target);
  } catch (const fs::filesystem_error& error) {
    remove_copy(temporary);
    throw Error("store", target.string() + ": the backup cannot be put in its place (" +
                             error.code().message() + "); check the folder's permissions");
  } catch (...) {
    remove_copy(temporary);
    throw;
  }
}

}  // namespace wide::results
