#include "results/database.h"

#include <SQLiteCpp/Backup.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <fstream>
#include <mutex>
#include <optional>
#include <thread>

#include "results/case_store.h"
#include "results/checked_files.h"
#include "results/hostile.h"
#include "results/run_store.h"

// Note [Safe database]
// WAL with synchronous=FULL: a commit is on disk when it returns, and a kill at any moment loses nothing that
// was acknowledged. WAL needs memory shared between processes, which network file systems do not give: there,
// and wherever SQLite declines, the rollback journal. Transactions begin IMMEDIATE, since the busy time-out
// does not help a read that turns into a write. The file may come from elsewhere: triggers and views are off,
// a schema that is not ours to the letter is refused before anything else is asked (hostile.h), cells are
// checked, queries end after a time, and integrity_check and foreign_key_check run before first use: 0.27 s
// for 10,000 cases. A file of over 16 MiB that was found whole is not checked again while it is as it was, or
// was written by SQLite alone since (checked_files.h); a list of its runs checks what it reads. The checks
// see to the structure; what stands in the rows is covered by the sums that are kept with them (checksum.h).

namespace wide::results {
namespace {

namespace fs = std::filesystem;

constexpr int kBusyMs = 10'000;
constexpr std::uint32_t kApplicationId = 0x57494445;  // "WIDE", in the header of every file of ours

struct Header {
  std::uint32_t version = 0;
  std::uint32_t application = 0;
};

/// user_version and application_id straight from the file, so that a newer one is not touched even by opening
/// it.
std::optional<Header> read_header(const fs::path& path) {
  std::array<char, 100> bytes{};
  std::ifstream file(path, std::ios::binary);
  if (!file.read(bytes.data(), bytes.size())) return std::nullopt;
  const auto big_endian = [&](std::size_t at) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
    return value;
  };
  return Header{big_endian(60), big_endian(68)};
}

[[noreturn]] void refuse_newer(const fs::path& path, std::uint32_t version, int current) {
  throw Error("store", path.string() + ": its schema " + std::to_string(version) + " is newer than ours (" +
                           std::to_string(current) +
                           "); the file was left as it is: use a newer widebench or another --db");
}

[[noreturn]] void refuse_foreign(const fs::path& path) {
  throw Error("store", path.string() + ": this SQLite file is no widebench database; choose another --db");
}

void create_folders(const fs::path& folder) {
  if (folder.empty() || fs::exists(folder)) return;
  create_folders(folder.parent_path());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
    throw Error("store", "cannot create the folder " + folder.string() + ": " +
                             std::generic_category().message(errno) + "; choose another place with --db");
  }
}

bool on_network(const fs::path& path) {
  struct statfs info {};
  if (::statfs(path.c_str(), &info) != 0) return false;
  switch (static_cast<std::uint32_t>(info.f_type)) {
    case 0x6969:      // NFS
    case 0x517B:      // SMB
    case 0xFF534D42:  // CIFS
    case 0xFE534D42:  // SMB2
    case 0x01021997:  // 9P
    case 0x00C36400:  // Ceph
    case 0x5346414F:  // AFS
      return true;
    default:
      return false;
  }
}

std::int64_t pragma(SQLite::Database& db, const std::string& name) {
  return db.execAndGet("PRAGMA " + name).getInt64();
}

/// WAL where it can be, DELETE elsewhere. SQLite does not wait on its own while others change the mode.
void set_journal(SQLite::Database& db, const fs::path& path) {
  const std::string wanted = on_network(path) ? "delete" : "wal";
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kBusyMs);
  for (;;) {
    try {
      const auto mode = db.execAndGet("PRAGMA journal_mode = " + wanted).getString();
      if (mode != wanted) db.exec("PRAGMA journal_mode = delete");
      return;
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() != SQLITE_BUSY || std::chrono::steady_clock::now() > deadline) throw;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
}

/// Asks again every few milliseconds, kBusyMs long. SQLite's own time-out sleeps up to a tenth of a second
/// between two looks: where several write without a pause, one of them may then not find the file free in
/// time.
int wait_a_little(void*, int tries) {
  constexpr int kStepMs = 5;
  if (tries >= kBusyMs / kStepMs) return 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(kStepMs));
  return 1;
}

void make_patient(SQLite::Database& db) {
  sqlite3_busy_handler(db.getHandle(), wait_a_little, nullptr);
}

/// What breaks the structure, in SQLite's words; empty: nothing. Not quick_check: that leaves out the
/// indexes, and a case that only its index has lost is not found.
std::string broken_structure(SQLite::Database& db) {
  const auto verdict = db.execAndGet("PRAGMA integrity_check(1)").getString();
  if (verdict != "ok") return verdict;
  SQLite::Statement orphans(db, "PRAGMA foreign_key_check");
  if (!orphans.executeStep()) return "";
  return "a row of " + orphans.getColumn(0).getString() + " belongs to none";
}

/// The same of what Store::runs() reads; it counts the cases in a way that shows damage (run_store.cpp).
std::string broken_overview(SQLite::Database& db) {
  for (const char* table : {"run", "machine", "tag", "baseline", "baseline_run"}) {
    const auto verdict = db.execAndGet(std::string("PRAGMA integrity_check(") + table + ")").getString();
    if (verdict != "ok") return verdict;
  }
  return "";
}

void check_integrity(SQLite::Database& db, const fs::path& path, OpenMode mode) {
  static std::mutex one_at_a_time;  // two that compare need one check
  const std::lock_guard lock(one_at_a_time);
  const auto state = state_of(path);
  if (is_known_whole(state)) return;
  const bool in_part = mode == OpenMode::kOverview && !state.empty();
  const auto broken = in_part ? broken_overview(db) : broken_structure(db);
  if (!broken.empty()) throw Error("store", damaged(path, broken));
  if (!in_part) remember_whole(path, state);
}

/// A file of ours has our application_id; an empty one may become ours. To be called in a transaction:
/// another process may be making it ours.
int checked_version(SQLite::Database& db, const fs::path& path, int current) {
  const bool empty = db.execAndGet("SELECT count(*) FROM sqlite_schema").getInt() == 0;
  const auto application = static_cast<std::uint32_t>(pragma(db, "application_id"));
  const auto version = pragma(db, "user_version");
  if (application == kApplicationId) {
    if (version > current) refuse_newer(path, static_cast<std::uint32_t>(version), current);
    return static_cast<int>(version);
  }
  if (application != 0 || version != 0 || !empty) refuse_foreign(path);
  return 0;
}

/// The version, if all that is in the file is of it.
int checked_schema(SQLite::Database& db, const fs::path& path, std::span<const Migration> known) {
  const SQLite::Transaction reading(db);
  const int version = checked_version(db, path, known.back().version);
  const auto foreign = foreign_object(db, version, known);
  if (!foreign.empty()) {
    throw Error("store", path.string() + ": its schema was changed: " + foreign +
                             "; restore a backup (`widebench runs restore`), or choose another --db");
  }
  return version;
}

/// Applies what is missing in one transaction. It always writes the version, which proves that the file can
/// be written.
void apply(SQLite::Database& db, const fs::path& path, std::span<const Migration> known) {
  const int current = known.back().version;
  SQLite::Transaction transaction(db, SQLite::TransactionBehavior::IMMEDIATE);
  const int version = checked_version(db, path, current);  // another process may have been faster
  for (const Migration& migration : known) {
    if (migration.version > version) db.exec(std::string(migration.sql));
  }
  if (version > 0 && version < current) {
    fill_run_sums(db);
    fill_case_sums(db);
  }
  db.exec("PRAGMA application_id = " + std::to_string(kApplicationId));
  db.exec("PRAGMA user_version = " + std::to_string(current));
  transaction.commit();
}

void migrate(SQLite::Database& db, const fs::path& path, std::span<const Migration> known) {
  const auto version = [&] {
    const SQLite::Transaction reading(db);
    return checked_version(db, path, known.back().version);
  };
  const int before = version();
  if (before > 0 && before < known.back().version)
    copy_database(db, path.string() + ".schema-" + std::to_string(before) + ".bak");
  apply(db, path, known);
}

/// "file:" URI of a path, for the immutable flag.
std::string immutable_uri(const fs::path& path) {
  static constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char c : fs::absolute(path).string()) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '/' || c == '-' || c == '_' || c == '.') {
      uri += c;
    } else {
      uri += {'%', kHex[static_cast<unsigned char>(c) >> 4], kHex[static_cast<unsigned char>(c) & 15]};
    }
  }
  return uri + "?immutable=1";
}

/// A copy of `db` in memory, brought up to date there: reading an older file does not change it.
SQLite::Database updated_copy(SQLite::Database& db, const fs::path& path, std::span<const Migration> known) {
  SQLite::Database copy(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX);
  if (SQLite::Backup(copy, db).executeStep() != SQLITE_DONE) {
    throw Error("store", path.string() + ": another process holds the database; try again when it is done");
  }
  make_safe(copy);
  apply(copy, path, known);
  copy.exec("PRAGMA query_only = ON");
  return copy;
}

SQLite::Database open_read_only(const fs::path& path, OpenMode mode, std::span<const Migration> known) {
  const int flags = SQLite::OPEN_READONLY | SQLite::OPEN_NOMUTEX;
  const int current = known.back().version;
  const auto checked = [&](SQLite::Database db) {
    make_patient(db);
    make_safe(db);
    const TimeLimit limit(db, time_allowed(path));
    const int version = checked_schema(db, path, known);
    check_integrity(db, path, mode);
    return version == current ? std::move(db) : updated_copy(db, path, known);
  };
  try {
    return checked(SQLite::Database(fs::absolute(path).string(), flags, kBusyMs));
  } catch (const SQLite::Exception& error) {
    // A WAL file in a folder we cannot write to, or on a full disk, where what processes share has no room:
    // without pending pages it can be read as it lies.
    const int code = error.getErrorCode();
    std::error_code none;
    const auto pending = fs::file_size(path.string() + "-wal", none);
    const bool cannot_write =
        code == SQLITE_CANTOPEN || code == SQLITE_READONLY || (code == SQLITE_IOERR && is_on_full_disk(path));
    if (!cannot_write || (!none && pending > 0)) throw;
    return checked(SQLite::Database(immutable_uri(path), flags | SQLite::OPEN_URI, kBusyMs));
  }
}

SQLite::Database open_read_write(const fs::path& path, std::int64_t max_bytes, bool existed,
                                 std::span<const Migration> known) {
  create_folders(fs::absolute(path).parent_path());
  SQLite::Database db(fs::absolute(path).string(),
                      SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE | SQLite::OPEN_NOMUTEX, kBusyMs);
  if (sqlite3_db_readonly(db.getHandle(), "main") == 1) {
    throw Error("store", path.string() + ": no permission to write; choose another --db");
  }
  make_patient(db);
  make_safe(db);
  const TimeLimit limit(db, time_allowed(path));
  if (existed) {
    // A version in the WAL only: leave that where it is, too.
    sqlite3_db_config(db.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
    (void)checked_schema(db, path, known);
    check_integrity(db, path, OpenMode::kReadWrite);
    sqlite3_db_config(db.getHandle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, nullptr);
  }
  if (max_bytes > 0) {
    db.exec("PRAGMA max_page_count = " +
            std::to_string(std::max<std::int64_t>(1, max_bytes / pragma(db, "page_size"))));
  }
  set_journal(db, path);
  migrate(db, path, known);
  return db;
}

}  // namespace

Condition condition_of(const fs::path& path) {
  std::error_code none;
  if (!fs::exists(path, none) || fs::file_size(path, none) == 0) return Condition::kAbsent;
  const std::int64_t current = migrations().back().version;
  const auto header = read_header(path);
  if (header && header->application == kApplicationId && header->version > current) return Condition::kNewer;
  return guarded(path, [&] {
    try {
      SQLite::Database db(fs::absolute(path).string(), SQLite::OPEN_READONLY, kBusyMs);
      make_safe(db);
      const TimeLimit limit(db, time_allowed(path));
      const SQLite::Transaction reading(db);  // all of one moment
      const auto version = pragma(db, "user_version");
      const auto application = static_cast<std::uint32_t>(pragma(db, "application_id"));
      const bool is_ours = application == kApplicationId && version <= current;
      if (is_ours && !foreign_object(db, static_cast<int>(version), migrations()).empty())
        return Condition::kDamaged;
      if (!broken_structure(db).empty()) return Condition::kDamaged;
      if (application != kApplicationId) return Condition::kForeign;
      return version > current ? Condition::kNewer : Condition::kWhole;
    } catch (const SQLite::Exception& error) {
      if (error.getErrorCode() != SQLITE_CORRUPT && error.getErrorCode() != SQLITE_NOTADB) throw;
      return Condition::kDamaged;
    }
  });
}

SQLite::Database open_database(const fs::path& path, OpenMode mode, std::int64_t max_bytes,
                               std::span<const Migration> known) {
  // Always absolute from here on: ":memory:", "file:" and "" mean other things to SQLite than names of files.
  if (path.empty()) throw Error("store", "the name of the database is empty; name a file with --db");
  std::error_code none;
  const bool existed = fs::exists(path, none) && fs::file_size(path, none) > 0;
  if (fs::is_directory(path, none))
    throw Error("store", path.string() + ": this is a folder; name a file with --db");
  // SQLite would wait for a pipe's other end, and take a device for an empty file.
  if (fs::exists(path, none) && !fs::is_regular_file(path, none))
    throw Error("store", path.string() + ": this is a pipe or a device; name a file with --db");
  const auto header = read_header(path);
  const int current = known.back().version;
  if (header && header->application == kApplicationId &&
      header->version > static_cast<std::uint32_t>(current)) {
    refuse_newer(path, header->version, current);
  }
  if (mode != OpenMode::kReadWrite && !existed) {
    throw Error("store",
                path.string() + ": there is no database yet; run a sweep first or name another --db");
  }
  return guarded(path, [&] {
    return mode == OpenMode::kReadWrite ? open_read_write(path, max_bytes, existed, known)
                                        : open_read_only(path, mode, known);
  });
}

}  // namespace wide::results
