#pragma once
// Operands of attention, members folded into the batch: q [N·B, H, L, E], k and v alike, masks that broadcast
// to [N·B, H, L, S].

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "primitives/support.h"

namespace wide {

/// [N, B…, H, L, E] or shared [B…, H, L, E] as [N·B…, H, L, E]; rank 3 gets a head axis.
inline at::Tensor fold(const Call& call, std::size_t index, std::span<const at::Tensor> in) {
  auto tensor = front_or_none(call, index, in);
  if (call.operand_at(index)->type.rank() == 3) tensor = tensor.unsqueeze(2);
  return tensor.flatten(0, tensor.dim() - 4);
}

/// The mask of all members in argument `index` as something that broadcasts to [N·B…, H, L, S]; undefined
/// where it is none. Argument 0 is q.
inline at::Tensor fold_mask(const Call& call, std::size_t index, std::span<const at::Tensor> in) {
  const auto operand = call.operand_of(index);
  if (!operand) return {};
  const auto& mask = call.operands[*operand];
  const auto& q = call.operand_at(0)->type;
  if (!mask.mapped && mask.type.rank() <= 2) return in[*operand];
  const auto aligned = align_front(front_or_none(call, index, in), mask.type, q.rank());
  std::vector<std::int64_t> shape(q.shape.begin(), q.shape.end() - 2);  // [B…, H]
  shape.insert(shape.begin(), call.members);
  if (q.rank() >= 4) shape.back() = aligned.size(-3);  // heads may broadcast
  shape.push_back(aligned.size(-2));
  shape.push_back(aligned.size(-1));
  auto full = aligned.expand(shape);
  if (q.rank() == 3) full = full.unsqueeze(2);
  return full.flatten(0, full.dim() - 4);
}

/// The only result of `kernel`.
inline at::Tensor only(const Kernel& kernel, std::span<const at::Tensor> in) {
  at::Tensor result;
  kernel(in, std::span(&result, 1));
  return result;
}

}  // namespace wide
