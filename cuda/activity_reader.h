#pragma once
// CUPTI's activity records become slices of a trace.

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "cuda/cupti_api.h"
#include "cuda/places.h"
#include "profiler/trace/trace.h"

namespace wide::cuda {

class ActivityReader {
 public:
  /// `start` is CUPTI's time at Trace::base_ns.
  ActivityReader(const CuptiApi& api, profiler::Trace& trace, std::uint64_t start)
      : api_(api), trace_(trace), start_(start) {}

  /// Reads all records of one buffer. What cannot be read makes the badge incomplete.
  void read(std::uint8_t* buffer, std::size_t valid_bytes);

  /// Ties launches and what they launched to `places`, by external correlation id, and work of CUDA Graphs to
  /// `graphs`; judges whether all is there. `sentinel` is the name of a kernel that was launched to be seen;
  /// empty: none was.
  void finish(const std::unordered_map<std::uint64_t, Place>& places, const GraphPlaces& graphs,
              const std::string& sentinel);

 private:
  void record(const CUpti_Activity& activity);
  void push(const profiler::Slice& slice, std::uint64_t graph_node);
  void kernel(const CUpti_ActivityKernel10& record);
  void call(const CUpti_ActivityAPI& record, bool runtime);
  void marker(const CUpti_ActivityMarker2& record);
  profiler::Slice slice(profiler::Kind kind, std::string_view name, std::uint64_t start, std::uint64_t end);
  std::uint32_t stream(std::uint32_t device, std::uint32_t id);
  std::uint32_t host(std::int64_t id, std::string name);
  std::uint32_t thread(std::uint32_t id);
  /// Of the launch that `slice` is, or that launched it.
  void place_by_launch(profiler::Slice& slice, const std::unordered_map<std::uint64_t, Place>& places) const;
  /// Of the graph that `slice`, the i-th, was launched in; false where nobody knows.
  bool place_by_graph(profiler::Slice& slice, std::size_t i, const GraphPlaces& graphs) const;
  void tell_of_untied(std::size_t untied, std::size_t in_graphs, const GraphPlaces& graphs);
  void judge(const std::string& sentinel);

  const CuptiApi& api_;
  profiler::Trace& trace_;
  std::uint64_t start_;
  std::unordered_map<std::uint32_t, std::uint64_t> external_;  ///< by correlation id
  std::unordered_set<std::uint32_t> launches_, graph_launches_, kernels_;
  std::unordered_map<std::size_t, std::uint64_t> graph_nodes_;  ///< ids, by slice; none: not of a graph
  std::map<std::uint32_t, CUpti_ActivityMarker2> open_markers_;
  std::set<int> unknown_kinds_;
  std::uint64_t kernel_records_ = 0;
  std::uint64_t backward_ = 0;  ///< records that end before they start
};

}  // namespace wide::cuda
