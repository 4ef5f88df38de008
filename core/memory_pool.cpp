#include "core/memory_pool.h"

#include <c10/core/impl/alloc_cpu.h>

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

}  // namespace

// What a pool holds. It lives until the pool is gone and its last block came back.
class MemoryPool::Shelf final : public MemorySource {
 public:
  BlockHeader* take(std::size_t bytes) override {
    const auto size = size_class(bytes);
    auto* block = free_block(size);
    if (!block) block = new_block(size);
    return new (block) BlockHeader{this, size};
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
        free_[block->size].push_back(block);
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
      for (auto* block : blocks) std::memset(block, 0xff, size);
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
    blocks.reserve(blocks.size() + static_cast<std::size_t>(outstanding_) + 1);
    void* block = nullptr;
    if (!blocks.empty()) {
      block = blocks.back();
      blocks.pop_back();
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
      for (auto* block : blocks) c10::free_cpu(block);
      statistics_.bytes_held -= static_cast<std::int64_t>(size * blocks.size());
      blocks.clear();
    }
  }

  mutable std::mutex mutex_;
  std::unordered_map<std::size_t, std::vector<void*>> free_;  ///< blocks by size class
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
