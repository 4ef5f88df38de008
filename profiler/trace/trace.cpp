#include "profiler/trace/trace.h"

#include <algorithm>
#include <array>

namespace wide::profiler {
namespace {

struct KindNames {
  std::string_view name, category;
};

// By Kind. Categories are those of Kineto, so that its readers know them.
constexpr std::array<KindNames, kKinds> kNames = {{{"pass", "user_annotation"},
                                                   {"node", "user_annotation"},
                                                   {"conversion", "user_annotation"},
                                                   {"member", "user_annotation"},
                                                   {"operator", "cpu_op"},
                                                   {"kernel", "kernel"},
                                                   {"memcpy", "gpu_memcpy"},
                                                   {"memset", "gpu_memset"},
                                                   {"runtime", "cuda_runtime"},
                                                   {"driver", "cuda_driver"},
                                                   {"sync", "cuda_sync"},
                                                   {"overhead", "overhead"},
                                                   {"annotation", "user_annotation"},
                                                   {"gpu_annotation", "gpu_user_annotation"},
                                                   {"other", "other"}}};

}  // namespace

std::string_view name(Kind kind) {
  return kNames[static_cast<std::size_t>(kind)].name;
}
std::string_view category(Kind kind) {
  return kNames[static_cast<std::size_t>(kind)].category;
}

NameId NameTable::intern(std::string_view text) {
  if (const auto known = ids_.find(text); known != ids_.end()) return known->second;
  const auto id = static_cast<NameId>(texts_.size());
  ids_.emplace(texts_.emplace_back(text), id);
  return id;
}

void Slices::push(const Slice& slice) {
  start_.push_back(slice.start);
  duration_.push_back(slice.duration);
  name_.push_back(slice.name);
  detail_.push_back(slice.detail);
  kind_.push_back(slice.kind);
  track_.push_back(slice.track);
  correlation_.push_back(slice.correlation);
  external_.push_back(slice.external);
  node_.push_back(slice.node);
  member_.push_back(slice.member);
  members_.push_back(slice.members);
  pass_.push_back(slice.pass);
  conversion_.push_back(slice.conversion);
}

void Slices::reserve(std::size_t count) {
  start_.reserve(count), duration_.reserve(count), name_.reserve(count), detail_.reserve(count);
  kind_.reserve(count), track_.reserve(count), correlation_.reserve(count), external_.reserve(count);
  node_.reserve(count), member_.reserve(count), members_.reserve(count), pass_.reserve(count);
  conversion_.reserve(count);
}

Slice Slices::operator[](std::size_t i) const {
  return {start_[i], duration_[i], name_[i],    kind_[i], track_[i],  correlation_[i], external_[i],
          node_[i],  member_[i],   members_[i], pass_[i], detail_[i], conversion_[i]};
}

void Slices::place(std::size_t i, std::int32_t node, std::int32_t member, std::int32_t members,
                   std::int32_t pass) {
  node_[i] = node, member_[i] = member, members_[i] = members, pass_[i] = pass;
}

std::size_t Slices::bytes() const {
  return start_.capacity() * (2 * sizeof(std::int64_t) + 2 * sizeof(NameId) + sizeof(Kind) +
                              2 * sizeof(std::uint32_t) + sizeof(std::uint64_t) + 4 * sizeof(std::int32_t));
}

void Completeness::fail(std::string reason) {
  complete = false;
  because.push_back(std::move(reason));
}

std::uint32_t Trace::track(const Track& like) {
  const auto found = std::find_if(tracks.begin(), tracks.end(), [&](const Track& known) {
    return known.process == like.process && known.tid == like.tid && known.device == like.device;
  });
  if (found != tracks.end()) return static_cast<std::uint32_t>(found - tracks.begin());
  tracks.push_back(like);
  return static_cast<std::uint32_t>(tracks.size() - 1);
}

}  // namespace wide::profiler
