#include "app/capture/cpu_source.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "app/capture/thread_log.h"

namespace wide::app {
namespace {

using profiler::Kind;

// A leaf operator run before the first pass: a capture that does not show it sees nothing.
constexpr const char* kSentinel = "aten::bitwise_left_shift";

// What noting a step costs outside of that step, nanoseconds: it is found between the nodes of every capture.
std::int64_t step_cost() {
  constexpr std::int64_t kSteps = 2000;
  ThreadLog log(0, kSteps);
  const auto start = profiler::now();
  for (std::int64_t i = 0; i < kSteps; ++i) {
    log.begin({Kind::kNode, "node", 0, 0, 1, 0});
    log.end();
  }
  auto outside = profiler::now() - start;
  for (const auto& slice : log.slices()) outside -= slice.duration;
  return outside / kSteps;
}

class CpuSource final : public profiler::Source {
 public:
  CpuSource(std::size_t most_slices, c10::Device device)
      : most_slices_(most_slices), device_(device), epoch_(next_epoch()) {}
  ~CpuSource() override { CpuSource::stop(); }

  std::string start(std::int64_t origin) override;
  void begin(const profiler::Step& step) override;
  void end() override;
  void stop() override;
  void add_to(profiler::Trace& trace) override;

 private:
  struct Memory final : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t, c10::Device device) override {
      auto* const source = current_.load(std::memory_order_acquire);
      if (source && device.type() == source->device_.type()) source->allocated(bytes);
    }
    bool memoryProfilingEnabled() const override { return true; }
  };

  static std::uint64_t next_epoch() {
    static std::atomic<std::uint64_t> epoch{0};
    return ++epoch;
  }
  /// The log of the calling thread.
  ThreadLog& log();
  void allocated(std::int64_t bytes) {
    log().memory(static_cast<double>(in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes));
  }
  void watch_memory();
  void unwatch_memory();
  void add_thread(const ThreadLog& log, bool main, profiler::Trace& trace) const;
  void judge(profiler::Trace& trace) const;

  static std::atomic<CpuSource*> current_;
  std::size_t most_slices_;
  c10::Device device_;
  std::uint64_t epoch_;
  std::int64_t origin_ = 0;
  std::int64_t main_thread_ = 0;
  std::atomic<std::int32_t> pass_{-1};
  std::atomic<std::int64_t> in_use_{0};
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ThreadLog>> logs_;
};

std::atomic<CpuSource*> CpuSource::current_{nullptr};

struct Mine {
  std::uint64_t epoch = 0;
  ThreadLog* log = nullptr;
  bool watching = false;  // this thread's allocations are reported
};
thread_local Mine mine;

ThreadLog& CpuSource::log() {
  if (mine.epoch == epoch_) return *mine.log;
  const std::lock_guard lock(mutex_);
  const auto thread = static_cast<std::int64_t>(::syscall(SYS_gettid));
  // A thread gets what is left: in practice one thread has nearly all.
  logs_.push_back(std::make_unique<ThreadLog>(thread, most_slices_));
  mine = {epoch_, logs_.back().get(), false};
  return *mine.log;
}

void CpuSource::watch_memory() {
  c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, memory_);
  mine.watching = true;
}

void CpuSource::unwatch_memory() {
  c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
  mine.watching = false;
}

void CpuSource::begin(const profiler::Step& step) {
  auto& thread = log();
  if (thread.idle() && !mine.watching) watch_memory();
  if (step.kind == Kind::kPass) pass_.store(step.pass, std::memory_order_relaxed);
  thread.begin(step);
}

void CpuSource::end() {
  auto& thread = log();
  thread.end();
  if (!thread.idle()) return;
  if (mine.watching) unwatch_memory();
  if (thread.thread() == main_thread_) pass_.store(-1, std::memory_order_relaxed);
}

std::string CpuSource::start(std::int64_t origin) {
  CpuSource* nobody = nullptr;
  if (!current_.compare_exchange_strong(nobody, this))
    return "another capture is under way in this process; finish it first";
  main_thread_ = static_cast<std::int64_t>(::syscall(SYS_gettid));
  origin_ = origin;
  log();
  handle_ = at::addGlobalCallback(
      at::RecordFunctionCallback(
          [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
            if (auto* source = current_.load(std::memory_order_acquire))
              source->log().begin_operator(function.name(), source->pass_.load(std::memory_order_relaxed));
            return nullptr;
          },
          [](const at::RecordFunction&, at::ObserverContext*) {
            if (auto* source = current_.load(std::memory_order_acquire)) source->log().end();
          })
          .scopes({at::RecordScope::FUNCTION}));
  const c10::InferenceMode guard;
  at::bitwise_left_shift(at::ones({1}, at::kInt), 1);
  return "";
}

void CpuSource::stop() {
  if (handle_ == at::INVALID_CALLBACK_HANDLE) return;
  at::removeCallback(handle_);
  handle_ = at::INVALID_CALLBACK_HANDLE;
  current_ = nullptr;
}

void CpuSource::add_thread(const ThreadLog& log, bool main, profiler::Trace& trace) const {
  const auto name = main ? std::string("main") : "worker " + std::to_string(trace.tracks.size());
  const auto track = trace.track({trace.contender, name, 1, log.thread(), -1});
  for (auto slice : log.slices()) {
    slice.start -= origin_, slice.track = track;
    slice.name = trace.names.intern(log.names()[slice.name]);
    // Work that is nobody's in particular is everybody's.
    if (slice.member < 0 && slice.pass >= 0)
      slice.member = 0, slice.members = static_cast<std::int32_t>(trace.members);
    trace.slices.push(slice);
  }
  const auto series = trace.names.intern(profiler::kMemorySeries);
  for (const auto& point : log.memory())
    trace.counters.push_back({point.time - origin_, series, point.value});
  trace.completeness.dropped += log.dropped();
  trace.completeness.launches += log.begun(), trace.completeness.kernels += log.ended();
}

void CpuSource::judge(profiler::Trace& trace) const {
  auto& badge = trace.completeness;
  bool sentinel = false;
  for (std::size_t i = 0; i < trace.slices.size() && !sentinel; ++i)
    sentinel = trace.names[trace.slices.name(i)] == kSentinel;
  if (!sentinel) {
    badge.fail(
        "the operator that was run to test the capture is not in it; record functions are switched off "
        "on this thread");
  }
  if (badge.dropped > 0) {
    badge.fail(std::to_string(badge.dropped) + " events did not fit; capture fewer passes (--passes)");
  } else if (badge.launches != badge.kernels) {
    badge.fail(std::to_string(badge.launches) + " operators began and " + std::to_string(badge.kernels) +
               " ended");
  }
}

void CpuSource::add_to(profiler::Trace& trace) {
  std::size_t slices = 0;
  for (const auto& log : logs_) slices += log->slices().size();
  trace.slices.reserve(slices);
  for (const auto& log : logs_) add_thread(*log, log->thread() == main_thread_, trace);
  trace.facts[profiler::kStepCost] = std::to_string(step_cost());
  std::stable_sort(trace.counters.begin(), trace.counters.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  judge(trace);
}

}  // namespace

std::unique_ptr<profiler::Source> cpu_source(std::size_t most_slices, c10::Device device) {
  return std::make_unique<CpuSource>(most_slices, device);
}

}  // namespace wide::app
