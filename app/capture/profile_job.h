#pragma once
// Captures a wide model and its rivals, each in its own phase, after they were timed without a capture.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/model/wide_model.h"
#include "profiler/trace/source.h"
#include "profiler/trace/trace.h"

namespace wide::app {

struct ProfileOptions {
  std::string subject;
  std::string dtype = "float32";
  std::int64_t passes = 20;  ///< captured of each way
  double seconds = 1;        ///< of each way, timed or captured: slow models get fewer passes, at least 3
  std::vector<std::string> rivals = {"eager"};
  /// What sees the device that the model runs on; made for each capture. Empty on the CPU.
  std::function<std::unique_ptr<profiler::Source>()> device_source = {};
  /// What notes of which node the work of a recorded pass is: it sees the passes up to the recording, none
  /// that is timed or captured. Empty: that is not known.
  std::function<std::unique_ptr<profiler::Source>()> recording_source = {};
};

/// The trace of wide first, then one per rival, with untraced times in their badges. On a device a pass is
/// over when the device has done it.
std::vector<profiler::Trace> profile(WideModel& model, std::span<const ModelInput> inputs,
                                     const ProfileOptions& options);

}  // namespace wide::app
