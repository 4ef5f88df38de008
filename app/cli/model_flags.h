#pragma once
// What commands that take a user's model have in common on the command line; nothing of libtorch.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace wide::cli {

struct ModelOptions {
  std::vector<std::string> models;
  std::vector<std::string> weights;
  std::vector<std::string> strategies;  ///< "grouped" for all, or "conv2d=sequential"
  std::string device = "auto";
  std::string usual_mode = "eager";  ///< where none is named
  std::string mode;                  ///< empty where none is named: see mode_or()
  std::string plan;                  ///< file of a stored plan
  bool tune = false;                 ///< measure what no earlier run has measured
  bool trust = false;
  std::optional<std::uint64_t> seed;  ///< nothing where none is given: 0, or what a bundle was made with

  /// Files and folders that are read: model, weights and plan.
  std::vector<std::string> read() const;
  /// The seed that is given, else `usual`.
  std::uint64_t seed_or(std::uint64_t usual = 0) const { return seed.value_or(usual); }
  /// The mode that is named, else the usual one.
  const std::string& mode_or() const { return mode.empty() ? usual_mode : mode; }
};

/// --model, --weights, --strategy, --plan, --tune, --device, --mode, --trust and --seed. Help names the usual
/// mode of `options`.
void add_model_options(CLI::App& command, ModelOptions& options, bool required = true);

}  // namespace wide::cli
