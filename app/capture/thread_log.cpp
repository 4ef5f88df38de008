#include "app/capture/thread_log.h"

#include <chrono>

namespace wide::app {

using profiler::Kind;
using profiler::Slice;

std::int64_t now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

// What is begun works for the node and members of what it is begun in.
Slice ThreadLog::inherit(Kind kind, std::string_view name, std::int32_t pass) {
  Slice slice;
  slice.kind = kind, slice.name = names_.intern(name), slice.pass = pass;
  if (!open_.empty()) {
    slice.node = open_.back().node;
    slice.member = open_.back().member, slice.members = open_.back().members;
  }
  if (kind == Kind::kOperator) ++begun_;
  return slice;
}

void ThreadLog::begin(Kind kind, std::string_view name, std::int32_t node, std::int32_t pass) {
  auto slice = inherit(kind, name, pass);
  if (node >= 0) slice.node = node;
  slice.start = now();
  open_.push_back(slice);
}

void ThreadLog::begin_members(std::string_view name, std::int32_t first, std::int32_t count,
                              std::int32_t pass) {
  auto slice = inherit(Kind::kMember, name, pass);
  slice.member = first, slice.members = count;
  slice.start = now();
  open_.push_back(slice);
}

void ThreadLog::end() {
  if (open_.empty()) return;  // began before the capture did
  auto slice = open_.back();
  open_.pop_back();
  slice.duration = now() - slice.start;
  if (slices_.size() >= capacity_) {
    ++dropped_;
    return;
  }
  if (slice.kind == Kind::kOperator) ++ended_;
  slices_.push_back(slice);
}

}  // namespace wide::app
