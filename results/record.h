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

namespace wide::results {

using profiler::Interval;
using profiler::kUnknown;
using profiler::Summary;

/// What became of a case. Only kPass may carry a speed-up: record, database and report schema all hold to it.
enum class Verdict : std::uint8_t { kPass, kFail, kSkipped, kError, kOom, kTimeout };

/// "pass", "fail", "skipped", "error", "oom" or "timeout".
std::string_view name(Verdict verdict);
std::optional<Verdict> parse_verdict(std::string_view text);

/// How a run stands. kRunning in the database without a live process: it was killed, and can be resumed.
enum class RunStatus : std::uint8_t { kRunning, kDone, kInterrupted, kFailed };

/// "running", "done", "interrupted" or "failed".
std::string_view name(RunStatus status);
std::optional<RunStatus> parse_status(std::string_view text);

/// One comparison of numbers that decided on a case. An error that is not finite (NaN: unknown) never passes.
struct Check {
  std::string what;    ///< "member against its own run", "cross-talk", "after compile", …
  std::string member;  ///< the worst member's name; may be empty
  double max_abs_err = kUnknown;
  double max_rel_err = kUnknown;
  double tolerance = kUnknown;
  bool passed = false;
  std::string text;  ///< one line for people
};

/// Another way to run the members, measured in the same rounds as wide.
struct Rival {
  std::string name;
  Summary time;
  Interval speedup;  ///< wide over this rival; unknown unless the case passed
  double first_run_us = kUnknown;
};

/// What a case was measured under. Doubles that are not known are NaN; so are empty texts and zeros.
struct Circumstances {
  std::string disturbed;        ///< why its times say nothing: there is no speed-up then; empty: they do
  int attempts = 0;             ///< how often it was measured: a second time where the first was disturbed
  double steal = kUnknown;      ///< share of the CPUs' time that the hypervisor took
  double others = kUnknown;     ///< CPUs that other processes kept busy
  double preempted = kUnknown;  ///< times a second and CPU that other work took one away
  std::string regime;           ///< "hot": caches as the pass before left them; "graph replay"
  std::optional<bool> steady;   ///< warm-up of every contender ended because its times were steady
  int threads = 0;              ///< of the library, in the process that measured
  double spread = kUnknown;     ///< between processes, standard deviation of the logarithm of the speed-up
  int processes = 0;            ///< that the spread was learnt from

  bool operator==(const Circumstances&) const = default;
};

/// Fields that are not known are left out.
nlohmann::json to_json(const Circumstances& circumstances);
/// Throws wide::Error ("import") naming a field that is none, or of another kind.
Circumstances circumstances_from_json(const nlohmann::json& json);

/// One measured case. Doubles that are not known are NaN.
struct CaseRecord {
  std::string key;  ///< unique within the run; --resume skips keys that are stored
  std::string subject;
  std::string kind;  ///< "primitive", "block", "zoo" or "model"
  std::int64_t n = 0;
  nlohmann::json shape;  ///< as the sweep gave it; null when there is none
  std::string device;
  std::string dtype;
  std::string mode;
  std::string strategy;  ///< "auto" or a name

  Verdict verdict = Verdict::kSkipped;
  std::string reason;         ///< why not pass; empty for pass
  std::vector<Check> checks;  ///< kPass needs at least one, and all of them passed

  Summary wide;
  std::vector<Rival> rivals;  ///< in the order of Sample::contender from 1; the A/A twin comes after the last
  Interval speedup;           ///< over the rival named "eager"
  Interval speedup_best_rival;  ///< over whichever is best: each number is the least over all rivals
  std::string best_rival;       ///< the rival against which wide gains least; empty when unknown
  Interval noise_floor;
  int rounds = 0;
  std::string stop_reason;  ///< "precision", "rounds", "time", "cancelled"; empty when not measured
  double compile_us = kUnknown;
  double first_run_us = kUnknown;
  std::optional<std::int64_t> peak_memory_bytes;
  std::vector<profiler::Sample> samples;  ///< every one, in order
  Circumstances circumstances;

  nlohmann::json plan;  ///< strategies per node, count of sequential nodes, conversions; null when none
  std::string started;  ///< ISO 8601, UTC
  double seconds = kUnknown;
  std::uint64_t seed = 0;
  double load_1min = kUnknown;
  double cpu_mhz = kUnknown;
  std::string
      model_hash;  ///< SHA-256 of the model's files, or of a built-in subject's name and shape; or empty
};

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

/// Why the record must not be stored, or empty: a speed-up without a pass, or not above 0; a pass without a
/// check or with a failed one; a passed check whose error is not finite; two contenders of one name.
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

}  // namespace wide::results
