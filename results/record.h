#pragma once
// A run and its cases as plain values: what the store keeps, the report writes and the table shows.

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/machine.h"
#include "profiler/measure.h"
#include "profiler/statistics.h"
#include "results/case_record.h"

namespace wide::results {

/// How a run stands. kRunning in the database without a live process: it was killed, and can be resumed.
enum class RunStatus : std::uint8_t { kRunning, kDone, kInterrupted, kFailed };

/// "running", "done", "interrupted" or "failed".
std::string_view name(RunStatus status);
std::optional<RunStatus> parse_status(std::string_view text);

/// The rival of that name, owned by the record; nullptr: it has none.
const Rival* find_rival(const CaseRecord& record, const std::string& name);

/// What somebody wrote down about a run.
struct Note {
  std::string created;  ///< ISO 8601, UTC
  std::string text;

  bool operator==(const Note&) const = default;
};

/// One sweep or one benchmark command.
struct RunRecord {
  std::int64_t id = 0;  ///< row in this database; 0 outside one
  std::string uid;      ///< the run's own name, the same in every database; made by begin_run when empty
  std::string started;  ///< ISO 8601, UTC; set by begin_run when empty
  std::string command_line;
  std::string preset;
  std::string tool_version;
  std::string git_commit;   ///< empty: not known
  nlohmann::json settings;  ///< all that decides on what is measured; --resume needs it equal
  profiler::Facts machine;
  std::string device;
  int threads = 0;
  std::string label;
  std::string origin = "measured";  ///< or "imported": a claim, not our own history
  RunStatus status = RunStatus::kRunning;
  /// What was set around the run and may change its times: "OMP_NUM_THREADS" -> "2", "governor" -> …
  std::map<std::string, std::string> environment;
  int statistics_version = profiler::kStatisticsVersion;  ///< of the intervals that its cases carry
  std::int64_t parent = 0;  ///< the run whose alerts this one measured again; 0: a run of its own
  std::vector<std::string> tags;
  std::vector<Note> notes;  ///< oldest first
};

/// Largest absolute error over the checks. NaN when there is none or any is NaN.
double max_abs_err(const CaseRecord& record);

/// Copies a measurement into the record: times, noise floor, samples, and (only when the verdict is kPass)
/// speed-ups. No lower bound over the best rival is above that over any rival.
void add_measurement(CaseRecord& record, const profiler::Measurement& measurement);

/// Why the record must not be stored, or empty: a speed-up without a pass, not above 0, or whose interval
/// ends before it begins; a pass without a check or with a failed one; a passed check whose error is not
/// finite; two contenders of one name; a time or a number of members below 0; a sample of no contender.
std::string objection(const CaseRecord& record);

/// Takes every speed-up out of the record; call it when a case turns out not to pass.
void clear_speedups(CaseRecord& record);

/// Says that the times say nothing: the speed-ups go, the samples stay.
void set_disturbed(CaseRecord& record, std::string why);

/// What each case says of wide against its best rival, with the spread of processes in the intervals; faster
/// or slower is held to 5 % over all that are given together (Holm).
std::vector<profiler::Effect> effects(std::span<const CaseRecord> cases);
profiler::Effect effect(const CaseRecord& record);
/// Of the case where it is known, else profiler::kAssumedSpread.
double spread_between_processes(const CaseRecord& record);

/// Now, as "2025-01-31T12:34:56Z".
std::string utc_now();
/// Whether it is written as utc_now() writes it, and is a moment that there was or will be.
bool is_utc(const std::string& text);

}  // namespace wide::results
