#pragma once
// How a wide model is built.

#include <cstdint>
#include <string>

namespace widebench {

/// What may be measured to choose a plan.
enum class Tuning : std::uint8_t {
  kEstimate,  ///< nothing: estimates only
  kCached,    ///< nothing; times known already are used
  kMeasure,   ///< candidates where estimates leave a choice, and whole passes
};

/// As it is made: measured plans, at most five seconds of measuring for one set of input shapes.
struct Config {
  /// "eager", "default", "reduce-overhead" or "max-autotune", as in PyTorch.
  std::string mode = "default";
  Tuning tuning = Tuning::kMeasure;
  double seconds = 5;  ///< of measuring, at most
  /// "auto", "wide", "sequential", or choices such as "conv2d=grouped", several with '+' between them.
  std::string strategy = "auto";
  bool validate = false;   ///< prove every member on the first inputs; Error ("prove") where that fails
  std::uint64_t seed = 0;  ///< member i draws as it does alone after manual_seed(seed + i)
  bool cost_file = false;  ///< keep measured times in $XDG_CACHE_HOME/widebench; else in the process
  bool snapshots = false;  ///< keep the graph after each stage, for Report::stages

  /// Quick to build: plans by estimates.
  static Config fast();
  /// To look into: plans by estimates, proved, with snapshots.
  static Config debug();
  /// Measured plans, proved.
  static Config safe();
};

}  // namespace widebench
