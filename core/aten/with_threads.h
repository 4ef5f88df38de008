#pragma once

#include <ATen/Parallel.h>

namespace wide {

/// While it lives, libtorch works on `count` threads; 0: on as many as before.
class WithThreads {
 public:
  explicit WithThreads(int count) : before_(at::get_num_threads()), changed_(count > 0 && count != before_) {
    if (changed_) at::set_num_threads(count);
  }
  ~WithThreads() {
    if (changed_) at::set_num_threads(before_);
  }
  WithThreads(const WithThreads&) = delete;
  WithThreads& operator=(const WithThreads&) = delete;

 private:
  int before_;
  bool changed_;  ///< at::set_num_threads() drops oneDNN's prepared kernels even where nothing changes
};

}  // namespace wide
