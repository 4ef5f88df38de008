#include "core/ir/ragged.h"

#include <ATen/OpaqueTensorImpl.h>

#include <utility>

namespace wide {
namespace {

// A nested tensor would hold only tensors of as many axes.
using Ragged = at::OpaqueTensorImpl<std::vector<at::Tensor>>;

}  // namespace

at::Tensor ragged(std::vector<at::Tensor> members) {
  const auto dtype = members.at(0).dtype();
  const auto device = members[0].device();
  const auto count = static_cast<std::int64_t>(members.size());
  return at::detail::make_tensor<Ragged>(c10::DispatchKeySet(), dtype, device, std::move(members),
                                         c10::IntArrayRef(count));
}

std::span<const at::Tensor> each_member(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.has_storage()) return {};
  const auto* impl = dynamic_cast<const Ragged*>(tensor.unsafeGetTensorImpl());
  return impl ? std::span<const at::Tensor>(impl->opaque_handle()) : std::span<const at::Tensor>();
}

}  // namespace wide
