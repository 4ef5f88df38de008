#pragma once
// A sweep from specs to stored results: the run in the database, resuming, the report. The command line and
// the window both drive it.

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/engine.h"
#include "presets/sweep.h"
#include "results/record.h"
#include "results/store.h"

namespace wide::app {

struct SweepJob {
  std::string preset;        ///< name, kept with the run
  std::string command_line;  ///< kept with the run
  std::string label;
  std::vector<presets::CaseSpec> specs;
  presets::SweepOptions options;
  bool resume = false;   ///< the newest unfinished run that has equal settings
  std::int64_t run = 0;  ///< resume this very run, whose specs these are; 0: as `resume` says
};

struct SweepProgress {
  /// The run is in the database; `stored` of its `total` cases were there before.
  std::function<void(std::int64_t run, std::size_t stored, std::size_t total)> began;
  std::function<void(const presets::CaseSpec&)> starting;
  std::function<void(const results::CaseRecord&)> finished;  ///< after it was stored
  std::function<void()> waiting;
};

struct SweepOutcome {
  std::int64_t run = 0;
  presets::SweepEnd end = presets::SweepEnd::kDone;
  std::string backup_fault;  ///< why the database could not be copied after the sweep; empty: it was
};

/// Throws wide::Error ("usage") for a strategy that nothing has and that is not `known` beside. Whether a
/// kind has what "KIND=STRATEGY" chooses for it the worker knows.
void check_strategies(const std::set<std::string>& choices, const Engine& engine,
                      std::set<std::string> known = {});

/// Throws wide::Error for strategies ("usage") and sizes of subjects ("preset") that this engine does not
/// know: a slip of the pen is found before an hour of measuring.
void check_cases(const std::vector<presets::CaseSpec>& specs, const Engine& engine);

/// "auto" is the last of the devices that can be used: the CPU is the first.
std::string settled_device(const std::vector<DeviceInfo>& devices, const std::string& name);

/// Resolves the device "auto". Throws CannotMeasure with the reason when a spec asks for a device that is not
/// usable, and wide::Error ("preset") when it names a subject that the engine does not know.
void resolve_devices(std::vector<presets::CaseSpec>& specs, const Engine& engine);

/// Facts of this machine with the engine's libraries and devices: what keys its results.
profiler::Facts machine_facts(const Engine& engine);

/// The record of a case that has just ended, with the machine's load and clock where the worker gave none.
results::CaseRecord with_conditions(results::CaseRecord record);

/// What must be equal for a run to be resumed.
nlohmann::json settings_of(const SweepJob& job);

/// The run as it will be stored: settings, machine, environment; no cases yet.
results::RunRecord run_of(const SweepJob& job, const Engine& engine);

/// Runs what is not stored yet; every case is committed before the next one starts; after a whole sweep the
/// database is copied to FILE.bak. Throws wide::Error from the store, from a worker that cannot be started
/// and when another process measures the run already; what is stored stays, and can be resumed.
SweepOutcome run_sweep_job(const SweepJob& job, const Engine& engine, results::Store& store,
                           const SweepProgress& progress);

}  // namespace wide::app
