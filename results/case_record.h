#pragma once
// A measured case as a plain value, and the one list of its fields: the statements of the database, the sums
// of its rows, the report both ways and CSV are made from that list. A new figure is a member and a line in
// the list, and a migration that adds its column.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/measure.h"
#include "profiler/statistics.h"
#include "results/field.h"

namespace wide::results {

using profiler::Interval;
using profiler::kUnknown;
using profiler::Summary;

/// What became of a case. Only kPass may carry a speed-up: record, database and report schema all hold to it.
enum class Verdict : std::uint8_t { kPass, kFail, kSkipped, kError, kOom, kTimeout };

/// "pass", "fail", "skipped", "error", "oom" or "timeout".
std::string_view name(Verdict verdict);
std::optional<Verdict> parse_verdict(std::string_view text);

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

// The lists: visit(Field, value) for every field, in the order of the columns and of their sum.

void visit_fields(RecordOf<Check> auto& check, auto&& visit) {
  visit(Field("what"), check.what);
  visit(Field("member"), check.member);
  visit(Field("max_abs_err"), check.max_abs_err);
  visit(Field("max_rel_err"), check.max_rel_err);
  visit(Field("tolerance"), check.tolerance);
  visit(Field("passed").needed(), check.passed);
  visit(Field("text"), check.text);
}

void visit_fields(RecordOf<profiler::Sample> auto& sample, auto&& visit) {
  visit(Field("contender"), sample.contender);
  visit(Field("round"), sample.round);
  visit(Field("position"), sample.position);
  visit(Field("iterations"), sample.iterations);
  visit(Field("microseconds"), sample.microseconds);
}

void visit_fields(RecordOf<Summary> auto& time, auto&& visit) {
  visit(Field("median_us"), time.median_us);
  visit(Field("ci_low_us,ci_high_us", "ci95_us"), limits(time.ci95));
  visit(Field("min_us"), time.min_us);
  visit(Field("iqr_us"), time.iqr_us);
  visit(Field("mad_us").not_in_csv(), time.mad_us);
  visit(Field("outliers"), time.outliers);
  visit(Field("samples"), time.samples);
  if constexpr (requires { time.samples = 0; }) time.ci95.value = time.median_us;
}

/// All but the name.
void visit_fields(RecordOf<Rival> auto& rival, auto&& visit) {
  visit_fields(rival.time, visit);
  visit(Field("first_run_us").not_in_csv(), rival.first_run_us);
  visit(Field("speedup"), rival.speedup.value);
  visit(Field("speedup_low,speedup_high", "speedup_ci95"), limits(rival.speedup));
}

/// In a report alone; the database has them as one text of JSON.
void visit_fields(RecordOf<Circumstances> auto& around, auto&& visit) {
  visit(Field("disturbed"), around.disturbed);
  visit(Field("attempts"), around.attempts);
  visit(Field("steal"), around.steal);
  visit(Field("others"), around.others);
  visit(Field("preempted"), around.preempted);
  visit(Field("regime"), around.regime);
  visit(Field("steady"), around.steady);
  visit(Field("threads"), around.threads);
  visit(Field("spread"), around.spread);
  visit(Field("processes"), around.processes);
}

/// What a case is, and what became of it.
void visit_names(RecordOf<CaseRecord> auto& record, auto&& visit) {
  visit(Field("key").needed().compared(), record.key);
  visit(Field("subject").needed().compared(), record.subject);
  visit(Field("kind"), record.kind);
  visit(Field("n").needed().compared(), record.n);
  visit(Field("shape").not_in_csv(), record.shape);
  visit(Field("device").compared(), record.device);
  visit(Field("dtype").compared(), record.dtype);
  visit(Field("mode").compared(), record.mode);
  visit(Field("strategy").compared(), record.strategy);
  visit(Field("verdict").needed().compared(), record.verdict);
  visit(Field("reason").compared(), record.reason);
}

/// What was measured. New figures come last, as Field(…).metric().
void visit_figures(RecordOf<CaseRecord> auto& record, auto&& visit) {
  visit(Field("speedup"), record.speedup.value);
  visit(Field("speedup_low,speedup_high", "speedup_ci95"), limits(record.speedup));
  visit(Field("best_rival"), record.best_rival);
  visit(Field("best_speedup", "speedup_best_rival"), record.speedup_best_rival.value);
  visit(Field("best_speedup_low,best_speedup_high", "speedup_best_rival_ci95"),
        limits(record.speedup_best_rival));
  visit(Field("noise", "ratio").in("noise_floor").compared(), record.noise_floor.value);
  visit(Field("noise_low,noise_high", "ci95").in("noise_floor").compared(), limits(record.noise_floor));
  visit(Field("rounds"), record.rounds);
  visit(Field("stop_reason"), record.stop_reason);
  visit(Field("compile_us"), record.compile_us);
  visit(Field("first_run_us").in("wide"), record.first_run_us);
  visit(Field("peak_memory_bytes"), record.peak_memory_bytes);
  visit(Field("plan"), record.plan);
  visit(Field("started"), record.started);
  visit(Field("seconds"), record.seconds);
  visit(Field("seed"), record.seed);
  visit(Field("load_1min").compared(), record.load_1min);
  visit(Field("cpu_mhz"), record.cpu_mhz);
  visit(Field("model_hash").compared(), record.model_hash);
}

/// The row of a case; contenders, checks, samples and circumstances have their own.
void visit_fields(RecordOf<CaseRecord> auto& record, auto&& visit) {
  visit_names(record, visit);
  visit_figures(record, visit);
}

}  // namespace wide::results
