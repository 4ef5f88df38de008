#pragma once
// A static memory plan: the tensors of a pass at fixed places in one slab, learnt from the first pass.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/run/memory_pool.h"

namespace wide {

/// When a tensor of a pass is made and freed. A pass's tensors are numbered in the order they are made.
struct Lifetime {
  static constexpr std::size_t kNever = static_cast<std::size_t>(-1);
  std::size_t bytes = 0;
  std::size_t freed = kNever;  ///< before the tensor of this number was made; kNever: it leaves the pass
};

/// Where each tensor lies in the slab, in bytes; kNowhere for one that leaves the pass.
struct SlabLayout {
  static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);
  std::vector<std::size_t> offsets;
  std::size_t bytes = 0;
};
/// Tensors that live at the same time do not overlap. Largest first, each at the lowest place that is free
/// for its whole life.
SlabLayout lay_out(std::span<const Lifetime> lifetimes);

/// Memory of a program that runs the same way each time. The first pass is watched; later ones find each
/// tensor at its place, without a lock or a search. A pass that takes another course gets the rest of its
/// memory from the pool, and the plan is learnt anew. Results are never in the slab: they may be kept.
class MemoryPlan {
 public:
  MemoryPlan();
  ~MemoryPlan();
  MemoryPlan(const MemoryPlan&) = delete;
  MemoryPlan& operator=(const MemoryPlan&) = delete;

  struct Statistics {
    std::size_t slab_bytes = 0;
    std::size_t planned = 0;  ///< tensors of a pass that have a place
    std::size_t passes = 0;   ///< that ran by the plan from begin to end
    std::size_t strayed = 0;  ///< that took another course
  };
  Statistics statistics() const;
  /// As MemoryPool::poison().
  void poison();

 private:
  class Course;

 public:
  /// One pass on this thread; `pool` gives what has no place.
  class Pass {
   public:
    Pass(MemoryPlan& plan, MemoryPool& pool);
    ~Pass();
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    Course& course_;
    MemoryScope scope_;
  };

 private:
  std::unique_ptr<Course> course_;
};

}  // namespace wide
