#include "core/strategy/shared_constants.h"

#include <ATen/ATen.h>
#include <c10/util/intrusive_ptr.h>

#include <map>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace wide {
namespace {

// Neither the constant nor what was made of it is kept alive; while they are known here, their addresses are
// not given to others.
class Made {
 public:
  Made(const at::Tensor& source, const at::Tensor& made)
      : source_(source.storage().getWeakStorageImpl()),
        // What oneDNN keeps to itself has no storage: it is as large as what it was made of.
        bytes_(static_cast<std::int64_t>(made.has_storage() ? made.storage().nbytes()
                                                            : source.numel() * source.element_size())),
        made_(made.getIntrusivePtr()) {
    if (made.has_storage())
      whole_.emplace(Whole{made.storage().getWeakStorageImpl(), made.sizes().vec(), made.strides().vec(),
                           made.storage_offset(), made.options()});
  }

  // Undefined when it is gone. A view of it keeps its memory alive, but in inference mode not the tensor.
  at::Tensor get() const {
    if (source_.expired()) return {};
    if (auto made = made_.lock()) return at::Tensor(made);
    auto storage = whole_ ? whole_->storage.lock() : nullptr;
    if (!storage) return {};
    return at::empty({0}, whole_->options)
        .set_(c10::Storage(std::move(storage)), whole_->offset, whole_->sizes, whole_->strides);
  }

  std::int64_t bytes() const {
    return made_.expired() && (!whole_ || whole_->storage.expired()) ? 0 : bytes_;
  }

 private:
  struct Whole {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    std::vector<std::int64_t> sizes, strides;
    std::int64_t offset;
    at::TensorOptions options;
  };
  c10::weak_intrusive_ptr<c10::StorageImpl> source_;
  std::int64_t bytes_;
  c10::weak_intrusive_ptr<at::TensorImpl> made_;
  std::optional<Whole> whole_;
};
using Key = std::tuple<const c10::StorageImpl*, std::int64_t, std::vector<std::int64_t>,
                       std::vector<std::int64_t>, std::string>;

struct Remembered {
  std::int64_t members;
  std::map<Key, Made> made;
};
thread_local std::optional<Remembered> remembered;

at::Tensor remember(const at::Tensor& constant, const std::string& purpose,
                    const std::function<at::Tensor(const at::Tensor&)>& make) {
  if (!remembered || !constant.has_storage()) return make(constant);
  const auto& storage = constant.storage();
  Key key{storage.unsafeGetStorageImpl(), constant.storage_offset(), constant.sizes().vec(),
          constant.strides().vec(), purpose};
  if (const auto found = remembered->made.find(key); found != remembered->made.end()) {
    if (auto made = found->second.get(); made.defined()) return made;
  }
  auto made = make(constant);
  remembered->made.insert_or_assign(std::move(key), Made(constant, made));
  return made;
}

// All members of a dense tensor that holds some of them, and the first of these.
std::optional<std::pair<at::Tensor, std::int64_t>> all_members(const at::Tensor& some) {
  if (!some.has_storage() || !some.is_contiguous() || some.dim() == 0 || some.numel() == 0)
    return std::nullopt;
  const auto each = some.numel() / some.size(0);
  const auto numbers = static_cast<std::int64_t>(some.storage().nbytes()) / some.element_size();
  if (numbers != remembered->members * each || some.storage_offset() % each != 0) return std::nullopt;
  auto sizes = some.sizes().vec();
  sizes[0] = remembered->members;
  return std::pair(some.as_strided(sizes, some.strides(), 0), some.storage_offset() / each);
}

}  // namespace

SharedConstants::SharedConstants(std::int64_t members) : outermost_(!remembered) {
  if (outermost_) remembered.emplace(Remembered{members, {}});
}
SharedConstants::~SharedConstants() {
  if (outermost_) remembered.reset();
}

std::int64_t shared_constant_bytes() {
  std::int64_t bytes = 0;
  if (!remembered) return 0;
  for (const auto& [key, made] : remembered->made) bytes += made.bytes();
  return bytes;
}

at::Tensor shared_constant(const at::Tensor& constant, const std::string& purpose,
                           const std::function<at::Tensor(const at::Tensor&)>& make) {
  const auto all = remembered ? all_members(constant) : std::nullopt;
  if (!all || all->first.size(0) == constant.size(0)) return remember(constant, purpose, make);
  return remember(all->first, purpose, make).narrow(0, all->second, constant.size(0));
}

at::Tensor shared_whole_constant(const at::Tensor& constant, const std::string& purpose,
                                 const std::function<at::Tensor(const at::Tensor&)>& make) {
  return remember(constant, purpose, make);
}

}  // namespace wide
