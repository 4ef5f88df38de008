#pragma once
// Who wants to know what runs: a profiler. Without one, each step costs one branch.

#include <atomic>
#include <cstdint>
#include <string_view>

namespace wide {

/// One step of a program or of a member's separate run.
struct RunStep {
  std::int32_t node = -1;   ///< index into the graph's nodes; -1: a change of layout of an output
  bool conversion = false;  ///< a change of layout before the node
  std::string_view what;    ///< of a change of layout, else empty; good as long as the program is
};

/// Members that the calling thread works for, counted from the first of those around it.
struct MemberRange {
  std::int64_t first = 0;
  std::int64_t count = 0;  ///< 0: nobody said, which means all
};

/// Told of every step, on the thread that takes it; begin and end nest.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  void begin(const RunStep& step) { do_begin(step); }
  void end() { do_end(); }
  void begin_members(MemberRange members) { do_begin_members(members); }

 private:
  virtual void do_begin(const RunStep& step) = 0;
  virtual void do_begin_members(MemberRange members) = 0;
  virtual void do_end() = 0;  ///< of the innermost step or members on this thread
};

/// The observer of this process, for all threads; null: nobody looks. Changed only while nothing runs.
inline std::atomic<RunObserver*> run_observer{nullptr};

/// Brackets one step. `observer` may be null.
class ObservedStep {
 public:
  ObservedStep(RunObserver* observer, const RunStep& step) : observer_(observer) {
    if (observer_) observer_->begin(step);
  }
  ~ObservedStep() {
    if (observer_) observer_->end();
  }
  ObservedStep(const ObservedStep&) = delete;
  ObservedStep& operator=(const ObservedStep&) = delete;

 private:
  RunObserver* observer_;
};

/// Brackets work for some members only: one member of a sequential run, a chunk of a wide one.
class ObservedMembers {
 public:
  explicit ObservedMembers(MemberRange members) : observer_(run_observer.load(std::memory_order_relaxed)) {
    if (observer_) observer_->begin_members(members);
  }
  ~ObservedMembers() {
    if (observer_) observer_->end();
  }
  ObservedMembers(const ObservedMembers&) = delete;
  ObservedMembers& operator=(const ObservedMembers&) = delete;

 private:
  RunObserver* observer_;
};

}  // namespace wide
