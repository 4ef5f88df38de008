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
struct Made {
  c10::weak_intrusive_ptr<c10::StorageImpl> source;
  c10::weak_intrusive_ptr<at::TensorImpl> made;
  std::int64_t bytes = 0;
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
    if (const auto made = found->second.made.lock(); made && !found->second.source.expired())
      return at::Tensor(made);
  }
  auto made = make(constant);
  // What oneDNN keeps to itself has no storage: it is as large as what it was made of.
  const auto bytes = static_cast<std::int64_t>(constant.numel() * constant.element_size());
  remembered->made.insert_or_assign(
      std::move(key), Made{c10::weak_intrusive_ptr<c10::StorageImpl>(storage.getWeakStorageImpl()),
                           c10::weak_intrusive_ptr<at::TensorImpl>(made.getIntrusivePtr()), bytes});
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
  for (const auto& [key, made] : remembered->made) bytes += made.made.expired() ? 0 : made.bytes;
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
