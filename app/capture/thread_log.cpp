#include "app/capture/thread_log.h"

namespace wide::app {

using profiler::Kind;
using profiler::Slice;

profiler::NameId ThreadLog::name_of(const profiler::Step& step) {
  if (step.kind != Kind::kNode || step.node < 0) return names_.intern(step.name);
  const auto place = static_cast<std::size_t>(step.node);
  if (place >= node_names_.size()) node_names_.resize(place + 1);
  auto& id = node_names_[place];
  if (id == 0) id = names_.intern(step.name);
  return id;
}

void ThreadLog::begin(const profiler::Step& step) {
  Slice slice;
  slice.kind = step.kind, slice.name = name_of(step), slice.node = step.node;
  slice.member = step.member, slice.members = step.members, slice.pass = step.pass;
  slice.start = profiler::now();
  open_.push_back(slice);
}

void ThreadLog::begin_operator(std::string_view name, std::int32_t pass) {
  Slice slice;
  slice.kind = Kind::kOperator, slice.name = names_.intern(name), slice.pass = pass;
  if (!open_.empty()) {
    slice.node = open_.back().node;
    slice.member = open_.back().member, slice.members = open_.back().members;
  }
  ++begun_;
  slice.start = profiler::now();
  open_.push_back(slice);
}

void ThreadLog::end() {
  if (open_.empty()) return;  // began before the capture did
  auto slice = open_.back();
  open_.pop_back();
  slice.duration = profiler::now() - slice.start;
  if (slices_.size() >= capacity_) {
    ++dropped_;
    return;
  }
  if (slice.kind == Kind::kOperator) ++ended_;
  slices_.push_back(slice);
}

}  // namespace wide::app
