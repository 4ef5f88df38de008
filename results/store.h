#pragma once
// The database of runs: SQLite, one file, safe against kill -9, full disks and several writers. See
// README.md.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/record.h"

namespace wide::results {

enum class OpenMode : std::uint8_t {
  kReadWrite,
  kReadOnly,
  kOverview,  ///< kReadOnly for runs() alone: of a large file that no one has checked only what it reads is
};

/// A run in one line.
struct RunSummary {
  std::int64_t id = 0;
  std::string uid, started, preset, label, device, machine_key, origin;
  RunStatus status = RunStatus::kRunning;
  std::int64_t cases = 0;
  std::int64_t passed = 0;
  std::vector<std::string> subjects;  ///< of the cases, each once, by name
  std::int64_t parent = 0;            ///< see RunRecord::parent
  bool pinned = false;                ///< prune and delete leave it alone
  std::vector<std::string> tags;
  std::vector<std::string> baselines;  ///< names of those it stands in
};

/// A named set of runs to compare with: one, or several of equal settings, which show how much runs differ.
struct Baseline {
  std::string name;
  std::string created;             ///< ISO 8601, UTC
  std::vector<std::int64_t> runs;  ///< ids, never empty
};

struct TraceInfo {
  std::string name;
  std::int64_t size = 0;  ///< bytes as stored
};

/// $XDG_DATA_HOME/widebench/results.db, or ~/.local/share/widebench/results.db. Throws wide::Error without a
/// home.
std::filesystem::path default_path();
/// " --db PATH" for a command that works on this database; empty for the one that needs no name.
std::string database_flag(const std::filesystem::path& path);

/// How much processes that measure one case differ.
struct ProcessSpread {
  double spread = kUnknown;  ///< standard deviation of the logarithm of the speed-up over the best rival
  int processes = 0;
};

/// One case of one run, as far as its course over time goes.
struct TrendPoint {
  std::int64_t run = 0;
  std::string started, git_commit, machine_key, key, shape, device, dtype, mode, strategy;
  std::string model_hash, rivals;  ///< rivals: names in alphabetical order, with commas between
  int threads = 0;
  std::int64_t n = 0;
  Verdict verdict = Verdict::kSkipped;
  Interval speedup;  ///< over eager
  double wide_us = kUnknown;
};

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
  /// The same with what compare() looks at and no more: no samples, checks, shapes and plans.
  std::vector<CaseRecord> compared_cases(std::int64_t run) const;
  /// Keys of all stored cases of the run, whatever their verdict.
  std::set<std::string> finished_cases(std::int64_t run) const;
  /// The newest measured run that is not done and has these settings on this machine.
  std::optional<std::int64_t> unfinished_run(const nlohmann::json& settings,
                                             const profiler::Facts& machine) const;

  /// Names `runs` (replacing what had the name); they cannot be deleted until the baseline is removed. Throws
  /// as check_baseline_name does, where a run's uid starts with `name`, when a case of one computed wrong
  /// numbers, or when no case of them passed.
  void set_baseline(const std::string& name, const std::vector<std::int64_t>& runs);
  /// False when there is none of this name.
  bool remove_baseline(const std::string& name);
  std::vector<Baseline> baselines() const;  ///< by name
  void set_pinned(std::int64_t run, bool pinned);
  void add_tag(std::int64_t run, const std::string& tag);
  bool remove_tag(std::int64_t run, const std::string& tag);
  void add_note(std::int64_t run, const std::string& text);
  /// With all that belongs to it. Throws when it is pinned or stands in a baseline.
  void delete_run(std::int64_t run) { delete_runs({&run, 1}); }
  /// All of them or none.
  void delete_runs(std::span<const std::int64_t> runs);
  /// Deletes all but the newest `keep` runs, and those for which `is_held` says so; pinned, named and
  /// unfinished ones stay and do not count. Gives the ids that are gone, without those of runs that measured
  /// one of them again.
  std::vector<std::int64_t> prune(std::size_t keep, const std::function<bool(std::int64_t)>& is_held = {});

  /// Keeps `bytes` with a stored case, in place of what had the name.
  void add_trace(std::int64_t run, const std::string& key, const std::string& name, std::string_view bytes);
  std::vector<TraceInfo> traces(std::int64_t run, const std::string& key) const;  ///< by name
  std::vector<std::string> traced_cases(std::int64_t run) const;  ///< keys of the cases that have traces
  std::string read_trace(std::int64_t run, const std::string& key, const std::string& name) const;

  /// All cases of `subject` in runs measured here, oldest first; measurements of alerts are left out.
  std::vector<TrendPoint> trend(const std::string& subject) const;
  /// What the newest measurements of the case on that machine show, `record` among them, drawn towards
  /// profiler::kAssumedSpread; nothing is known of fewer than three.
  ProcessSpread process_spread(const CaseRecord& record, const std::string& machine_key, int threads) const;

  /// Copies the whole database to FILE.bak, complete or not at all. Where there is one already, every row of
  /// the copy is read first, and its sum checked: a damaged database does not take the place of a good
  /// backup.
  void back_up() const;

 private:
  struct Connection;
  explicit Store(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace wide::results
