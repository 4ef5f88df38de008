#pragma once
// What runs on the CPU, through libtorch's record functions: operators with their node and member, threads,
// allocations.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "profiler/trace/trace.h"

namespace wide::app {

/// Records everything between construction and finish(). One at a time in a process; a process that times
/// anything must have finished it before: see Note [Apart].
class CpuCapture {
 public:
  struct Settings {
    std::string subject, contender;
    std::int64_t members = 1;
    std::vector<profiler::TraceNode> nodes;
    std::size_t most_slices = 8'000'000;  ///< on all threads together; what is beyond is counted as dropped
  };

  /// Throws wide::Error ("profile") when another capture is under way.
  explicit CpuCapture(Settings settings);
  ~CpuCapture();
  CpuCapture(const CpuCapture&) = delete;
  CpuCapture& operator=(const CpuCapture&) = delete;

  /// Runs `work` as one forward pass. On the thread that made the capture.
  void pass(const std::function<void()>& work);

  /// Ends the capture; call once, after the last pass. The badge says whether all was seen.
  profiler::Trace finish();

 private:
  class Recorder;
  std::unique_ptr<Recorder> recorder_;
};

}  // namespace wide::app
