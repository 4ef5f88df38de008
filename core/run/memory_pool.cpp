#include "core/run/memory_pool.h"

#include <c10/core/impl/alloc_cpu.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace wide {
namespace {

// Eight classes for each power of two: at most an eighth is wasted.
std::size_t size_class(std::size_t bytes) {
  constexpr std::size_t kLeast = 512;
  if (bytes <= kLeast) return (bytes + 63) / 64 * 64;
  const std::size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

// Note [A lane for each thread]
// Programs that run side by side make and free a tensor every microsecond or two. With one lock and one table
// for all of them the threads wait for each other, in the system where they collide, and a pass of 30 us
// takes 50 in one process and 30 in the next, as the threads fall in or out of step. So each thread has its
// own lock and its own free blocks, and a block goes back to the thread that asked for it, whoever frees it:
// it is in that core's cache, while another core would have to fetch it from there.
constexpr std::size_t kLanes = 64;

// The number of this thread's lane. Where there are more threads than lanes some share one.
std::size_t own_lane() {
  static std::atomic<std::size_t> count{0};
  thread_local const std::size_t lane = count++ % kLanes;
  return lane;
}

// The free blocks of one thread. Callers hold its lock.
struct alignas(64) Lane {
  std::mutex mutex;
  std::unordered_map<std::size_t, std::vector<BlockHeader*>> free;  ///< by size class; the last came last
  MemoryPool::Statistics statistics;
  std::int64_t outstanding = 0;  ///< blocks that will come back here
  bool closed = false;

  /// A block of `size` will come back: room for it is made now, since giving back must not fail.
  void expect(std::size_t size) {
    auto& blocks = free[size];
    blocks.reserve(blocks.size() + static_cast<std::size_t>(outstanding) + 1);
    ++outstanding;
  }

  /// nullptr where there is none.
  BlockHeader* take(std::size_t size) {
    const auto found = free.find(size);
    if (found == free.end() || found->second.empty()) return nullptr;
    auto* block = found->second.back();
    found->second.pop_back();
    statistics.bytes_held -= static_cast<std::int64_t>(size);
    return block;
  }

  void count(std::size_t size, bool is_new) {
    ++(is_new ? statistics.system_allocations : statistics.reused);
    statistics.bytes_held += static_cast<std::int64_t>(size);
    statistics.bytes_in_use += static_cast<std::int64_t>(size);
  }

  void release() {
    for (auto& [size, blocks] : free) {
      for (auto* block : blocks) c10::free_cpu(block);
      statistics.bytes_held -= static_cast<std::int64_t>(size * blocks.size());
      blocks.clear();
    }
  }
};

}  // namespace

// What a pool holds. It lives until the pool is gone and its last block came back.
class MemoryPool::Shelf final : public MemorySource {
 public:
  BlockHeader* take(std::size_t bytes) override {
    const auto size = size_class(bytes);
    const auto number = own_lane();
    void* block = block_of(size, number);
    return new (block) BlockHeader{.source = this, .size = size, .lane = number};
  }

  void give_back(BlockHeader* block) noexcept override {
    auto& lane = lanes_[block->lane];
    {
      const std::lock_guard lock(lane.mutex);
      --lane.outstanding;
      lane.statistics.bytes_in_use -= static_cast<std::int64_t>(block->size);
      if (!lane.closed) {
        lane.free.find(block->size)->second.push_back(block);
        return;
      }
    }
    c10::free_cpu(block);
    forget(1);
  }

  void close() {
    for (auto& lane : lanes_) {
      const std::lock_guard lock(lane.mutex);
      lane.release();
      lane.closed = true;
      awaited_ += lane.outstanding;
    }
    forget(1);
  }

  void trim() {
    for (auto& lane : lanes_) {
      const std::lock_guard lock(lane.mutex);
      lane.release();
    }
  }

  void poison() {
    for (auto& lane : lanes_) {
      const std::lock_guard lock(lane.mutex);
      for (auto& [size, blocks] : lane.free) {
        for (auto* block : blocks) std::memset(block->data(), 0xff, size - sizeof(BlockHeader));
      }
    }
  }

  Statistics statistics() {
    Statistics sum;
    for (auto& lane : lanes_) {
      const std::lock_guard lock(lane.mutex);
      sum.system_allocations += lane.statistics.system_allocations;
      sum.reused += lane.statistics.reused;
      sum.bytes_held += lane.statistics.bytes_held;
      sum.bytes_in_use += lane.statistics.bytes_in_use;
    }
    return sum;
  }

 private:
  // The lane's own, or one that another thread left, or a new one. No two locks are held at a time.
  void* block_of(std::size_t size, std::size_t number) {
    auto& lane = lanes_[number];
    {
      const std::lock_guard lock(lane.mutex);
      lane.expect(size);
      if (auto* block = lane.take(size)) {
        lane.count(size, false);
        return block;
      }
    }
    void* block = left_by_others(size, number);
    const bool is_new = block == nullptr;
    if (is_new) block = allocated(size, lane);
    const std::lock_guard lock(lane.mutex);
    lane.count(size, is_new);
    return block;
  }

  void* left_by_others(std::size_t size, std::size_t number) {
    for (std::size_t i = 1; i < kLanes; ++i) {
      auto& lane = lanes_[(number + i) % kLanes];
      const std::lock_guard lock(lane.mutex);
      if (auto* block = lane.take(size)) return block;
    }
    return nullptr;
  }

  static void* allocated(std::size_t size, Lane& lane) {
    try {
      return c10::alloc_cpu(size);
    } catch (...) {
      const std::lock_guard lock(lane.mutex);
      --lane.outstanding;
      throw;
    }
  }

  void forget(std::int64_t count) noexcept {
    if (awaited_.fetch_sub(count) == count) delete this;
  }

  std::array<Lane, kLanes> lanes_;
  std::atomic<std::int64_t> awaited_{1};  ///< blocks that closed lanes wait for, and close() itself
};

MemoryPool::MemoryPool() : shelf_(new Shelf) {}

MemoryPool::~MemoryPool() {
  shelf_->close();
}

MemoryPool::Statistics MemoryPool::statistics() const {
  return shelf_->statistics();
}

void MemoryPool::trim() {
  shelf_->trim();
}

void MemoryPool::poison() {
  shelf_->poison();
}

MemorySource& MemoryPool::source() {
  return *shelf_;
}

}  // namespace wide
