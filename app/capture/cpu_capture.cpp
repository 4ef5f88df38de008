#include "app/capture/cpu_capture.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <c10/core/Allocator.h>
#include <c10/util/ThreadLocalDebugInfo.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <mutex>

#include "app/capture/thread_log.h"
#include "core/eager/observe.h"
#include "formats/error.h"
#include "profiler/trace/name_gaps.h"

// Note [Apart]
// A capture slows every operator down a little, also on threads that are not looked at. So nothing is timed
// while one is under way, and finish() leaves nothing behind: no record function, no observer, no memory
// reporter. `widebench profile` is a process of its own; the workers of a sweep never capture.

namespace wide::app {
namespace {

using profiler::Kind;

// A leaf operator run before the first pass: a capture that does not show it sees nothing.
constexpr const char* kSentinel = "aten::bitwise_left_shift";

// What noting a step costs outside of that step, nanoseconds: it is found between the nodes of every capture.
std::int64_t step_cost() {
  constexpr std::int64_t kSteps = 2000;
  ThreadLog log(0, kSteps);
  const auto start = now();
  for (std::int64_t i = 0; i < kSteps; ++i) {
    log.begin(Kind::kNode, "node", 0, 0);
    log.end();
  }
  auto outside = now() - start;
  for (const auto& slice : log.slices()) outside -= slice.duration;
  return outside / kSteps;
}

}  // namespace

class CpuCapture::Recorder final : public RunObserver {
 public:
  explicit Recorder(Settings settings) : settings_(std::move(settings)), epoch_(next_epoch()) {}

  void start();
  void pass(const std::function<void()>& work);
  void stop();
  profiler::Trace trace();

  /// The log of the calling thread.
  ThreadLog& log();
  std::int32_t pass_number() const { return pass_.load(std::memory_order_relaxed); }
  void allocated(std::int64_t bytes) {
    log().memory(static_cast<double>(in_use_.fetch_add(bytes, std::memory_order_relaxed) + bytes));
  }

  static Recorder* current() { return current_.load(std::memory_order_acquire); }

 private:
  struct Memory final : c10::MemoryReportingInfoBase {
    void reportMemoryUsage(void*, std::int64_t bytes, std::size_t, std::size_t, c10::Device device) override {
      auto* const recorder = Recorder::current();
      if (recorder && device.is_cpu()) recorder->allocated(bytes);
    }
    bool memoryProfilingEnabled() const override { return true; }
  };

  static std::uint64_t next_epoch() {
    static std::atomic<std::uint64_t> epoch{0};
    return ++epoch;
  }
  void do_begin(const RunStep& step) override;
  void do_begin_members(MemberRange members) override;
  void do_end() override;
  void watch_memory();
  void unwatch_memory();
  void add_thread(const ThreadLog& log, bool main, profiler::Trace& trace) const;
  void judge(profiler::Trace& trace) const;

  static std::atomic<Recorder*> current_;
  Settings settings_;
  std::uint64_t epoch_;
  std::int64_t start_ = 0, base_ = 0;
  std::int64_t main_thread_ = 0;
  std::atomic<std::int32_t> pass_{-1};
  std::int32_t passes_ = 0;
  std::atomic<std::int64_t> in_use_{0};
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
  at::CallbackHandle handle_ = at::INVALID_CALLBACK_HANDLE;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ThreadLog>> logs_;
};

std::atomic<CpuCapture::Recorder*> CpuCapture::Recorder::current_{nullptr};

namespace {

struct Mine {
  std::uint64_t epoch = 0;
  ThreadLog* log = nullptr;
  bool watching = false;  // this thread's allocations are reported
};
thread_local Mine mine;

}  // namespace

ThreadLog& CpuCapture::Recorder::log() {
  if (mine.epoch == epoch_) return *mine.log;
  const std::lock_guard lock(mutex_);
  const auto thread = static_cast<std::int64_t>(::syscall(SYS_gettid));
  // A thread gets what is left: in practice one thread has nearly all.
  logs_.push_back(std::make_unique<ThreadLog>(thread, settings_.most_slices));
  mine = {epoch_, logs_.back().get(), false};
  return *mine.log;
}

void CpuCapture::Recorder::watch_memory() {
  c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::PROFILER_STATE, memory_);
  mine.watching = true;
}

void CpuCapture::Recorder::unwatch_memory() {
  c10::ThreadLocalDebugInfo::_pop(c10::DebugInfoKind::PROFILER_STATE);
  mine.watching = false;
}

void CpuCapture::Recorder::do_begin(const RunStep& step) {
  const auto node = static_cast<std::size_t>(step.node);
  const std::string_view name = step.conversion || step.node < 0 || node >= settings_.nodes.size()
                                    ? step.what
                                    : std::string_view(settings_.nodes[node].name);
  log().begin(step.conversion ? Kind::kConversion : Kind::kNode, name, step.node, pass_number());
}

void CpuCapture::Recorder::do_begin_members(MemberRange members) {
  auto& thread = log();
  if (thread.idle() && !mine.watching) watch_memory();
  members.first += thread.first_member();  // a chunk counts its members from 0
  const auto last = members.first + members.count - 1;
  const auto name = members.count == 1
                        ? "member " + std::to_string(members.first)
                        : "members " + std::to_string(members.first) + " to " + std::to_string(last);
  thread.begin_members(name, static_cast<std::int32_t>(members.first),
                       static_cast<std::int32_t>(members.count), pass_number());
}

void CpuCapture::Recorder::do_end() {
  auto& thread = log();
  thread.end();
  if (thread.idle() && mine.watching) unwatch_memory();
}

void CpuCapture::Recorder::start() {
  Recorder* nobody = nullptr;
  if (!current_.compare_exchange_strong(nobody, this))
    throw Error("profile", "another capture is under way in this process; finish it first");
  main_thread_ = static_cast<std::int64_t>(::syscall(SYS_gettid));
  base_ = std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::system_clock::now().time_since_epoch())
              .count();
  start_ = now();
  log();
  handle_ = at::addGlobalCallback(
      at::RecordFunctionCallback(
          [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
            if (auto* recorder = Recorder::current())
              recorder->log().begin(Kind::kOperator, function.name(), -1, recorder->pass_number());
            return nullptr;
          },
          [](const at::RecordFunction&, at::ObserverContext*) {
            if (auto* recorder = Recorder::current()) recorder->log().end();
          })
          .scopes({at::RecordScope::FUNCTION}));
  run_observer = this;
  const c10::InferenceMode guard;
  at::bitwise_left_shift(at::ones({1}, at::kInt), 1);
}

void CpuCapture::Recorder::pass(const std::function<void()>& work) {
  pass_ = passes_++;
  watch_memory();
  auto& thread = log();
  thread.begin(Kind::kPass, "pass " + std::to_string(pass_number()), -1, pass_number());
  const auto ended = [&] {
    while (!thread.idle()) thread.end();
    unwatch_memory();
    pass_ = -1;
  };
  try {
    work();
  } catch (...) {
    ended();
    throw;
  }
  ended();
}

void CpuCapture::Recorder::stop() {
  if (handle_ == at::INVALID_CALLBACK_HANDLE) return;
  run_observer = nullptr;
  at::removeCallback(handle_);
  handle_ = at::INVALID_CALLBACK_HANDLE;
  current_ = nullptr;
}

void CpuCapture::Recorder::add_thread(const ThreadLog& log, bool main, profiler::Trace& trace) const {
  const auto name = main ? std::string("main") : "worker " + std::to_string(trace.tracks.size());
  const auto track = trace.track({trace.contender, name, 1, log.thread(), -1});
  for (auto slice : log.slices()) {
    slice.start -= start_, slice.track = track;
    slice.name = trace.names.intern(log.names()[slice.name]);
    // Work that is nobody's in particular is everybody's.
    if (slice.member < 0 && slice.pass >= 0)
      slice.member = 0, slice.members = static_cast<std::int32_t>(trace.members);
    trace.slices.push(slice);
  }
  const auto series = trace.names.intern(profiler::kMemorySeries);
  for (const auto& point : log.memory()) trace.counters.push_back({point.time - start_, series, point.value});
  trace.completeness.dropped += log.dropped();
  trace.completeness.launches += log.begun(), trace.completeness.kernels += log.ended();
}

void CpuCapture::Recorder::judge(profiler::Trace& trace) const {
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

profiler::Trace CpuCapture::Recorder::trace() {
  profiler::Trace trace;
  trace.subject = settings_.subject, trace.contender = settings_.contender;
  trace.members = settings_.members, trace.nodes = std::move(settings_.nodes);
  trace.passes = passes_, trace.base_ns = base_;
  std::size_t slices = 0;
  for (const auto& log : logs_) slices += log->slices().size();
  trace.slices.reserve(slices);
  for (const auto& log : logs_) add_thread(*log, log->thread() == main_thread_, trace);
  profiler::name_gaps(trace);
  trace.facts[profiler::kStepCost] = std::to_string(step_cost());
  std::stable_sort(trace.counters.begin(), trace.counters.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  judge(trace);
  return trace;
}

CpuCapture::CpuCapture(Settings settings) : recorder_(std::make_unique<Recorder>(std::move(settings))) {
  recorder_->start();
}

CpuCapture::~CpuCapture() {
  recorder_->stop();
}

void CpuCapture::pass(const std::function<void()>& work) {
  recorder_->pass(work);
}

profiler::Trace CpuCapture::finish() {
  recorder_->stop();
  return recorder_->trace();
}

}  // namespace wide::app
