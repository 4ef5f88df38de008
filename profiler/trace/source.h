#pragma once
// What a capture is made of: sources, each of which sees a part of what runs.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "profiler/trace/trace.h"

namespace wide::profiler {

/// Monotonic nanoseconds: the clock of every source, so that their slices lie in one another.
inline std::int64_t now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

/// What a thread begins: a pass, a node, a change of layout, or the turn of some members.
struct Step {
  Kind kind = Kind::kNode;
  std::string_view name;  ///< good while it is begun
  std::int32_t node = -1, member = -1, members = 0, pass = -1;
};

/// A part of a capture: what runs on the CPU, or on a device.
class Source {
 public:
  Source() = default;
  virtual ~Source() = default;  ///< leaves nothing behind, stopped or not
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  /// Begins; times of the trace count from `origin`, a time of now(). A reason and a remedy where it cannot,
  /// and nothing is switched on then; empty: it has begun.
  virtual std::string start(std::int64_t origin) = 0;
  /// The calling thread begins a step, or ends the one it began last.
  virtual void begin(const Step& step) = 0;
  virtual void end() = 0;
  /// Ends it.
  virtual void stop() = 0;
  /// What was seen, after stop(); `trace` says what was captured, and of how many members. The badge says
  /// whether all is there.
  virtual void add_to(Trace& trace) = 0;
};

}  // namespace wide::profiler
