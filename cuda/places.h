#pragma once
// What work of a device was launched or recorded for.

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

namespace wide::cuda {

struct Place {
  std::int32_t node = -1, member = -1, members = 0, pass = -1;
  bool conversion = false;  ///< a change of layout before the node
};

/// Of the nodes of CUDA Graphs, by CUPTI's id of each, which is unique in a process. Any thread may ask.
class GraphPlaces {
 public:
  void set(std::uint64_t id, const Place& place);
  /// As set(), where nothing is known of it yet.
  void add(std::uint64_t id, const Place& place);
  /// `id` is a copy of `original`: of its place, or of none.
  void copy(std::uint64_t id, std::uint64_t original);
  std::optional<Place> find(std::uint64_t id) const;

  /// Why places are not noted; empty: they are.
  void refuse(std::string reason);
  std::string refusal() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, Place> places_;
  std::string refusal_;
};

}  // namespace wide::cuda
