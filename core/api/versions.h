#pragma once
// Whether weights that the caller keeps were written since they were taken in.

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace widebench {

/// By PyTorch's count of writes; and, of some tensors at each look in turn, by their first and last number,
/// since not all writes are counted: those of fused optimizers, through `.data` and numpy are not. Keeps no
/// memory, and refers to no tensor, not even weakly: PyTorch does not swap tensors to which there are weak
/// references.
class Versions {
 public:
  void watch(const std::string& member, const std::string& fqn, const at::Tensor& tensor) {
    const auto& counter = tensor.unsafeGetTensorImpl()->version_counter();
    if (counter.enabled())
      watched_.push_back({counter, counter.current_version(), Sample(tensor), member, fqn});
  }
  /// Goes on watching what `before` watches of its member `from`, now called `to`.
  void adopt(const Versions& before, const std::string& from, const std::string& to) {
    for (auto one : before.watched_) {
      if (one.member != from) continue;
      one.member = to;
      watched_.push_back(std::move(one));
    }
  }
  /// Looks next where `before` would have, as near as that is.
  void go_on_from(const Versions& before) { next_ = watched_.empty() ? 0 : before.next_ % watched_.size(); }
  /// "member 'a', tensor 'w'" of one that was; empty where none was, as far as is seen. Buffers in `written`
  /// do not count: the model writes its own. Not for several threads at a time.
  std::string changed(const std::map<std::string, at::Tensor>& written) const {
    const auto said = [&](const Watched& one) {
      return written.contains(one.fqn) ? std::string()
                                       : "member '" + one.member + "', tensor '" + one.fqn + "'";
    };
    for (const auto& one : watched_) {
      if (one.counter.current_version() == one.seen) continue;
      if (auto text = said(one); !text.empty()) return text;
    }
    for (std::size_t i = 0; i < std::min(watched_.size(), kSampled); ++i) {
      const auto& one = watched_[next_];
      if (!one.sample.is_as_it_was()) {
        if (auto text = said(one); !text.empty()) return text;  // and the next look begins with it
      }
      next_ = next_ + 1 < watched_.size() ? next_ + 1 : 0;
    }
    return {};
  }

  static constexpr std::size_t kSampled = 64;  ///< tensors at each look

 private:
  // The first and the last number of a tensor.
  class Sample {
   public:
    explicit Sample(const at::Tensor& tensor) {
      if (!tensor.is_cpu() || !tensor.has_storage() || tensor.numel() == 0) return;
      const auto one = static_cast<std::int64_t>(tensor.element_size());
      std::int64_t end = tensor.storage_offset();
      for (std::int64_t i = 0; i < tensor.dim(); ++i) end += (tensor.size(i) - 1) * tensor.stride(i);
      const auto& storage = tensor.storage();
      storage_ = storage.getWeakStorageImpl();
      size_ = std::min(static_cast<std::size_t>(one), sizeof(Number));
      at_first_ = tensor.storage_offset() * one, at_last_ = end * one;
      if (const auto* memory = memory_of(*storage.unsafeGetStorageImpl())) {
        first_ = number(memory + at_first_), last_ = number(memory + at_last_);
      } else {
        size_ = 0;
      }
    }
    // Also where its memory was moved, into shared memory say, is gone, or was given back by its owner.
    bool is_as_it_was() const {
      if (size_ == 0) return true;
      const auto storage = storage_.lock();
      const auto* memory = storage ? memory_of(*storage) : nullptr;
      return !memory || (number(memory + at_first_) == first_ && number(memory + at_last_) == last_);
    }

   private:
    using Number = std::array<std::uint64_t, 2>;
    Number number(const char* at) const {
      Number bits{};
      std::memcpy(bits.data(), at, size_);
      return bits;
    }
    const char* memory_of(const c10::StorageImpl& storage) const {
      const bool is_there = storage.nbytes() >= static_cast<std::size_t>(at_last_) + size_;
      return is_there ? static_cast<const char*>(storage.data()) : nullptr;
    }

    c10::weak_intrusive_ptr<c10::StorageImpl> storage_{c10::intrusive_ptr<c10::StorageImpl>()};
    std::int64_t at_first_ = 0, at_last_ = 0;  // bytes
    std::size_t size_ = 0;
    Number first_{}, last_{};
  };
  struct Watched {
    c10::VariableVersion counter;
    std::uint32_t seen;
    Sample sample;
    std::string member, fqn;
  };
  std::vector<Watched> watched_;
  mutable std::size_t next_ = 0;
};

}  // namespace widebench
