#pragma once
// SQLite's files with faults in them: the n-th write, sync, truncation or opening fails, or all of them are
// logged, so that a loss of power can be played back at any moment. Also memory that runs out.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace wide::results::test {

/// From the n-th operation on (counted from 1), one or all operations fail as on a full or broken disk.
struct Fault {
  int at = 0;             ///< 0: none
  bool lasting = false;   ///< all that come after fail, too
  bool full_disk = true;  ///< writes say "disk full"; else all say "I/O error"
};

/// Makes this process's SQLite go through the faulty layer; once, before the first database is opened.
void install_fault_layer();
void set_fault(const Fault& fault);
/// Whether the fault was met since it was set.
bool fault_was_met();

/// One thing that was done to a file.
struct FileOperation {
  enum class Kind : std::uint8_t { kWrite, kTruncate, kSync, kDelete };
  Kind kind = Kind::kWrite;
  std::string file;         ///< name without folders
  std::int64_t offset = 0;  ///< of a write; the new size of a truncation
  std::string bytes;
};

void start_log();
const std::vector<FileOperation>& operations();
void stop_log();

/// What lies on the disk when power is lost after `count` operations. `torn`: of the last write only the
/// first half, in whole sectors, arrived. `lazy`: whatever was not synced is lost.
void play_back(const std::filesystem::path& folder, std::size_t count, bool torn, bool lazy);

/// SQLite's own allocations: the n-th from now fails (0: none). Gives whether an earlier one was met.
bool fail_allocation(int n);

}  // namespace wide::results::test
