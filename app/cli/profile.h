#pragma once
// The command `profile` but for the capture itself, which needs libtorch and is handed in.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/cli/context.h"
#include "app/cli/model_flags.h"
#include "presets/case.h"
#include "profiler/trace/roofline.h"
#include "profiler/trace/trace.h"

namespace wide::cli {

struct ProfileRequest {
  ModelOptions model;                         ///< a user's model, where `subject` is empty
  std::string subject;                        ///< a built-in one
  std::string inputs;                         ///< file; empty: made up
  std::string dtype = "float32";              ///< of a built-in subject
  std::string preset = "quick";               ///< whose sizes a built-in subject gets
  std::int64_t members = 4;                   ///< where no checkpoints give them
  std::vector<std::string> rivals{"eager"};   ///< as of SeparateRuns::contender
  std::int64_t passes = 20;                   ///< at most
  bool peaks = false, measure_peaks = false;  ///< wanted; measured anew
};

struct Profiled {
  std::vector<profiler::Trace> traces;   ///< wide first, then the rivals in order
  presets::CaseSpec spec;                ///< the case that was captured
  std::string dtype;                     ///< whose arithmetic peak to compare with
  std::optional<profiler::Peaks> peaks;  ///< when asked for
};

/// Throws wide::Error, and app::CannotMeasure.
using Capture = std::function<Profiled(const Context&, const ProfileRequest&)>;

void add_profile(CLI::App& app, Context& context, Capture capture);

}  // namespace wide::cli
