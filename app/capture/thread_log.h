#pragma once
// One thread's part of a capture: a stack of what is open and a log of what has ended. No locks.

#include <cstdint>
#include <string_view>
#include <vector>

#include "profiler/trace/source.h"
#include "profiler/trace/trace.h"

namespace wide::app {

class ThreadLog {
 public:
  ThreadLog(std::int64_t thread, std::size_t capacity) : thread_(thread), capacity_(capacity) {
    slices_.reserve(capacity < kReserved ? capacity : kReserved);
    open_.reserve(64);
  }

  void begin(const profiler::Step& step);
  /// An operator works for what it is called in.
  void begin_operator(std::string_view name, std::int32_t pass);
  void end();
  void memory(double in_use) {
    if (memory_.size() < capacity_) memory_.push_back({profiler::now(), 0, in_use});
  }

  bool idle() const { return open_.empty(); }
  std::int64_t thread() const { return thread_; }
  std::uint64_t dropped() const { return dropped_; }
  std::uint64_t begun() const { return begun_; }
  std::uint64_t ended() const { return ended_; }
  const std::vector<profiler::Slice>& slices() const { return slices_; }
  const std::vector<profiler::CounterPoint>& memory() const { return memory_; }
  const profiler::NameTable& names() const { return names_; }

 private:
  static constexpr std::size_t kReserved = 1 << 16;
  profiler::NameId name_of(const profiler::Step& step);

  std::int64_t thread_;
  std::size_t capacity_;
  profiler::NameTable names_;
  std::vector<profiler::NameId> node_names_;  ///< by node: what is done between two nodes is in no node
  std::vector<profiler::Slice> open_, slices_;
  std::vector<profiler::CounterPoint> memory_;
  std::uint64_t dropped_ = 0, begun_ = 0, ended_ = 0;
};

}  // namespace wide::app
