#include "cuda/activity_capture.h"

#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>
#include <vector>

namespace wide::cuda {
namespace {

// Without these a capture is worth nothing; without the others it says less.
constexpr std::array kNeeded = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME};
constexpr std::array kWanted = {CUPTI_ACTIVITY_KIND_DRIVER,   CUPTI_ACTIVITY_KIND_MEMCPY,
                                CUPTI_ACTIVITY_KIND_MEMSET,   CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                CUPTI_ACTIVITY_KIND_MARKER};
// Called by the thousand, and of no interest.
constexpr std::array<std::string_view, 7> kNoisy = {
    "cudaGetDevice",  "cudaSetDevice",          "cudaGetLastError",     "cudaPeekAtLastError",
    "cudaEventQuery", "cudaDeviceGetAttribute", "cudaStreamIsCapturing"};
constexpr CUpti_CallbackId kMostRuntimeCalls = 1024;
constexpr auto kKindOfIds = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
constexpr std::size_t kAlignment = 8;
// Beyond this the host's clock and CUPTI's ran apart, nanoseconds.
constexpr std::int64_t kMostDrift = 100'000;

using Buffer = std::unique_ptr<std::uint8_t, decltype(&std::free)>;

Buffer make_buffer(std::size_t bytes) {
  return {static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, bytes)), &std::free};
}

std::uint64_t host_time() {
  return static_cast<std::uint64_t>(profiler::now());
}

}  // namespace

struct ActivityCapture::State {
  struct Filled {
    Buffer bytes;
    std::size_t valid;
  };

  State(const CuptiApi& table, Settings given) : api(table), settings(std::move(given)) {}

  std::optional<Refusal> start();
  void stop();
  void switch_off();
  void quieten() const;
  void leave_out_what_came_before();
  void take_the_hosts_clock_and_threads();
  std::int64_t offset() const;

  static void request(std::uint8_t** buffer, std::size_t* size, std::size_t* most);
  static void complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t size,
                       std::size_t valid);
  static std::atomic<State*> current;

  const CuptiApi& api;
  Settings settings;
  std::mutex mutex;
  std::vector<Buffer> free;
  std::vector<Filled> filled;
  std::vector<CUpti_ActivityKind> enabled;
  std::vector<std::string> missing, faults;
  std::unordered_map<std::uint64_t, Place> places;
  std::uint64_t next_id = 1, dropped = 0, late_buffers = 0;
  std::int64_t origin = 0, ahead = 0;  // of the trace, by the host's clock; CUPTI's clock before the host's
  bool running = false;
};

std::atomic<ActivityCapture::State*> ActivityCapture::State::current{nullptr};

// CUPTI owns a buffer from here until it completes it. A capture that has ended still gets what was under
// way.
void ActivityCapture::State::request(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *most = 0;
  auto* const state = current.load();
  if (!state) {
    *buffer = nullptr, *size = 0;
    return;
  }
  const std::lock_guard lock(state->mutex);
  if (state->free.empty()) {
    state->free.push_back(make_buffer(state->settings.buffer_bytes));
    ++state->late_buffers;
  }
  *buffer = state->free.back().release();
  *size = *buffer ? state->settings.buffer_bytes : 0;
  state->free.pop_back();
}

void ActivityCapture::State::complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                                      std::size_t, std::size_t valid) {
  Buffer bytes(buffer, &std::free);
  auto* const state = current.load();
  if (!state) return;
  std::size_t lost = 0;
  const bool told = state->api.dropped_records(context, stream, &lost) == CUPTI_SUCCESS;
  const std::lock_guard lock(state->mutex);
  if (told) state->dropped += lost;
  if (buffer && valid > 0) state->filled.push_back({std::move(bytes), valid});
}

void ActivityCapture::State::quieten() const {
  for (CUpti_CallbackId id = 1; id < kMostRuntimeCalls; ++id) {
    const char* name = nullptr;
    if (api.callback_name(CUPTI_CB_DOMAIN_RUNTIME_API, id, &name) != CUPTI_SUCCESS || !name) continue;
    for (const auto noisy : kNoisy) {
      if (std::string_view(name).starts_with(noisy)) api.enable_runtime_call(id, 0);
    }
  }
}

// Note [One clock]
// The host's slices are timed by the steady clock and name threads as the system does; CUPTI's own are
// another clock, which the system may set meanwhile, and a part of pthread_self. So CUPTI is given the clock
// and told to take the system's ids, both before any kind is switched on. An older one that refuses is read
// by its offset, and its threads are tracks of their own; clocks that ran apart are told.
void ActivityCapture::State::take_the_hosts_clock_and_threads() {
  api.register_timestamp(host_time);
  api.set_thread_ids(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
}

std::int64_t ActivityCapture::State::offset() const {
  std::uint64_t time = 0;
  const auto before = settings.now();
  if (api.timestamp(&time) != CUPTI_SUCCESS) return 0;
  return static_cast<std::int64_t>(time) - (before + settings.now()) / 2;
}

// CUPTI goes on counting after a capture has ended and has nowhere to write then: what it lost of the work
// between two captures would be told at the first buffer of the second.
void ActivityCapture::State::leave_out_what_came_before() {
  api.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  std::size_t lost = 0;
  api.dropped_records(nullptr, 0, &lost);
  const std::lock_guard lock(mutex);
  for (auto& buffer : filled) free.push_back(std::move(buffer.bytes));
  filled.clear();
  dropped = 0;
}

std::optional<Refusal> ActivityCapture::State::start() {
  State* nobody = nullptr;
  if (!current.compare_exchange_strong(nobody, this))
    return Refusal{"another capture is under way in this process", "finish it first"};
  while (free.size() < settings.buffers) free.push_back(make_buffer(settings.buffer_bytes));
  static std::set<decltype(api.register_callbacks)> registered;
  if (!registered.contains(api.register_callbacks)) {
    if (const auto code = api.register_callbacks(request, complete); code != CUPTI_SUCCESS) {
      current = nullptr;
      return explain(api, code, "cuptiActivityRegisterCallbacks");
    }
    registered.insert(api.register_callbacks);
  }
  take_the_hosts_clock_and_threads();
  for (const auto kind : kNeeded) {
    if (const auto code = api.enable(kind); code != CUPTI_SUCCESS) {
      switch_off();
      current = nullptr;
      return explain(api, code, "cuptiActivityEnable");
    }
    enabled.push_back(kind);
  }
  for (const auto kind : kWanted) {
    if (const auto code = api.enable(kind); code == CUPTI_SUCCESS) {
      enabled.push_back(kind);
    } else {
      missing.push_back(explain(api, code, "cuptiActivityEnable of kind " + std::to_string(kind)).reason);
    }
  }
  quieten();
  leave_out_what_came_before();
  ahead = offset();
  running = true;
  if (settings.sentinel) settings.sentinel();
  return std::nullopt;
}

void ActivityCapture::State::switch_off() {
  for (const auto kind : enabled) api.disable(kind);
  enabled.clear();
}

void ActivityCapture::State::stop() {
  if (!running) return;
  const auto drift = std::abs(offset() - ahead);
  const auto flushed = api.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  switch_off();
  current = nullptr;
  running = false;
  if (drift > kMostDrift) {
    faults.push_back("CUPTI's clock and the host's ran apart by " + std::to_string(drift / 1000) +
                     " us: launches and kernels do not lie where they belong");
  }
  if (flushed != CUPTI_SUCCESS)
    faults.push_back("the last records may be missing: " +
                     explain(api, flushed, "cuptiActivityFlushAll").reason);
  for (const auto& reason : missing) faults.push_back("a kind of record is missing: " + reason);
}

ActivityCapture::ActivityCapture(const CuptiApi& api, Settings settings)
    : state_(std::make_unique<State>(api, std::move(settings))) {}

ActivityCapture::~ActivityCapture() {
  state_->stop();
}

std::string ActivityCapture::start(std::int64_t origin) {
  state_->origin = origin;
  const auto refusal = state_->start();
  return refusal ? refusal->text() : "";
}

void ActivityCapture::begin(const profiler::Step& step) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(state_->mutex);
    id = state_->next_id++;
    state_->places[id] = {step.node, step.member, step.members, step.pass, false};
  }
  state_->api.push_external(kKindOfIds, id);
}

void ActivityCapture::end() {
  std::uint64_t last = 0;
  state_->api.pop_external(kKindOfIds, &last);
}

void ActivityCapture::stop() {
  state_->stop();
}

void ActivityCapture::add_to(profiler::Trace& trace) {
  for (auto& fault : state_->faults) trace.completeness.fail(std::move(fault));
  trace.completeness.dropped += state_->dropped;
  trace.devices = state_->settings.devices;
  if (state_->late_buffers > 0)
    trace.facts["buffers made during the capture"] = std::to_string(state_->late_buffers);
  ActivityReader reader(state_->api, trace, static_cast<std::uint64_t>(state_->origin + state_->ahead));
  for (auto& buffer : state_->filled) reader.read(buffer.bytes.get(), buffer.valid);
  const GraphPlaces none;
  const auto& graphs = state_->settings.graphs ? *state_->settings.graphs : none;
  reader.finish(state_->places, graphs, state_->settings.sentinel ? state_->settings.sentinel_name : "");
  state_->filled.clear();
}

std::optional<Refusal> other_subscriber(const CuptiApi& api) {
  CUpti_SubscriberHandle handle{};
  const auto code = api.subscribe(
      &handle, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}, nullptr);
  if (code != CUPTI_SUCCESS) return explain(api, code, "cuptiSubscribe");
  api.unsubscribe(handle);
  return std::nullopt;
}

}  // namespace wide::cuda
