#pragma once
// Whether weights that the caller keeps were written since they were taken in.

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace widebench {

/// By PyTorch's count of writes; and, of a few tensors at each look in turn, by where they lie and by their
/// first and last number, since not all writes are counted: those of fused optimizers, through `.data` and
/// numpy are not. Keeps no tensor alive, nor its memory.
class Versions {
 public:
  void watch(const std::string& member, const std::string& fqn, const at::Tensor& tensor) {
    const auto& counter = tensor.unsafeGetTensorImpl()->version_counter();
    if (!counter.enabled()) return;
    watched_.push_back(
        {counter, counter.current_version(), Weak(tensor.getIntrusivePtr()), Sample(tensor), member, fqn});
  }
  /// Goes on watching what `before` watches of its member `from`, now called `to`.
  void adopt(const Versions& before, const std::string& from, const std::string& to) {
    for (auto one : before.watched_) {
      if (one.member != from) continue;
      one.member = to;
      watched_.push_back(std::move(one));
    }
  }
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
      next_ = next_ + 1 < watched_.size() ? next_ + 1 : 0;
      const auto& one = watched_[next_];
      if (one.is_there() && one.sample.is_as_it_was()) continue;
      if (auto text = said(one); !text.empty()) return text;
    }
    return {};
  }

  static constexpr std::size_t kSampled = 64;  ///< tensors at each look

 private:
  using WeakStorage = c10::weak_intrusive_ptr<c10::StorageImpl>;
  // The first and the last number of a tensor.
  class Sample {
   public:
    explicit Sample(const at::Tensor& tensor) {
      if (!tensor.is_cpu() || !tensor.has_storage() || tensor.numel() == 0) return;
      const auto& storage = tensor.storage();
      storage_ = storage.getWeakStorageImpl();
      const auto one = static_cast<std::int64_t>(tensor.element_size());
      std::int64_t end = tensor.storage_offset();
      for (std::int64_t i = 0; i < tensor.dim(); ++i) end += (tensor.size(i) - 1) * tensor.stride(i);
      bytes_ = storage.nbytes(), memory_ = static_cast<const char*>(storage.data());
      if (memory_ == nullptr || static_cast<std::size_t>((end + 1) * one) > bytes_) return;
      size_ = std::min(static_cast<std::size_t>(one), sizeof first_);
      at_first_ = tensor.storage_offset() * one, at_last_ = end * one;
      first_ = number(at_first_), last_ = number(at_last_);
    }
    bool is_as_it_was() const {
      if (size_ == 0) return true;
      const auto storage = storage_.lock();
      return !storage || (storage->data() == memory_ && storage->nbytes() == bytes_ &&
                          number(at_first_) == first_ && number(at_last_) == last_);
    }
    const c10::StorageImpl* storage() const { return storage_._unsafe_get_target(); }

   private:
    std::uint64_t number(std::int64_t at) const {
      std::uint64_t bits = 0;
      std::memcpy(&bits, memory_ + at, size_);
      return bits;
    }
    WeakStorage storage_{c10::intrusive_ptr<c10::StorageImpl>()};
    const char* memory_ = nullptr;
    std::int64_t at_first_ = 0, at_last_ = 0;
    std::size_t bytes_ = 0, size_ = 0;
    std::uint64_t first_ = 0, last_ = 0;
  };
  using Weak = c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>;
  struct Watched {
    c10::VariableVersion counter;
    std::uint32_t seen;
    Weak tensor;
    Sample sample;
    std::string member, fqn;

    // Has the memory that it had, or is gone. To make sure that it is not takes Python's lock, so it is only
    // done where its memory is another.
    bool is_there() const {
      const auto* raw = tensor._unsafe_get_target();
      return !sample.storage() || raw->unsafe_storage().unsafeGetStorageImpl() == sample.storage() ||
             !tensor.lock().defined();
    }
  };
  std::vector<Watched> watched_;
  mutable std::size_t next_ = 0;
};

}  // namespace widebench
