#pragma once
// Lets work on a model be cancelled between any two of its steps.

#include <functional>
#include <thread>
#include <utility>

#include "core/eager/observe.h"

namespace wide::app {

/// While it lives, `check` is called before every step that this thread takes, and throws what ends the work.
/// Steps on other threads go on to their end. Not while a profiler looks: there is one observer in a process.
class CancelPoints final : public RunObserver {
 public:
  explicit CancelPoints(std::function<void()> check) : check_(std::move(check)) { run_observer = this; }
  ~CancelPoints() override { run_observer = nullptr; }
  CancelPoints(const CancelPoints&) = delete;
  CancelPoints& operator=(const CancelPoints&) = delete;

 private:
  void do_begin(const RunStep&) override { ask(); }
  void do_begin_members(MemberRange) override { ask(); }
  void do_end() override {}
  void ask() const {
    if (std::this_thread::get_id() == thread_) check_();
  }

  std::function<void()> check_;
  std::thread::id thread_ = std::this_thread::get_id();
};

}  // namespace wide::app
