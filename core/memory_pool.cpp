#include "core/memory_pool.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/alloc_cpu.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace wide {

// What a pool holds. It lives until the pool is gone and its last block came back.
struct MemoryPool::Shelf {
  std::mutex mutex;
  std::unordered_map<std::size_t, std::vector<void*>> free;  ///< blocks by size class
  Statistics statistics;
  std::int64_t outstanding = 0;
  bool closed = false;

  void release_free() {
    for (auto& [size, blocks] : free) {
      for (auto* block : blocks) c10::free_cpu(block);
      statistics.bytes_held -= static_cast<std::int64_t>(size * blocks.size());
      blocks.clear();
    }
  }
};

// In front of every tensor's memory; as large as the alignment that libtorch promises.
struct alignas(64) BlockHeader {
  void* shelf = nullptr;  ///< null: from the system, and back to it
  std::size_t size = 0;   ///< of the whole block
};
static_assert(sizeof(BlockHeader) == 64);

namespace {

thread_local void* current_shelf = nullptr;

// Eight classes for each power of two: at most an eighth is wasted.
std::size_t size_class(std::size_t bytes) {
  constexpr std::size_t kLeast = 512;
  if (bytes <= kLeast) return (bytes + 63) / 64 * 64;
  const std::size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

}  // namespace

class PoolAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) override {
    const c10::Device cpu(c10::DeviceType::CPU);
    if (bytes == 0) return {nullptr, nullptr, &release, cpu};
    auto* shelf = static_cast<MemoryPool::Shelf*>(current_shelf);
    const auto size = size_class(bytes + sizeof(BlockHeader));
    auto* header = new (shelf ? take(*shelf, size) : c10::alloc_cpu(size)) BlockHeader{shelf, size};
    auto* data = header + 1;
    c10::profiledCPUMemoryReporter().New(data, bytes);
    // The context is the data, as raw_allocate() wants it.
    return {data, data, &release, cpu};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, std::size_t bytes) const override {
    default_copy_data(to, from, bytes);
  }

 private:
  static void* take(MemoryPool::Shelf& shelf, std::size_t size) {
    {
      const std::lock_guard lock(shelf.mutex);
      ++shelf.outstanding;
      shelf.statistics.bytes_in_use += static_cast<std::int64_t>(size);
      auto& blocks = shelf.free[size];
      if (!blocks.empty()) {
        auto* block = blocks.back();
        blocks.pop_back();
        ++shelf.statistics.reused;
        return block;
      }
      ++shelf.statistics.system_allocations;
      shelf.statistics.bytes_held += static_cast<std::int64_t>(size);
    }
    try {
      return c10::alloc_cpu(size);
    } catch (...) {
      const std::lock_guard lock(shelf.mutex);
      --shelf.outstanding;
      shelf.statistics.bytes_in_use -= static_cast<std::int64_t>(size);
      shelf.statistics.bytes_held -= static_cast<std::int64_t>(size);
      throw;
    }
  }

  static void release(void* data) {
    if (!data) return;
    c10::profiledCPUMemoryReporter().Delete(data);
    auto* header = static_cast<BlockHeader*>(data) - 1;
    auto* shelf = static_cast<MemoryPool::Shelf*>(header->shelf);
    if (!shelf) return c10::free_cpu(header);
    bool last = false;
    {
      const std::lock_guard lock(shelf->mutex);
      --shelf->outstanding;
      shelf->statistics.bytes_in_use -= static_cast<std::int64_t>(header->size);
      if (shelf->closed) {
        c10::free_cpu(header);
        last = shelf->outstanding == 0;
      } else {
        shelf->free[header->size].push_back(header);
      }
    }
    if (last) delete shelf;
  }
};

namespace {

// At load, before any tensor of this program is made; tensors of other allocators carry their own deleters.
const bool registered = [] {
  static PoolAllocator allocator;
  c10::SetCPUAllocator(&allocator, /*priority=*/1);
  return true;
}();

}  // namespace

MemoryPool::MemoryPool() : shelf_(new Shelf) {
  TORCH_INTERNAL_ASSERT(registered);
}

MemoryPool::~MemoryPool() {
  bool last = false;
  {
    const std::lock_guard lock(shelf_->mutex);
    shelf_->release_free();
    shelf_->closed = true;
    last = shelf_->outstanding == 0;
  }
  if (last) delete shelf_;
}

MemoryPool::Statistics MemoryPool::statistics() const {
  const std::lock_guard lock(shelf_->mutex);
  return shelf_->statistics;
}

void MemoryPool::trim() {
  const std::lock_guard lock(shelf_->mutex);
  shelf_->release_free();
}

void MemoryPool::poison() {
  const std::lock_guard lock(shelf_->mutex);
  for (auto& [size, blocks] : shelf_->free) {
    for (auto* block : blocks) std::memset(block, 0xff, size);
  }
}

MemoryPool::Scope::Scope(MemoryPool& pool) : previous_(current_shelf) {
  current_shelf = pool.shelf_;
}

MemoryPool::Scope::~Scope() {
  current_shelf = previous_;
}

}  // namespace wide
