#include "core/strategy/written_attention.h"

#include <ATen/ATen.h>
#include <torch/library.h>

namespace wide {

at::Tensor written_attention(const at::Tensor& q, const at::Tensor& keys, const at::Tensor& v,
                             const std::optional<at::Tensor>& added, const std::optional<at::Tensor>& masked,
                             double value, double scale) {
  auto scores = at::matmul(q, keys);
  if (scale != 1) scores = scores * scale;
  if (added) scores = scores + *added;
  if (masked) scores = scores.masked_fill(*masked, value);
  return at::matmul(at::softmax(scores, -1), v);
}

TORCH_LIBRARY_FRAGMENT(wide, library) {
  library.def(
      "written_attention(Tensor q, Tensor keys, Tensor v, Tensor? added, Tensor? masked, float value, "
      "float scale) -> Tensor",
      written_attention);
}

}  // namespace wide
