#pragma once
// Memory for the tensors of a model, kept between passes: libtorch's CPU allocator asks the system each time,
// and a wide tensor is often large enough to be unmapped and faulted in again in every pass.

#include <cstddef>
#include <cstdint>

#include "core/run/tensor_memory.h"

namespace wide {

/// Blocks of freed tensors, handed out again by size. A tensor may outlive its pool and be freed on any
/// thread.
class MemoryPool {
 public:
  struct Statistics {
    std::int64_t system_allocations = 0;  ///< blocks that were not at hand
    std::int64_t reused = 0;              ///< blocks that were
    std::int64_t bytes_held = 0;          ///< by the pool: free and in use
    std::int64_t bytes_in_use = 0;
  };

  MemoryPool();
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  Statistics statistics() const;
  /// Gives free blocks back to the system.
  void trim();
  /// Fills free blocks with 0xff, NaN in every float: what is read before it is written shows.
  void poison();
  /// For blocks outside of a Scope.
  MemorySource& source();

  /// While it lives, tensors that this thread makes lie in the pool.
  class Scope {
   public:
    explicit Scope(MemoryPool& pool) : scope_(&pool.source(), nullptr) {}

   private:
    MemoryScope scope_;
  };

 private:
  class Shelf;
  Shelf* shelf_;
};

}  // namespace wide
