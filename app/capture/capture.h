#pragma once
// What runs, step by step, on the CPU and on a device: a trace made of what its sources see.

#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "profiler/trace/source.h"
#include "profiler/trace/trace.h"

namespace wide::app {

/// Records everything between construction and finish(). One at a time in a process; a process that times
/// anything must have finished it before: see Note [Apart].
class Capture {
 public:
  struct Settings {
    std::string subject, contender;
    std::int64_t members = 1;
    std::vector<profiler::TraceNode> nodes;
    std::size_t most_slices = 8'000'000;  ///< on all threads together; what is beyond is counted as dropped
    c10::Device device = c10::kCPU;       ///< where the model lies: its allocations are followed
  };

  /// `device_source` sees what a device does beside the CPU; empty where the model runs on the CPU. Throws
  /// wide::Error ("profile") when another capture is under way, or a source says why it cannot begin.
  explicit Capture(Settings settings, std::unique_ptr<profiler::Source> device_source = nullptr);
  ~Capture();
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  /// Runs `work` as one forward pass. On the thread that made the capture.
  void pass(const std::function<void()>& work);

  /// Ends the capture; call once, after the last pass. The badge says whether all was seen.
  profiler::Trace finish();

 private:
  class Steps;
  std::unique_ptr<Steps> steps_;
};

}  // namespace wide::app
