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

using Make = std::function<at::Tensor(const at::Tensor&)>;

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

// `make` of `constant`, by which it is known.
at::Tensor remember(const at::Tensor& constant, const std::string& purpose,
                    const std::function<at::Tensor()>& make) {
  if (!remembered || !constant.has_storage()) return make();
  const auto& storage = constant.storage();
  Key key{storage.unsafeGetStorageImpl(), constant.storage_offset(), constant.sizes().vec(),
          constant.strides().vec(), purpose};
  if (const auto found = remembered->made.find(key); found != remembered->made.end()) {
    if (auto made = found->second.get(); made.defined()) return made;
  }
  auto made = make();
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

std::size_t index(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

// So many bytes of members that have theirs apart are stacked at a time.
constexpr std::int64_t kAtOnce = 1 << 20;
constexpr std::size_t kMuch = 1 << 20;

at::Tensor stack_in_pages(std::span<const at::Tensor> members) {
  if (members.size() == 1) return members[0].unsqueeze(0);
  auto sizes = members[0].sizes().vec();
  sizes.insert(sizes.begin(), static_cast<std::int64_t>(members.size()));
  auto stack = empty_in_pages(sizes, members[0].options());
  return at::stack_out(stack, members);
}

// Never all stacked beside what is made of them.
at::Tensor make_by_members(std::span<const at::Tensor> members, const Make& make) {
  const auto bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(members[0].nbytes()));
  const auto most = index(std::max<std::int64_t>(1, kAtOnce / bytes));
  if (members.size() <= most) return make(stack_in_pages(members));
  at::Tensor all;
  for (std::size_t first = 0; first < members.size(); first += most) {
    const auto some = members.subspan(first, std::min(most, members.size() - first));
    const auto made = make(stack_in_pages(some));
    if (!all.defined()) {
      auto sizes = made.sizes().vec();
      sizes[0] = static_cast<std::int64_t>(members.size());
      all = empty_in_pages(sizes, made.options());
    }
    all.narrow(0, static_cast<std::int64_t>(first), made.size(0)).copy_(made);
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
    const std::span members(apart.members());
    if (!remembered) return make_by_members(members.subspan(index(constant.first()), index(count)), make);
    const auto all = remember(apart.stack(), purpose, [&] { return make_by_members(members, make); });
    return all.narrow(0, constant.first(), count);
  }
  const auto tensor = constant.tensor();
  const auto all = remembered ? all_members(tensor) : std::nullopt;
  if (!all || all->first.size(0) == tensor.size(0))
    return remember(tensor, purpose, [&] { return make(tensor); });
  return remember(all->first, purpose, [&] { return make(all->first); })
      .narrow(0, all->second, tensor.size(0));
}

at::Tensor shared_whole_constant(const at::Tensor& constant, const std::string& purpose, const Make& make) {
  return remember(constant, purpose, [&] {
    auto made = make(constant);
    if (constant.nbytes() > kMuch) return_free_memory();  // what making it took
    return made;
  });
}

}  // namespace wide
