#pragma once
// A team of threads that stand ready, each with one intra-op thread of libtorch: the `threads` rival.

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

namespace wide {

/// Runs work items side by side while the calling thread waits. It takes no item itself: for that it would
/// have to be set to one intra-op thread and back, and at::set_num_threads() drops oneDNN's prepared kernels,
/// which whoever runs next would pay for.
class ThreadTeam {
 public:
  /// `size` threads; at least 1.
  explicit ThreadTeam(std::size_t size);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Calls work(0) … work(count - 1), each once, items taken in turn; returns when all are done. libtorch
  /// works with one thread in each of them. The first exception is thrown again here.
  void run(std::size_t count, const std::function<void(std::size_t)>& work);

 private:
  void serve();
  void take_items();

  std::vector<std::thread> threads_;
  const std::function<void(std::size_t)>* work_ = nullptr;
  std::size_t count_ = 0;
  std::exception_ptr failure_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> busy_{0};  ///< threads that have not finished this round
  std::atomic<unsigned> round_{0};
  std::atomic<bool> failed_{false};
  std::atomic<bool> stop_{false};
};

}  // namespace wide
