#pragma once
// What ran and when: slices, counters and tracks in columns, with every name kept once. See README.md.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace wide::profiler {

using NameId = std::uint32_t;

/// Texts, each kept once. Id 0 is "".
class NameTable {
 public:
  NameTable() { intern({}); }
  NameTable(NameTable&&) = default;
  NameTable& operator=(NameTable&&) = default;
  NameTable(const NameTable&) = delete;
  NameTable& operator=(const NameTable&) = delete;

  NameId intern(std::string_view text);
  std::string_view operator[](NameId id) const { return texts_[id]; }
  std::size_t size() const { return texts_.size(); }

 private:
  std::deque<std::string> texts_;  ///< a deque: views into it stay good
  std::unordered_map<std::string_view, NameId> ids_;
};

/// What a slice stands for.
enum class Kind : std::uint8_t {
  kPass,        ///< one whole forward pass
  kNode,        ///< one node of the graph
  kConversion,  ///< a change of layout before a node
  kMember,      ///< one member's turn
  kOperator,    ///< an operator call on the CPU; which are the CPU's kernels says Note [Work of a CPU]
  kKernel,      ///< on a device stream, as the next two
  kMemcpy,
  kMemset,
  kRuntime,        ///< a CUDA runtime call on the host
  kDriver,         ///< a CUDA driver call on the host
  kSync,           ///< waiting for the device
  kOverhead,       ///< of the capture itself
  kAnnotation,     ///< a range that the program named
  kGpuAnnotation,  ///< the same on a stream
  kOther,          ///< of an imported trace: a category that is not known here
};
inline constexpr int kKinds = static_cast<int>(Kind::kOther) + 1;

/// "pass", "node", … as in the table of README.md.
std::string_view name(Kind kind);
/// The category that Kineto writes: "cpu_op", "kernel", "cuda_runtime", …
std::string_view category(Kind kind);
/// True for work on a device stream: kernels, copies and fills.
inline bool on_device(Kind kind) {
  return kind == Kind::kKernel || kind == Kind::kMemcpy || kind == Kind::kMemset;
}

/// One row of Slices.
struct Slice {
  std::int64_t start = 0;     ///< nanoseconds since Trace::base_ns
  std::int64_t duration = 0;  ///< nanoseconds, >= 0
  NameId name = 0;
  Kind kind = Kind::kOther;
  std::uint32_t track = 0;        ///< index into Trace::tracks
  std::uint32_t correlation = 0;  ///< ties a launch to what it launched; 0: none
  std::uint64_t external = 0;     ///< ties a launch to the operator around it; 0: none
  std::int32_t node = -1;         ///< index into Trace::nodes; -1: none
  std::int32_t member = -1;       ///< first member it works for; -1: none in particular
  std::int32_t members = 0;       ///< how many from there on
  std::int32_t pass = -1;         ///< which forward pass it is part of; -1: none
  NameId detail = 0;              ///< members of a JSON object ("\"grid\":[1,1,1]"); "": none
  bool conversion = false;  ///< a device's work of a change of layout, where no launch of its own says so

  std::int64_t end() const { return start + duration; }
};

/// Slices in columns, in any order.
class Slices {
 public:
  void push(const Slice& slice);
  void reserve(std::size_t count);
  std::size_t size() const { return start_.size(); }
  bool empty() const { return start_.empty(); }
  Slice operator[](std::size_t i) const;

  std::int64_t start(std::size_t i) const { return start_[i]; }
  std::int64_t duration(std::size_t i) const { return duration_[i]; }
  std::int64_t end(std::size_t i) const { return start_[i] + duration_[i]; }
  NameId name(std::size_t i) const { return name_[i]; }
  Kind kind(std::size_t i) const { return kind_[i]; }
  std::uint32_t track(std::size_t i) const { return track_[i]; }
  std::uint32_t correlation(std::size_t i) const { return correlation_[i]; }
  std::uint64_t external(std::size_t i) const { return external_[i]; }
  std::int32_t node(std::size_t i) const { return node_[i]; }
  std::int32_t member(std::size_t i) const { return member_[i]; }
  std::int32_t members(std::size_t i) const { return members_[i]; }
  std::int32_t pass(std::size_t i) const { return pass_[i]; }
  NameId detail(std::size_t i) const { return detail_[i]; }
  bool conversion(std::size_t i) const { return conversion_[i]; }

  /// What slice `i` works for, filled in once it is known.
  void place(std::size_t i, std::int32_t node, std::int32_t member, std::int32_t members, std::int32_t pass);

  /// Bytes of all columns.
  std::size_t bytes() const;

 private:
  std::vector<std::int64_t> start_, duration_;
  std::vector<NameId> name_, detail_;
  std::vector<Kind> kind_;
  std::vector<std::uint32_t> track_, correlation_;
  std::vector<std::uint64_t> external_;
  std::vector<std::int32_t> node_, member_, members_, pass_;
  std::vector<bool> conversion_;
};

/// A thread of the host or a stream of a device.
struct Track {
  std::string process;       ///< "wide", "eager", "GPU 0"
  std::string name;          ///< "main", "worker 1", "stream 7"
  std::int64_t pid = 0;      ///< as exported: unique per process name
  std::int64_t tid = 0;      ///< thread id or stream
  std::int32_t device = -1;  ///< of a stream; -1: a host thread

  bool is_stream() const { return device >= 0; }
};

/// A node of the graph that was run, as far as a trace knows it.
struct TraceNode {
  std::string name;         ///< "%7 aten.linear.default"
  std::string op;           ///< "aten.linear.default"
  std::string strategy;     ///< "" in a rival
  bool at_build = false;    ///< its result never changes: it ran once, at build, and takes no time in a pass
  double flops = 0;         ///< of one pass over all members; 0: not known
  double weight_bytes = 0;  ///< read from constants, once a pass
  double activation_bytes = 0;  ///< other operands and the results
  std::string within = "";      ///< of a rival: wide's node that does its work; "": the one of the same name
};

/// A value over time, such as memory in use.
struct CounterPoint {
  std::int64_t time = 0;  ///< nanoseconds since Trace::base_ns
  NameId series = 0;
  double value = 0;
};
inline constexpr std::string_view kMemorySeries = "memory in use";

/// A fact of a trace of a GPU: by how much capturing slowed down launches. Absent where it did not.
inline constexpr const char* kGapsFact = "gaps between kernels";
/// A fact of a trace: how many kernels, copies and fills of CUDA Graphs are of no node, and why. Absent where
/// all are known.
inline constexpr const char* kUntiedFact = "work of CUDA Graphs of no node";

/// Whether the trace holds all that ran, and what was looked at to know.
struct Completeness {
  bool complete = true;
  std::vector<std::string> because;  ///< one sentence each; empty when complete
  std::uint64_t launches = 0, kernels = 0;
  std::uint64_t dropped = 0;  ///< records that the capture lost
  std::uint64_t unknown = 0;  ///< records of a kind that is not read
  double traced_us = 0;       ///< median pass while capturing; 0: not measured
  double untraced_us = 0;     ///< median pass before the capture; 0: not measured

  void fail(std::string reason);
};

/// One capture of one way to run the members.
struct Trace {
  std::string subject;    ///< "resblock"
  std::string contender;  ///< "wide", "eager", "threads", or a file's name
  std::int64_t members = 1;
  std::int64_t passes = 0;   ///< forward passes captured
  std::int64_t base_ns = 0;  ///< what start times are relative to, nanoseconds since 1970
  NameTable names;
  std::vector<Track> tracks;
  std::vector<TraceNode> nodes;
  Slices slices;
  std::vector<CounterPoint> counters;
  Completeness completeness;
  std::map<std::string, std::string> facts;  ///< what a reader should know: threads, dtype, machine
  std::vector<std::string> devices;          ///< names of devices by index

  /// The track of that process and tid; made when it is not there yet.
  std::uint32_t track(const Track& like);
};

}  // namespace wide::profiler
