#include "app/capture/capture.h"

#include <atomic>
#include <chrono>

#include "app/capture/cpu_source.h"
#include "core/eager/observe.h"
#include "formats/error.h"
#include "profiler/trace/name_gaps.h"

// Note [Apart]
// A capture slows every operator down a little, also on threads that are not looked at. So nothing is timed
// while one is under way, and finish() leaves nothing behind: no record function, no observer, no memory
// reporter, no records of a device. `widebench profile` is a process of its own; the workers of a sweep never
// capture.

namespace wide::app {

using profiler::Kind;
using profiler::Step;

// Follows the steps of every thread and tells them to all sources.
class Capture::Steps final : public RunObserver {
 public:
  Steps(Settings settings, std::unique_ptr<profiler::Source> device)
      : settings_(std::move(settings)), epoch_(next_epoch()) {
    sources_.push_back(cpu_source(settings_.most_slices, settings_.device));
    if (device) sources_.push_back(std::move(device));
  }
  ~Steps() override { stop(); }

  void start();
  void pass(const std::function<void()>& work);
  void stop();
  profiler::Trace trace();

 private:
  static std::uint64_t next_epoch() {
    static std::atomic<std::uint64_t> epoch{0};
    return ++epoch;
  }
  void do_begin(const RunStep& step) override;
  void do_begin_members(MemberRange members) override;
  void do_end() override;
  /// What the calling thread is in; a new step of it works for the same.
  std::vector<Step>& open() const;
  Step within() const;
  void begin(const Step& step);

  Settings settings_;
  std::uint64_t epoch_;
  std::vector<std::unique_ptr<profiler::Source>> sources_;
  std::size_t started_ = 0;  // of the sources, those that have begun
  std::int64_t origin_ = 0, base_ = 0;
  std::atomic<std::int32_t> pass_{-1};
  std::int32_t passes_ = 0;
};

std::vector<Step>& Capture::Steps::open() const {
  struct Mine {
    std::uint64_t epoch = 0;
    std::vector<Step> steps;
  };
  static thread_local Mine mine;
  if (mine.epoch != epoch_) mine.epoch = epoch_, mine.steps.clear();
  return mine.steps;
}

Step Capture::Steps::within() const {
  if (!open().empty()) return open().back();
  Step all;
  all.pass = pass_.load(std::memory_order_relaxed);
  all.member = 0, all.members = static_cast<std::int32_t>(settings_.members);
  return all;
}

void Capture::Steps::begin(const Step& step) {
  open().push_back(step);
  for (const auto& source : sources_) source->begin(step);
}

void Capture::Steps::do_begin(const RunStep& step) {
  auto begun = within();
  const auto node = static_cast<std::size_t>(step.node);
  const bool named = !step.conversion && step.node >= 0 && node < settings_.nodes.size();
  begun.name = named ? std::string_view(settings_.nodes[node].name) : step.what;
  begun.kind = step.conversion ? Kind::kConversion : Kind::kNode;
  if (step.node >= 0) begun.node = step.node;
  begin(begun);
}

void Capture::Steps::do_begin_members(MemberRange members) {
  auto begun = within();
  members.first += begun.member;  // a chunk counts its members from 0
  const auto last = members.first + members.count - 1;
  const auto name = members.count == 1
                        ? "member " + std::to_string(members.first)
                        : "members " + std::to_string(members.first) + " to " + std::to_string(last);
  begun.kind = Kind::kMember, begun.name = name;
  begun.member = static_cast<std::int32_t>(members.first);
  begun.members = static_cast<std::int32_t>(members.count);
  begin(begun);
}

void Capture::Steps::do_end() {
  if (open().empty()) return;  // began before the capture did
  for (auto source = sources_.rbegin(); source != sources_.rend(); ++source) (*source)->end();
  open().pop_back();
}

void Capture::Steps::start() {
  base_ = std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::system_clock::now().time_since_epoch())
              .count();
  origin_ = profiler::now();
  for (const auto& source : sources_) {
    if (const auto refusal = source->start(origin_); !refusal.empty()) throw Error("profile", refusal);
    ++started_;
  }
  run_observer = this;
}

void Capture::Steps::pass(const std::function<void()>& work) {
  pass_ = passes_++;
  auto step = within();
  const auto name = "pass " + std::to_string(pass_.load());
  step.kind = Kind::kPass, step.name = name;
  begin(step);
  const auto ended = [&] {
    while (!open().empty()) do_end();
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

void Capture::Steps::stop() {
  if (run_observer.load() == this) run_observer = nullptr;
  for (; started_ > 0; --started_) sources_[started_ - 1]->stop();
}

profiler::Trace Capture::Steps::trace() {
  profiler::Trace trace;
  trace.subject = settings_.subject, trace.contender = settings_.contender;
  trace.members = settings_.members, trace.nodes = std::move(settings_.nodes);
  trace.passes = passes_, trace.base_ns = base_;
  for (const auto& source : sources_) source->add_to(trace);
  profiler::name_gaps(trace);
  return trace;
}

Capture::Capture(Settings settings, std::unique_ptr<profiler::Source> device_source)
    : steps_(std::make_unique<Steps>(std::move(settings), std::move(device_source))) {
  steps_->start();
}

Capture::~Capture() = default;

void Capture::pass(const std::function<void()>& work) {
  steps_->pass(work);
}

profiler::Trace Capture::finish() {
  steps_->stop();
  return steps_->trace();
}

}  // namespace wide::app
