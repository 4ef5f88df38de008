#pragma once
// What the root sweep and `benchmark` have in common: their options, and running the cases with progress,
// table, headline and report.

#include <optional>
#include <string>
#include <vector>

#include "app/cli/context.h"
#include "app/cli/gating.h"
#include "presets/preset.h"
#include "results/baseline.h"

namespace wide::cli {

struct MeasuringOptions {
  std::vector<std::string> devices;  ///< "cpu", "cuda", "auto"; empty: the preset's
  std::string database;              ///< empty: the default one
  std::string report;                ///< file, "-" for standard output; empty: none
  std::vector<std::string> read;  ///< files and folders that are not in the cases: the preset's, a bundle's
  std::string label;
  std::optional<double> timeout_seconds;
  std::optional<int> threads;
  std::optional<std::uint64_t> seed;
  std::uint64_t memory_limit_mib = 0;
  bool resume = false;
  std::int64_t run = 0;       ///< resume this very run; 0: a new one, or as `resume` says
  int repeat = 1;             ///< whole sweeps, each a run of its own
  std::string save_baseline;  ///< name for the runs that were measured; empty: none
  int baseline_repeats = results::BaselineOptions().most;  ///< runs of its unsteady cases at most
  GatingOptions gating;
  int top = 0;  ///< list only so many cases, best first; 0: all in the order they ran
};

/// --device, --db, --resume, --timeout, --threads, --seed, --memory-limit, --label, --repeat,
/// --save-baseline,
/// --baseline-repeats and those of the gate.
void add_measuring_options(CLI::App& command, MeasuringOptions& options);

/// What these options change in a preset.
presets::PresetChanges changes(const MeasuringOptions& options);

/// Measures, stores, prints; returns the exit code. Signals stop it, see README.md.
int measure(Context& context, const MeasuringOptions& options, const presets::Preset& preset);

}  // namespace wide::cli
