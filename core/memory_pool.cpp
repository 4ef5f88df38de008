#include "core/memory_pool.h"

#include <c10/core/impl/alloc_cpu.h>

#include <algorithm>
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

// A number for this thread, from 1.
std::uint64_t this_thread() {
  static std::atomic<std::uint64_t> count{0};
  thread_local const std::uint64_t number = ++count;
  return number;
}

// Free blocks of one size. A thread gets those back that it had last: they are in its core's cache, while
// another core would have to fetch them from there.
class FreeBlocks {
 public:
  /// Room for as many in all; put() does not allocate then.
  void reserve(std::size_t count) { blocks_.reserve(count); }

  void put(BlockHeader* block) noexcept { blocks_.push_back(block); }

  /// nullptr where there is none.
  BlockHeader* take(std::uint64_t user) {
    if (blocks_.empty()) return nullptr;
    const auto its = std::find_if(blocks_.rbegin(), blocks_.rend(),
                                  [&](const BlockHeader* block) { return block->user == user; });
    const auto found = its == blocks_.rend() ? blocks_.end() - 1 : its.base() - 1;
    auto* block = *found;
    blocks_.erase(found);
    return block;
  }

  const std::vector<BlockHeader*>& all() const { return blocks_; }
  void clear() { blocks_.clear(); }

 private:
  std::vector<BlockHeader*> blocks_;  ///< the last one came back last
};

}  // namespace

// What a pool holds. It lives until the pool is gone and its last block came back.
class MemoryPool::Shelf final : public MemorySource {
 public:
  BlockHeader* take(std::size_t bytes) override {
    const auto size = size_class(bytes);
    auto* block = free_block(size);
    if (!block) block = new_block(size);
    return new (block) BlockHeader{.source = this, .size = size, .user = this_thread()};
  }

  void give_back(BlockHeader* block) noexcept override {
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      --outstanding_;
      statistics_.bytes_in_use -= static_cast<std::int64_t>(block->size);
      if (closed_) {
        c10::free_cpu(block);
        last = outstanding_ == 0;
      } else {
        free_[block->size].put(block);
      }
    }
    if (last) delete this;
  }

  void close() {
    bool last = false;
    {
      const std::lock_guard lock(mutex_);
      release_free();
      closed_ = true;
      last = outstanding_ == 0;
    }
    if (last) delete this;
  }

  void trim() {
    const std::lock_guard lock(mutex_);
    release_free();
  }

  void poison() {
    const std::lock_guard lock(mutex_);
    for (auto& [size, blocks] : free_) {
      for (auto* block : blocks.all()) std::memset(block->data(), 0xff, size - sizeof(BlockHeader));
    }
  }

  Statistics statistics() const {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  void* free_block(std::size_t size) {
    const std::lock_guard lock(mutex_);
    auto& blocks = free_[size];
    // Room for it is made now: giving back must not fail.
    blocks.reserve(blocks.all().size() + static_cast<std::size_t>(outstanding_) + 1);
    auto* block = blocks.take(this_thread());
    if (block) {
      ++statistics_.reused;
      ++outstanding_;
      statistics_.bytes_in_use += static_cast<std::int64_t>(size);
    }
    return block;
  }

  void* new_block(std::size_t size) {
    auto* block = c10::alloc_cpu(size);
    const std::lock_guard lock(mutex_);
    ++outstanding_;
    ++statistics_.system_allocations;
    statistics_.bytes_held += static_cast<std::int64_t>(size);
    statistics_.bytes_in_use += static_cast<std::int64_t>(size);
    return block;
  }

  void release_free() {
    for (auto& [size, blocks] : free_) {
      for (auto* block : blocks.all()) c10::free_cpu(block);
      statistics_.bytes_held -= static_cast<std::int64_t>(size * blocks.all().size());
      blocks.clear();
    }
  }

  mutable std::mutex mutex_;
  std::unordered_map<std::size_t, FreeBlocks> free_;  ///< by size class
  Statistics statistics_;
  std::int64_t outstanding_ = 0;
  bool closed_ = false;
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
