#include "core/strategy/shared_constants.h"

#include <ATen/ATen.h>
#include <c10/util/intrusive_ptr.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "core/aten/pages.h"

namespace wide {
namespace {

std::int64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<std::int64_t>(tensor.nbytes());
}

using Make = std::function<at::Tensor(const at::Tensor&)>;

// Neither the constant nor what was made of it is kept alive; while they are known here, their addresses are
// not given to others.
class Made {
 public:
  /// `bytes` of what it was made of.
  Made(const at::Tensor& source, std::int64_t bytes, const at::Tensor& made)
      : source_(source.storage().getWeakStorageImpl()),
        // What oneDNN keeps to itself has no storage: it is as large as what it was made of.
        bytes_(made.has_storage() ? static_cast<std::int64_t>(made.storage().nbytes()) : bytes),
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

// `make` of `constant`, by which it is known, or of so many bytes of it.
at::Tensor remember(const at::Tensor& constant, std::int64_t bytes, const std::string& purpose,
                    const std::function<at::Tensor()>& make) {
  if (!remembered || !constant.has_storage()) return make();
  const auto& storage = constant.storage();
  Key key{storage.unsafeGetStorageImpl(), constant.storage_offset(), constant.sizes().vec(),
          constant.strides().vec(), purpose};
  if (const auto found = remembered->made.find(key); found != remembered->made.end()) {
    if (auto made = found->second.get(); made.defined()) return made;
  }
  auto made = make();
  remembered->made.insert_or_assign(std::move(key), Made(constant, bytes, made));
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

// So many bytes of members that have theirs apart are stacked at a time.
constexpr std::int64_t kAtOnce = 1 << 20;
constexpr std::int64_t kMuch = 1 << 20;

at::Tensor stack_in_pages(const ConstantPart& members, std::int64_t first, std::int64_t count) {
  if (count == 1) return members.member(first).unsqueeze(0);
  auto sizes = members.sizes();
  sizes[0] = count;
  auto stack = empty_in_pages(sizes, members.all().stack().options());
  for (std::int64_t i = 0; i < count; ++i) stack.select(0, i).copy_(members.member(first + i));
  return stack;
}

// Never all stacked beside what is made of them.
at::Tensor make_by_members(const ConstantPart& members, const Make& make) {
  const auto& stack = members.all().stack();
  const auto count = members.count();
  const auto bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(stack.nbytes()) / stack.size(0));
  const auto most = std::max<std::int64_t>(1, kAtOnce / bytes);
  if (count <= most) return make(stack_in_pages(members, 0, count));
  at::Tensor all;
  for (std::int64_t first = 0; first < count; first += most) {
    const auto made = make(stack_in_pages(members, first, std::min(most, count - first)));
    if (!all.defined()) {
      auto sizes = made.sizes().vec();
      sizes[0] = count;
      all = empty_in_pages(sizes, made.options());
    }
    all.narrow(0, first, made.size(0)).copy_(made);
  }
  return all;
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

at::Tensor shared_constant(const ConstantPart& constant, const std::string& purpose, const Make& make) {
  const auto count = constant.count();
  if (const auto& apart = constant.all(); apart.is_given()) {
    if (!remembered) return make_by_members(constant, make);
    const auto& stack = apart.stack();
    const ConstantPart members(apart, 0, stack.size(0));
    const auto all = remember(stack, apart.bytes(), purpose, [&] { return make_by_members(members, make); });
    return all.narrow(0, constant.first(), count);
  }
  const auto tensor = constant.tensor();
  const auto all = remembered ? all_members(tensor) : std::nullopt;
  if (!all || all->first.size(0) == tensor.size(0))
    return remember(tensor, bytes_of(tensor), purpose, [&] { return make(tensor); });
  return remember(all->first, bytes_of(all->first), purpose, [&] { return make(all->first); })
      .narrow(0, all->second, tensor.size(0));
}

at::Tensor shared_whole_constant(const ConstantPart& constant, const std::string& purpose,
                                 const std::function<at::Tensor()>& make) {
  const auto make_alone = [&](std::int64_t bytes) {
    auto made = make();
    if (bytes > kMuch) return_free_memory();  // what making it took
    return made;
  };
  if (const auto& apart = constant.all(); apart.is_given()) {
    const auto first = constant.first(), count = constant.count();
    const auto bytes = apart.bytes() / apart.stack().size(0) * count;
    const auto of = " of " + std::to_string(count) + " from " + std::to_string(first);
    return remember(apart.stack(), bytes, purpose + of, [&] { return make_alone(bytes); });
  }
  const auto tensor = constant.tensor();
  return remember(tensor, bytes_of(tensor), purpose, [&] { return make_alone(bytes_of(tensor)); });
}

}  // namespace wide
