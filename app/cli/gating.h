#pragma once
// --baseline: a sweep that is held against a baseline, and the exit code that CI may trust.

#include <optional>
#include <string>

#include "app/cli/context.h"
#include "app/sweep_job.h"
#include "results/gate.h"

namespace wide::cli {

struct GatingOptions {
  std::string baseline;  ///< run, baseline or report file; empty: no gate
  std::string baseline_program;
  std::string summary;  ///< Markdown is appended here; empty: to $GITHUB_STEP_SUMMARY where that is set
  double minimum_us = 0;
  double minimum_effect_percent = 5;
  int repeats = results::GateOptions().repeats;
  bool fail_inconclusive = false;
  bool across_machines = false;
};

void add_gating_options(CLI::App& command, GatingOptions& options);

/// The baseline, read and held against what is about to be measured: throws wide::Error before an hour of
/// measuring, not after it. Nothing without --baseline.
std::optional<results::Side> read_baseline(const std::filesystem::path& database,
                                           const GatingOptions& options, const app::SweepJob& job,
                                           const app::Engine& engine);

/// Decides on the run that was just stored: measures alerts again (as runs of their own, stored), prints.
results::GateOutcome run_gate(Context& context, const GatingOptions& options, const results::Side& baseline,
                              const app::SweepJob& job, results::Store& store, std::int64_t run);

/// Where the verdict is appended as Markdown; empty: nowhere.
std::string summary_file(const GatingOptions& options);
/// Throws wide::Error where that cannot be.
void append_summary(const GatingOptions& options, const results::GateOutcome& outcome);

/// Measures the unsteady cases of these runs of the job again, `most` times in all (see Note [Baselines]), as
/// stored runs under the last one, until a case computes wrong numbers. Their ids; nothing: stopped.
std::optional<std::vector<std::int64_t>> steady_baseline(Context& context, int most, const app::SweepJob& job,
                                                         results::Store& store,
                                                         const std::vector<std::int64_t>& runs);

/// What the sweep deserves (see app/headline.h) and what the gate found in one code: 5, then 1, 3, 4.
int gated_exit_code(int sweep_code, const results::GateOutcome& outcome, const GatingOptions& options);

}  // namespace wide::cli
