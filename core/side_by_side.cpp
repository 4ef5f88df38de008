#include "core/side_by_side.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <vector>

#include "primitives/kernels/parallel.h"

// Note [One pool]
// A second team of threads beside libtorch's is what one would write first, and it spoils what runs next to
// it: threads of the pool spin for milliseconds after their last work, so that the two teams take cores from
// each other, the scheduler moves them about, and whoever waits at a barrier for a thread that shares its
// core waits for long. (Eight small linear layers took 214 us alone, and 1020 us measured in turns with such
// a team.) And setting a thread of one's own to one intra-op thread drops oneDNN's prepared kernels for all.
// In a parallel region of libtorch's own pool neither arises: all nested work is serial there of itself.

namespace wide {
namespace {

// The items of one thread that nobody took yet.
struct alignas(64) Share {
  std::atomic<std::size_t> next{0};
  std::size_t end = 0;
};

}  // namespace

// Note [The same thread each time]
// What a thread worked on is in its core's cache: an item's weights, its tensors' counts of references. So
// each thread begins with its own share of the items, the same ones each time, and takes those of others only
// when it has done with it. (Where whoever came first took the next item, eight small transposed convolutions
// in two programs took 28 us, or for seconds at a time 50, as the threads fell in or out of step.)
void run_side_by_side(std::size_t count, std::size_t threads, c10::function_ref<void(std::size_t)> work) {
  const auto pool = at::get_num_threads();
  const auto places = std::min({count, threads, static_cast<std::size_t>(pool)});
  if (places == 0) return;
  std::vector<Share> shares(places);
  for (std::size_t place = 0; place < places; ++place) {
    shares[place].next = count * place / places;
    shares[place].end = count * (place + 1) / places;
  }
  std::atomic<bool> failed{false};
  std::exception_ptr failure;
  const auto take_items = [&](Share& share) {
    for (auto i = share.next++; i < share.end && !failed; i = share.next++) {
      try {
        work(i);
      } catch (...) {
        if (!failed.exchange(true)) failure = std::current_exception();
      }
    }
  };
  // One place of the range for each thread of the pool; those that are not needed go home.
  kernels::parallel_ranges(pool, 1, [&](std::int64_t begin, std::int64_t) {
    const auto own = static_cast<std::size_t>(begin);
    if (own >= places) return;
    for (std::size_t k = 0; k < places; ++k) take_items(shares[(own + k) % places]);
  });
  if (failure) std::rethrow_exception(failure);
}

}  // namespace wide
