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
Slice ThreadLog::inherit(Kind kind, profiler::NameId name, std::int32_t pass) {
  Slice slice;
  slice.kind = kind, slice.name = name, slice.pass = pass;
  if (!open_.empty()) {
    slice.node = open_.back().node;
    slice.member = open_.back().member, slice.members = open_.back().members;
  }
  if (kind == Kind::kOperator) ++begun_;
  return slice;
}

profiler::NameId ThreadLog::name_of(Kind kind, std::string_view name, std::int32_t node) {
  if (kind != Kind::kNode || node < 0) return names_.intern(name);
  const auto place = static_cast<std::size_t>(node);
  if (place >= node_names_.size()) node_names_.resize(place + 1);
  auto& id = node_names_[place];
  if (id == 0) id = names_.intern(name);
  return id;
}

void ThreadLog::begin(Kind kind, std::string_view name, std::int32_t node, std::int32_t pass) {
  auto slice = inherit(kind, name_of(kind, name, node), pass);
  if (node >= 0) slice.node = node;
  slice.start = now();
  open_.push_back(slice);
}

void ThreadLog::begin_members(std::string_view name, std::int32_t first, std::int32_t count,
                              std::int32_t pass) {
  auto slice = inherit(Kind::kMember, names_.intern(name), pass);
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
