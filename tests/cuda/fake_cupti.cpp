#include "cuda/fake_cupti.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace wide::test {
namespace {

constexpr std::size_t kCell = 512;       // every record takes one cell of a buffer
constexpr std::size_t kRoom = 4U << 20;  // of a buffer that a program makes
static_assert(sizeof(CUpti_ActivityKernel10) <= kCell);

// As the callback ids of the fake, from 1.
constexpr std::array kCalls = {"cudaGetDevice_v3020", "cudaLaunchKernel_v7000", "cudaGraphLaunch_v10000",
                               "cuLaunchKernel", "cudaMemcpyAsync_v3020"};

FakeCupti* active = nullptr;
// CUPTI keeps them for the life of the process.
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;

}  // namespace

struct FakeCalls {
  static CUptiResult version(std::uint32_t* version) {
    *version = 130001;
    return CUPTI_SUCCESS;
  }
  static CUptiResult text(CUptiResult code, const char** text) {
    *text =
        code == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR";
    return CUPTI_SUCCESS;
  }
  static CUptiResult timestamp(std::uint64_t* time) {
    *time = active->clock ? active->clock() : active->time;
    return CUPTI_SUCCESS;
  }
  static CUptiResult register_timestamp(CUpti_TimestampCallbackFunc clock) {
    if (active->takes_clock) active->clock = clock;
    return active->takes_clock ? CUPTI_SUCCESS : CUPTI_ERROR_NOT_SUPPORTED;
  }
  static CUptiResult set_thread_ids(CUpti_ActivityThreadIdType type) {
    active->thread_ids = type;
    return CUPTI_SUCCESS;
  }
  static CUptiResult register_callbacks(CUpti_BuffersCallbackRequestFunc requested,
                                        CUpti_BuffersCallbackCompleteFunc completed) {
    if (active->register_fails != CUPTI_SUCCESS) return active->register_fails;
    request = requested, complete = completed;
    ++active->registrations;
    return CUPTI_SUCCESS;
  }
  static CUptiResult enable(CUpti_ActivityKind kind) {
    if (const auto found = active->enable_fails.find(kind); found != active->enable_fails.end())
      return found->second;
    active->enabled.push_back(kind);
    return CUPTI_SUCCESS;
  }
  static CUptiResult disable(CUpti_ActivityKind kind) {
    std::erase(active->enabled, kind);
    active->begun_ = false;
    return CUPTI_SUCCESS;
  }
  static CUptiResult flush(std::uint32_t) {
    // The first of a capture asks for what came before, which fills a buffer of its own.
    if (!std::exchange(active->begun_, true)) {
      if (active->lost_before > 0) hand_out({});
      return CUPTI_SUCCESS;
    }
    active->streams_ = true;
    for (const auto& cells : active->buffers_) hand_out(cells);
    active->streams_ = false;
    active->buffers_.clear();
    return active->flush_fails;
  }
  static void hand_out(const std::vector<std::uint8_t>& cells) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0;
    request(&buffer, &size, &most);
    ++active->buffers_taken;
    if (cells.size() > size) throw std::logic_error("the test's stream is larger than a buffer");
    std::copy(cells.begin(), cells.end(), buffer);
    complete(nullptr, 0, buffer, size, cells.size());
  }
  static CUptiResult next(std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
    auto* const at = *record ? reinterpret_cast<std::uint8_t*>(*record) + kCell : buffer;
    if (at >= buffer + valid)
      return active->record_fails == CUPTI_SUCCESS ? CUPTI_ERROR_MAX_LIMIT_REACHED : active->record_fails;
    *record = reinterpret_cast<CUpti_Activity*>(at);
    return CUPTI_SUCCESS;
  }
  static CUptiResult dropped(CUcontext, std::uint32_t, std::size_t* count) {
    *count = std::exchange(active->streams_ ? active->dropped : active->lost_before, 0);
    return CUPTI_SUCCESS;
  }
  static CUptiResult enable_call(CUpti_CallbackId id, std::uint8_t on) {
    if (!on) active->quietened.emplace_back(kCalls.at(id - 1));
    return CUPTI_SUCCESS;
  }
  static CUptiResult call_name(CUpti_CallbackDomain, std::uint32_t id, const char** name) {
    if (id == 0 || id > kCalls.size()) return CUPTI_ERROR_INVALID_PARAMETER;
    *name = kCalls.at(id - 1);
    return CUPTI_SUCCESS;
  }
  static CUptiResult push(CUpti_ExternalCorrelationKind, std::uint64_t id) {
    active->externals.push_back(id);
    return CUPTI_SUCCESS;
  }
  static CUptiResult pop(CUpti_ExternalCorrelationKind, std::uint64_t* id) {
    if (active->externals.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
    *id = active->externals.back();
    active->externals.pop_back();
    return CUPTI_SUCCESS;
  }
  static CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* data) {
    if (active->subscribe_fails != CUPTI_SUCCESS) return active->subscribe_fails;
    if (active->subscriber_ != nullptr) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    active->subscriber_ = callback, active->subscriber_data_ = data;
    *handle = reinterpret_cast<CUpti_SubscriberHandle>(active);
    return CUPTI_SUCCESS;
  }
  static CUptiResult unsubscribe(CUpti_SubscriberHandle) {
    active->subscriber_ = nullptr;
    active->told.clear();
    return CUPTI_SUCCESS;
  }
  static CUptiResult enable_callback(std::uint32_t on, CUpti_SubscriberHandle, CUpti_CallbackDomain domain,
                                     CUpti_CallbackId what) {
    if (active->callback_fails != CUPTI_SUCCESS) return active->callback_fails;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE && on != 0) active->told.push_back(what);
    return CUPTI_SUCCESS;
  }
  static CUptiResult graph_node_id(CUgraphNode node, std::uint64_t* id) {
    *id = reinterpret_cast<std::uintptr_t>(node);
    return active->node_id_fails;
  }
};

FakeCupti::FakeCupti() {
  active = this;
  next_buffer();
}

FakeCupti::~FakeCupti() {
  active = nullptr;
}

const cuda::CuptiApi& FakeCupti::api() {
  static const cuda::CuptiApi kApi = {FakeCalls::version,
                                      FakeCalls::text,
                                      FakeCalls::timestamp,
                                      FakeCalls::register_timestamp,
                                      FakeCalls::set_thread_ids,
                                      FakeCalls::register_callbacks,
                                      FakeCalls::enable,
                                      FakeCalls::disable,
                                      FakeCalls::flush,
                                      FakeCalls::next,
                                      FakeCalls::dropped,
                                      FakeCalls::enable_call,
                                      FakeCalls::call_name,
                                      FakeCalls::push,
                                      FakeCalls::pop,
                                      FakeCalls::subscribe,
                                      FakeCalls::unsubscribe,
                                      FakeCalls::enable_callback,
                                      FakeCalls::graph_node_id};
  return kApi;
}

template <typename Record>
void FakeCupti::add(const Record& record) {
  static_assert(sizeof(Record) <= kCell);
  if (buffers_.empty() || buffers_.back().size() > kRoom) next_buffer();
  auto& cells = buffers_.back();
  cells.resize(cells.size() + kCell);
  std::memcpy(cells.data() + cells.size() - kCell, &record, sizeof record);
}

void FakeCupti::launch(std::uint32_t correlation, std::uint64_t start, std::uint32_t thread, bool fails,
                       const char* call) {
  CUpti_ActivityAPI record{};
  const auto found = std::find(kCalls.begin(), kCalls.end(), std::string_view(call));
  record.kind =
      std::string_view(call).starts_with("cuda") ? CUPTI_ACTIVITY_KIND_RUNTIME : CUPTI_ACTIVITY_KIND_DRIVER;
  record.cbid = static_cast<CUpti_CallbackId>(found - kCalls.begin() + 1);
  record.start = start, record.end = start + 5;
  record.threadId = thread, record.correlationId = correlation, record.returnValue = fails ? 1 : 0;
  add(record);
}

void FakeCupti::kernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t end, const char* name,
                       std::uint32_t stream) {
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.start = start, record.end = end, record.correlationId = correlation;
  record.name = name, record.streamId = stream;
  record.gridX = 4, record.gridY = 2, record.gridZ = 1, record.blockX = 128,
  record.blockY = record.blockZ = 1;
  add(record);
}

void FakeCupti::graph_kernel(std::uint32_t correlation, std::uint64_t start, std::uint64_t node,
                             std::uint64_t end, const char* name) {
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.start = start, record.end = end != 0 ? end : start + 10, record.correlationId = correlation;
  record.name = name, record.streamId = 7, record.graphId = 3, record.graphNodeId = node;
  add(record);
}

void FakeCupti::copy(std::uint32_t correlation, std::uint64_t start, std::uint64_t end, std::uint64_t node) {
  CUpti_ActivityMemcpy6 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MEMCPY, record.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_DTOD;
  record.start = start, record.end = end, record.correlationId = correlation, record.bytes = 64;
  record.streamId = 7, record.graphId = node != 0 ? 3 : 0, record.graphNodeId = node;
  add(record);
}

void FakeCupti::tell(CUpti_CallbackId what, std::uint64_t node, std::uint64_t original) const {
  if (subscriber_ == nullptr || std::find(told.begin(), told.end(), what) == told.end()) return;
  CUpti_GraphData graph{};
  graph.node = reinterpret_cast<CUgraphNode>(node),
  graph.originalNode = reinterpret_cast<CUgraphNode>(original);
  CUpti_ResourceData resource{};
  resource.resourceDescriptor = &graph;
  subscriber_(subscriber_data_, CUPTI_CB_DOMAIN_RESOURCE, what, &resource);
}

void FakeCupti::node_made(std::uint64_t node) {
  tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, node, 0);
}

void FakeCupti::node_copied(std::uint64_t node, std::uint64_t original) {
  tell(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, node, original);
}

void FakeCupti::external(std::uint32_t correlation, std::uint64_t id) {
  CUpti_ActivityExternalCorrelation record{};
  record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  record.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  record.externalId = id, record.correlationId = correlation;
  add(record);
}

void FakeCupti::range(std::uint32_t id, std::uint64_t start, std::uint64_t end, const char* name) {
  CUpti_ActivityMarker2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_MARKER;
  record.flags = CUPTI_ACTIVITY_FLAG_MARKER_START, record.id = id, record.timestamp = start,
  record.name = name;
  record.objectId.pt.threadId = 1;
  add(record);
  record.flags = CUPTI_ACTIVITY_FLAG_MARKER_END, record.timestamp = end, record.name = nullptr;
  add(record);
}

void FakeCupti::unknown(int kind) {
  static_assert(sizeof CUpti_Activity::kind == sizeof kind);
  add(kind);
}

}  // namespace wide::test
