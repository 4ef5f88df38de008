#include "core/thread_team.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <chrono>
#include <exception>

namespace wide {
namespace {

// Waiting threads look again for a while before they sleep, so that short work is not paid for with a
// wake-up.
constexpr auto kSpin = std::chrono::microseconds(20);

template <typename Value>
void wait_while(const std::atomic<Value>& atomic, Value old) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  while (atomic.load(std::memory_order_acquire) == old) {
    if (std::chrono::steady_clock::now() < end) continue;
    atomic.wait(old, std::memory_order_acquire);
  }
}

}  // namespace

ThreadTeam::ThreadTeam(std::size_t size) {
  const auto threads = at::get_num_threads();
  size = std::max<std::size_t>(size, 1);
  busy_ = size;
  for (std::size_t i = 0; i < size; ++i) threads_.emplace_back([this] { serve(); });
  for (auto left = busy_.load(); left > 0; left = busy_.load()) wait_while(busy_, left);
  // set_num_threads is per thread, but also what threads born later start with.
  at::set_num_threads(threads);
}

ThreadTeam::~ThreadTeam() {
  stop_ = true;
  ++round_;
  round_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void ThreadTeam::serve() {
  at::set_num_threads(1);
  auto seen = round_.load();
  busy_.fetch_sub(1);
  busy_.notify_all();
  while (true) {
    wait_while(round_, seen);
    seen = round_.load();
    if (stop_) return;
    take_items();
    if (busy_.fetch_sub(1) == 1) busy_.notify_all();
  }
}

void ThreadTeam::take_items() {
  for (auto i = next_.fetch_add(1); i < count_; i = next_.fetch_add(1)) {
    try {
      (*work_)(i);
    } catch (...) {
      if (!failed_.exchange(true)) failure_ = std::current_exception();
      return;
    }
  }
}

void ThreadTeam::run(std::size_t count, const std::function<void(std::size_t)>& work) {
  work_ = &work;
  count_ = count;
  failed_ = false;
  failure_ = nullptr;
  next_ = 0;
  busy_ = threads_.size();
  ++round_;
  round_.notify_all();
  for (auto left = busy_.load(); left > 0; left = busy_.load()) wait_while(busy_, left);
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace wide
