#include "core/run/memory_plan.h"

#include <c10/core/impl/alloc_cpu.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

namespace wide {
namespace {

constexpr std::size_t kAlignment = 64;

std::size_t rounded(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// One allocation for all planned tensors. It lives until its owner is gone and its last tensor was freed.
class Slab final : public MemorySource {
 public:
  explicit Slab(std::size_t bytes)
      : memory_(static_cast<std::byte*>(c10::alloc_cpu(std::max(bytes, kAlignment)))), bytes_(bytes) {}

  BlockHeader* take(std::size_t) override { return nullptr; }  // places are given by place()
  BlockHeader* place(std::size_t offset, std::size_t size) {
    holders_.fetch_add(1, std::memory_order_relaxed);
    return new (memory_ + offset) BlockHeader{this, size};
  }
  void give_back(BlockHeader*) noexcept override { let_go(); }
  void let_go() noexcept {
    if (holders_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    c10::free_cpu(memory_);
    delete this;
  }
  /// Tensors in it.
  std::size_t living() const { return holders_.load(std::memory_order_acquire) - 1; }
  void poison() { std::memset(memory_, 0xff, bytes_); }

 private:
  std::byte* memory_;
  std::size_t bytes_;
  std::atomic<std::size_t> holders_{1};  ///< its owner, and each tensor
};

bool overlap(const std::vector<Lifetime>& all, std::size_t a, std::size_t b) {
  return a < b ? all[a].freed > b : all[b].freed > a;
}

}  // namespace

SlabLayout lay_out(std::span<const Lifetime> lifetimes) {
  const std::vector<Lifetime> all(lifetimes.begin(), lifetimes.end());
  SlabLayout layout;
  layout.offsets.assign(all.size(), SlabLayout::kNowhere);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].freed != Lifetime::kNever) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return all[a].bytes > all[b].bytes; });
  std::vector<std::size_t> placed;  // by offset
  for (const auto i : order) {
    const auto size = rounded(all[i].bytes);
    std::size_t offset = 0;
    for (const auto other : placed) {
      if (!overlap(all, i, other)) continue;
      if (layout.offsets[other] >= offset + size) break;
      offset = std::max(offset, layout.offsets[other] + rounded(all[other].bytes));
    }
    layout.offsets[i] = offset;
    layout.bytes = std::max(layout.bytes, offset + size);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i,
                         [&](std::size_t a, std::size_t b) { return layout.offsets[a] < layout.offsets[b]; }),
        i);
  }
  return layout;
}

// Watches a pass, then repeats it.
class MemoryPlan::Course final : public MemorySource, public MemoryWatcher {
 public:
  Course() = default;
  Course(const Course&) = delete;
  Course& operator=(const Course&) = delete;
  ~Course() { drop_slab(); }

  void begin(MemoryPool& pool) {
    pool_ = &pool.source();
    next_ = 0, living_ = 0;
    // A tensor of an earlier pass that still lives would be overwritten.
    if (slab_ && slab_->living() > 0) stray();
    if (!slab_) seen_.clear();
  }

  void end() {
    if (slab_ && !strayed_ && next_ != seen_.size()) stray();
    if (strayed_) {
      drop_slab();
      strayed_ = false;
      ++statistics_.strayed;
    } else if (slab_) {
      ++statistics_.passes;
    } else {
      learn();
    }
  }

  BlockHeader* take(std::size_t size) override {
    const auto number = next_++;
    if (!slab_ || strayed_) {
      auto* block = pool_->take(size);
      if (!slab_) {
        block->watch = id(), block->number = number;
        seen_.push_back({size, Lifetime::kNever});
      }
      return block;
    }
    if (number >= seen_.size() || seen_[number].bytes != size || living_ != expected_[number]) {
      stray();
      return pool_->take(size);
    }
    const auto offset = layout_.offsets[number];
    if (offset == SlabLayout::kNowhere) return pool_->take(size);
    auto* block = slab_->place(offset, size);
    block->watch = id(), block->number = number;
    ++living_;
    return block;
  }

  void give_back(BlockHeader*) noexcept override {}

  void freed(const BlockHeader& block) noexcept override {
    if (slab_) {
      // Not those that the first pass had from the pool.
      if (block.source == slab_) --living_;
    } else if (block.number < seen_.size()) {
      seen_[block.number].freed = next_;
    }
  }

  Statistics statistics() const { return statistics_; }
  void poison() {
    if (slab_ && slab_->living() == 0) slab_->poison();
  }

 private:
  // Whatever the plan says from here on may be wrong: the pool is asked instead.
  void stray() { strayed_ = true; }

  void drop_slab() {
    if (slab_) slab_->let_go();
    slab_ = nullptr;
  }

  void learn() {
    layout_ = lay_out(seen_);
    expected_.assign(seen_.size(), 0);
    std::size_t planned = 0;
    for (std::size_t i = 0; i < seen_.size(); ++i) {
      if (layout_.offsets[i] == SlabLayout::kNowhere) continue;
      ++planned;
      for (std::size_t k = i + 1; k < std::min(seen_[i].freed, seen_.size()); ++k) ++expected_[k];
    }
    slab_ = new Slab(layout_.bytes);
    statistics_.slab_bytes = layout_.bytes;
    statistics_.planned = planned;
  }

  MemorySource* pool_ = nullptr;
  Slab* slab_ = nullptr;  ///< null while a pass is watched
  std::vector<Lifetime> seen_;
  SlabLayout layout_;
  std::vector<std::size_t> expected_;  ///< planned tensors that live when the tensor of this number is made
  std::size_t next_ = 0;               ///< number of the next tensor
  std::size_t living_ = 0;             ///< planned tensors of this pass that live
  bool strayed_ = false;
  Statistics statistics_;
};

MemoryPlan::MemoryPlan() : course_(std::make_unique<Course>()) {}
MemoryPlan::~MemoryPlan() = default;

MemoryPlan::Statistics MemoryPlan::statistics() const {
  return course_->statistics();
}

void MemoryPlan::poison() {
  course_->poison();
}

MemoryPlan::Pass::Pass(MemoryPlan& plan, MemoryPool& pool)
    : course_(*plan.course_), scope_(plan.course_.get(), plan.course_.get()) {
  course_.begin(pool);
}

MemoryPlan::Pass::~Pass() {
  course_.end();
}

}  // namespace wide
