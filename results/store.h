#pragma once
// The database of runs: SQLite, one file, safe against kill -9, full disks and several writers. See
// README.md.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "results/record.h"

namespace wide::results {

enum class OpenMode : std::uint8_t { kReadWrite, kReadOnly };

/// A run in one line.
struct RunSummary {
  std::int64_t id = 0;
  std::string uid, started, preset, label, device, machine_key, origin;
  RunStatus status = RunStatus::kRunning;
  std::int64_t cases = 0;
  std::int64_t passed = 0;
};

/// $XDG_DATA_HOME/widebench/results.db, or ~/.local/share/widebench/results.db. Throws wide::Error without a
/// home.
std::filesystem::path default_path();

/// An open database. Every member throws wide::Error{"store", …} naming the file. Not for several threads at
/// once; several processes may share one file.
class Store {
 public:
  /// kReadWrite creates file and folders, migrates an older schema after a backup beside it, and proves that
  /// it can write. kReadOnly changes nothing and works on read-only folders. A newer schema is refused
  /// untouched. `max_bytes` > 0: the file does not grow beyond; what no longer fits is refused as on a full
  /// disk.
  static Store open(const std::filesystem::path& path, OpenMode mode, std::int64_t max_bytes = 0);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  const std::filesystem::path& path() const;

  /// Stores the run (its `id` is ignored) and returns its id.
  std::int64_t begin_run(const RunRecord& run);
  /// Stores the case, all or nothing; on disk when it returns. Throws when the key is already stored in this
  /// run, or when there is an objection() to the record.
  void add_case(std::int64_t run, const CaseRecord& record);
  /// Sets how the run stands; kRunning when it is resumed.
  void finish_run(std::int64_t run, RunStatus status);
  /// Stores a whole run of another machine or database as origin "imported"; throws when its uid is already
  /// here.
  std::int64_t import_run(RunRecord run, const std::vector<CaseRecord>& cases);

  /// Newest last.
  std::vector<RunSummary> runs() const;
  /// Throws when there is no such run.
  RunRecord run(std::int64_t id) const;
  /// In the order they were stored.
  std::vector<CaseRecord> cases(std::int64_t run, bool with_samples = true) const;
  /// Keys of all stored cases of the run, whatever their verdict.
  std::set<std::string> finished_cases(std::int64_t run) const;
  /// The newest measured run that is not done and has these settings on this machine.
  std::optional<std::int64_t> unfinished_run(const nlohmann::json& settings,
                                             const profiler::Facts& machine) const;

 private:
  struct Connection;
  explicit Store(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace wide::results
