#include "cuda/activity_reader.h"

#include <cxxabi.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "cuda/refusal.h"

namespace wide::cuda {
namespace {

using profiler::Kind;
using profiler::Slice;

// Records that are no thread's in particular: tracks beyond all ids of threads.
constexpr std::int64_t kWaits = INT64_C(1) << 32, kCosts = kWaits + 1;

std::string demangled(const char* name) {
  if (name == nullptr) return "unnamed kernel";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status),
                                                         &std::free);
  return status == 0 ? text.get() : name;
}

// "cudaLaunchKernel_v7000" -> "cudaLaunchKernel".
std::string call_name(const CuptiApi& api, bool runtime, CUpti_CallbackId id) {
  const char* name = nullptr;
  const auto domain = runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
  if (api.callback_name(domain, id, &name) != CUPTI_SUCCESS || name == nullptr)
    return (runtime ? "runtime call " : "driver call ") + std::to_string(id);
  std::string text = name;
  const auto version = text.rfind("_v");
  const bool numbered = version != std::string::npos && version + 2 < text.size() &&
                        text.find_first_not_of("0123456789", version + 2) == std::string::npos;
  return numbered ? text.substr(0, version) : text;
}

std::string copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "Memcpy HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "Memcpy DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "Memcpy DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "Memcpy HtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "Memcpy PtoP";
    default:
      return "Memcpy";
  }
}

std::string triple(const char* key, std::int64_t x, std::int64_t y, std::int64_t z) {
  return std::string("\"")
      .append(key)
      .append("\":[")
      .append(std::to_string(x))
      .append(",")
      .append(std::to_string(y))
      .append(",")
      .append(std::to_string(z))
      .append("]");
}

std::string launch_detail(const CUpti_ActivityKernel10& k) {
  auto text = triple("grid", k.gridX, k.gridY, k.gridZ) + "," + triple("block", k.blockX, k.blockY, k.blockZ);
  text.append(",\"registers per thread\":").append(std::to_string(k.registersPerThread));
  text.append(",\"shared memory\":").append(std::to_string(k.staticSharedMemory + k.dynamicSharedMemory));
  if (k.graphId != 0) {
    text.append(",\"graph id\":").append(std::to_string(k.graphId));
    text.append(",\"graph node id\":").append(std::to_string(k.graphNodeId));
  }
  return text;
}

bool launches_kernel(std::string_view call) {
  return call.starts_with("cudaLaunch") || call.starts_with("__cudaLaunchKernel") ||
         call.starts_with("cuLaunch");
}

bool launches_graph(std::string_view call) {
  return call.starts_with("cudaGraphLaunch") || call.starts_with("cuGraphLaunch");
}

}  // namespace

Slice ActivityReader::slice(Kind kind, std::string_view name, std::uint64_t start, std::uint64_t end) {
  Slice slice;
  slice.kind = kind, slice.name = trace_.names.intern(name);
  // CUPTI's 0 means that it could not find out.
  if (end < start || start == 0) {
    ++backward_;
    end = start;
  }
  slice.start = static_cast<std::int64_t>(start - start_);
  slice.duration = static_cast<std::int64_t>(end - start);
  return slice;
}

std::uint32_t ActivityReader::stream(std::uint32_t device, std::uint32_t id) {
  profiler::Track track{"GPU " + std::to_string(device), "stream " + std::to_string(id)};
  track.tid = id, track.device = static_cast<std::int32_t>(device);
  return trace_.track(track);
}

std::uint32_t ActivityReader::host(std::int64_t id, std::string name) {
  profiler::Track track{trace_.contender, std::move(name)};
  track.tid = id;
  return trace_.track(track);
}

std::uint32_t ActivityReader::thread(std::uint32_t id) {
  return host(id, "thread " + std::to_string(id));
}

void ActivityReader::read(std::uint8_t* buffer, std::size_t valid_bytes) {
  CUpti_Activity* activity = nullptr;
  while (true) {
    const auto code = api_.next_record(buffer, valid_bytes, &activity);
    if (code == CUPTI_ERROR_MAX_LIMIT_REACHED) return;
    if (code != CUPTI_SUCCESS || activity == nullptr) {
      trace_.completeness.fail("a buffer could not be read to its end: " +
                               explain(api_, code, "cuptiActivityGetNextRecord").reason);
      return;
    }
    record(*activity);
  }
}

void ActivityReader::record(const CUpti_Activity& activity) {
  std::int32_t kind = 0;  // a newer CUPTI may give kinds that the enumeration does not have
  static_assert(sizeof kind == sizeof activity.kind);
  std::memcpy(&kind, &activity.kind, sizeof kind);
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return kernel(reinterpret_cast<const CUpti_ActivityKernel10&>(activity));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return call(reinterpret_cast<const CUpti_ActivityAPI&>(activity), true);
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return call(reinterpret_cast<const CUpti_ActivityAPI&>(activity), false);
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(activity);
      auto made = slice(Kind::kMemcpy, copy_name(copy.copyKind), copy.start, copy.end);
      made.correlation = copy.correlationId, made.track = stream(copy.deviceId, copy.streamId);
      made.detail = trace_.names.intern("\"bytes\":" + std::to_string(copy.bytes));
      return push(made, copy.graphNodeId);
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = reinterpret_cast<const CUpti_ActivityMemset4&>(activity);
      auto made = slice(Kind::kMemset, "Memset", fill.start, fill.end);
      made.correlation = fill.correlationId, made.track = stream(fill.deviceId, fill.streamId);
      made.detail = trace_.names.intern("\"bytes\":" + std::to_string(fill.bytes));
      return push(made, fill.graphNodeId);
    }
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& tie = reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(activity);
      external_[tie.correlationId] = tie.externalId;
      return;
    }
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: {
      const auto& wait = reinterpret_cast<const CUpti_ActivitySynchronization2&>(activity);
      auto made = slice(Kind::kSync, "synchronize", wait.start, wait.end);
      made.track = host(kWaits, "waiting for the GPU");
      return trace_.slices.push(made);
    }
    case CUPTI_ACTIVITY_KIND_OVERHEAD: {
      const auto& cost = reinterpret_cast<const CUpti_ActivityOverhead3&>(activity);
      auto made = slice(Kind::kOverhead, "CUPTI overhead", cost.start, cost.end);
      made.track = host(kCosts, "CUPTI's own time");
      return trace_.slices.push(made);
    }
    case CUPTI_ACTIVITY_KIND_MARKER:
      return marker(reinterpret_cast<const CUpti_ActivityMarker2&>(activity));
    default:
      ++trace_.completeness.unknown;
      unknown_kinds_.insert(kind);
  }
}

void ActivityReader::push(const Slice& slice, std::uint64_t graph_node) {
  if (graph_node != 0) graph_nodes_[trace_.slices.size()] = graph_node;
  trace_.slices.push(slice);
}

void ActivityReader::kernel(const CUpti_ActivityKernel10& record) {
  auto made = slice(Kind::kKernel, demangled(record.name), record.start, record.end);
  made.correlation = record.correlationId;
  made.track = stream(record.deviceId, record.streamId);
  made.detail = trace_.names.intern(launch_detail(record));
  push(made, record.graphNodeId);
  kernels_.insert(record.correlationId);
  ++kernel_records_;
}

void ActivityReader::call(const CUpti_ActivityAPI& record, bool runtime) {
  const auto name = call_name(api_, runtime, record.cbid);
  auto made = slice(runtime ? Kind::kRuntime : Kind::kDriver, name, record.start, record.end);
  made.correlation = record.correlationId;
  made.track = thread(record.threadId);
  trace_.slices.push(made);
  // A runtime call and the driver call within it share one id: one launch. A failed one launched nothing.
  if (record.returnValue != 0) return;
  if (launches_kernel(name)) launches_.insert(record.correlationId);
  if (launches_graph(name)) graph_launches_.insert(record.correlationId);
}

// NVTX: a range is two records with one id.
void ActivityReader::marker(const CUpti_ActivityMarker2& record) {
  if (record.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) {
    open_markers_[record.id] = record;
    return;
  }
  const auto open = open_markers_.find(record.id);
  if (!(record.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) || open == open_markers_.end()) return;
  auto made = slice(Kind::kAnnotation, open->second.name ? open->second.name : "range",
                    open->second.timestamp, record.timestamp);
  made.track = thread(record.objectId.pt.threadId);
  trace_.slices.push(made);
  open_markers_.erase(open);
}

void ActivityReader::place_by_launch(Slice& slice,
                                     const std::unordered_map<std::uint64_t, Place>& places) const {
  const auto found = external_.find(slice.correlation);
  if (slice.correlation == 0 || found == external_.end()) return;
  slice.external = found->second;
  const auto place = places.find(slice.external);
  if (place == places.end()) return;
  slice.node = place->second.node, slice.member = place->second.member;
  slice.members = place->second.members, slice.pass = place->second.pass;
}

// The pass is that of the launch.
bool ActivityReader::place_by_graph(Slice& slice, std::size_t i, const GraphPlaces& graphs) const {
  const auto id = graph_nodes_.find(i);
  const auto place = id == graph_nodes_.end() ? std::nullopt : graphs.find(id->second);
  if (!place) return false;
  slice.node = place->node, slice.member = place->member, slice.members = place->members;
  slice.conversion = place->conversion;
  return true;
}

void ActivityReader::finish(const std::unordered_map<std::uint64_t, Place>& places, const GraphPlaces& graphs,
                            const std::string& sentinel) {
  profiler::Slices tied;
  tied.reserve(trace_.slices.size());
  std::size_t in_graphs = 0, untied = 0;
  for (std::size_t i = 0; i < trace_.slices.size(); ++i) {
    auto slice = trace_.slices[i];
    place_by_launch(slice, places);
    if (profiler::on_device(slice.kind) && graph_launches_.contains(slice.correlation)) {
      ++in_graphs;
      untied += !place_by_graph(slice, i, graphs);
    }
    tied.push(slice);
  }
  trace_.slices = std::move(tied);
  tell_of_untied(untied, in_graphs, graphs);
  judge(sentinel);
}

void ActivityReader::tell_of_untied(std::size_t untied, std::size_t in_graphs, const GraphPlaces& graphs) {
  if (untied == 0) return;
  auto why = graphs.refusal();
  if (why.empty()) {
    why = graph_nodes_.empty() ? "the driver does not say which node of the graph each is"
                               : "they were recorded before anybody looked";
  }
  trace_.facts[profiler::kUntiedFact] =
      std::to_string(untied) + " of " + std::to_string(in_graphs) + ": " + why;
}

void ActivityReader::judge(const std::string& sentinel) {
  auto& badge = trace_.completeness;
  // Of a device these are what tells; operators of the host have been counted by who saw them.
  badge.launches = launches_.size() + graph_launches_.size(), badge.kernels = kernel_records_;
  std::size_t without_kernel = 0, without_launch = 0;
  for (const auto launch : launches_) without_kernel += !kernels_.contains(launch);
  for (const auto launch : graph_launches_) without_kernel += !kernels_.contains(launch);
  for (const auto kernel : kernels_)
    without_launch += !launches_.contains(kernel) && !graph_launches_.contains(kernel);
  if (badge.dropped > 0) {
    badge.fail("CUPTI dropped " + std::to_string(badge.dropped) +
               " records; capture fewer passes or give it larger buffers");
  }
  if (badge.kernels == 0) badge.fail("no kernel was recorded; was anything launched on the GPU?");
  if (without_kernel > 0) {
    badge.fail(std::to_string(without_kernel) + " of " + std::to_string(badge.launches) +
               " launches have no kernel record");
  }
  if (without_launch > 0) badge.fail(std::to_string(without_launch) + " kernels have no launch record");
  if (backward_ > 0) badge.fail(std::to_string(backward_) + " records have no usable times");
  bool seen = sentinel.empty();
  for (std::size_t i = 0; i < trace_.slices.size() && !seen; ++i)
    seen = trace_.slices.kind(i) == Kind::kKernel && trace_.names[trace_.slices.name(i)] == sentinel;
  if (!seen) badge.fail("the kernel that was launched to test the capture is not in it");
  std::string kinds;
  for (const auto kind : unknown_kinds_) kinds += (kinds.empty() ? "" : ", ") + std::to_string(kind);
  if (!kinds.empty()) trace_.facts["records not read, by CUPTI kind"] = kinds;
}

}  // namespace wide::cuda
