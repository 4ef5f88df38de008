#include "core/aten/side_by_side.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <atomic>
#include <exception>

#include "core/aten/parallel.h"

// Note [One pool]
// A second team of threads beside libtorch's is what one would write first, and it spoils what runs next to
// it: threads of the pool spin for milliseconds after their last work, so that the two teams take cores from
// each other, the scheduler moves them about, and whoever waits at a barrier for a thread that shares its
// core waits for long. (Eight small linear layers took 214 us alone, and 1020 us measured in turns with such
// a team.) And setting a thread of one's own to one intra-op thread drops oneDNN's prepared kernels for all.
// In a parallel region of libtorch's own pool neither arises: all nested work is serial there of itself.
//
// Note [One thread each]
// oneDNN asks OpenMP how many threads there may be, not how many it would get inside a region, and some of
// its kernels (the gradient of a convolution's weights) wait at a barrier for as many as they were told:
// alone in the region, for ever. So each thread of the region says that it is one. That is a setting of this
// thread in this region; libtorch's own, at::set_num_threads, is one of the process.

namespace wide {
namespace {

class OneThreadHere {
 public:
  // What libtorch sets when a thread first asks it is set by then.
  OneThreadHere() : before_(at::get_num_threads()) { set(1); }
  ~OneThreadHere() { set(before_); }
  OneThreadHere(const OneThreadHere&) = delete;
  OneThreadHere& operator=(const OneThreadHere&) = delete;

 private:
  // Nothing is there to set where libtorch runs on another library of threads.
  void set(int threads) const {
    static auto* const function = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
    if (function != nullptr && before_ > 1) function(threads);
  }

  int before_;
};

}  // namespace

void run_side_by_side(std::size_t count, std::size_t threads, c10::function_ref<void(std::size_t)> work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  const auto take_items = [&] {
    for (auto i = next.fetch_add(1); i < count && !failed; i = next.fetch_add(1)) {
      try {
        work(i);
      } catch (...) {
        if (!failed.exchange(true)) failure = std::current_exception();
      }
    }
  };
  // One place of the range for each thread of the pool; those beyond `threads` go home.
  const auto pool = at::get_num_threads();
  kernels::parallel_ranges(pool, 1, [&](std::int64_t begin, std::int64_t) {
    if (begin >= static_cast<std::int64_t>(threads)) return;
    const OneThreadHere one;  // See Note [One thread each]
    take_items();
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace wide
