#include "core/tune/trial.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/aten/pages.h"

namespace wide {
namespace {

// Numbers of [0.5, 1.5), the same again and again in large tensors: drawing takes longer than measuring.
void draw(const at::Tensor& tensor) {
  constexpr std::int64_t kDrawn = 1 << 16;
  if (tensor.numel() <= kDrawn) {
    tensor.uniform_(0.5, 1.5);
    return;
  }
  const auto flat = tensor.view(-1), some = flat.narrow(0, 0, kDrawn).uniform_(0.5, 1.5);
  const auto whole = tensor.numel() / kDrawn, rest = tensor.numel() % kDrawn;
  flat.narrow(0, kDrawn, (whole - 1) * kDrawn).view({whole - 1, kDrawn}).copy_(some);
  flat.narrow(0, whole * kDrawn, rest).copy_(some.narrow(0, 0, rest));
}

// One member's values: positive floats, and integers that are valid as indices of anything. In pages: freed
// blocks so large would have the C library keep as much for good at the end of each thread's heap.
at::Tensor made_up(const ConcreteType& type, std::vector<std::int64_t> shape, at::Device device) {
  auto tensor = empty_in_pages(shape, at::TensorOptions(device).dtype(type.dtype));
  if (at::isFloatingType(type.dtype) || at::isComplexType(type.dtype)) {
    if (type.dtype == at::kFloat || type.dtype == at::kDouble || type.dtype == at::kBFloat16 ||
        type.dtype == at::kHalf) {
      draw(tensor);
      return tensor;
    }
    return tensor.fill_(1);
  }
  return tensor.zero_();
}

}  // namespace

at::Tensor operand_in(const Operand& operand, Layout layout, std::int64_t members, at::Device device) {
  const auto from = operand.mapped ? Layout::kFront : Layout::kShared;
  const auto tensor = made_up(operand.type, physical_shape(operand.type, from, members), device);
  return convert(tensor, from, layout, operand.type, members);
}

namespace {

// Of weights that are packed, whose values do not matter: all members have one tensor.
ConstantPart same_for_each(const ConcreteType& type, std::int64_t members, at::Device device) {
  const auto one = made_up(type, type.shape, device);
  return {Constant(std::vector<at::Tensor>(static_cast<std::size_t>(members), one)), 0, members};
}

// Bytes of an operand beyond any cache.
constexpr std::int64_t kLarge = 16LL << 20;

at::Tensor large_operand(LargeOperands& large, const Call& call, std::size_t i, Layout layout) {
  const auto& operand = call.operands[i];
  if (const auto known = large.find({i, layout}); known != large.end()) return known->second;
  const auto from = operand.mapped ? Layout::kFront : Layout::kShared;
  const auto made =
      layout != from && is_free(from, layout, operand.type, call.members)
          ? convert(large_operand(large, call, i, from), from, layout, operand.type, call.members)
          : operand_in(operand, layout, call.members, call.device);
  return large[{i, layout}] = made;
}

}  // namespace

std::int64_t constant_bytes(const NodeCandidates& node, const std::vector<bool>& constant) {
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < constant.size(); ++i) {
    const auto& operand = node.call.operands[i];
    if (constant[i]) bytes += operand.type.bytes() * (operand.mapped ? node.call.members : 1);
  }
  return bytes;
}

std::function<void()> runnable(const NodeCandidates& node, const Candidate& candidate,
                               const std::vector<bool>& constant, LargeOperands& large) {
  auto call = node.call;
  const bool is_much = constant_bytes(node, constant) > kPackedMuch;
  for (std::size_t i = 0; i < call.operands.size(); ++i) call.operands[i].fixed = constant[i];
  const auto packs = candidate.strategy->packs;
  const auto packed = packs ? packs(call) : std::vector<std::size_t>();
  std::vector<at::Tensor> operands;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const auto layout = candidate.offer.operands[i];
    if (is_much && constant[i] && call.operands[i].mapped && layout == Layout::kFront &&
        std::ranges::find(packed, i) != packed.end()) {
      call.operands[i].constant = same_for_each(call.operands[i].type, call.members, call.device);
      operands.emplace_back();
      continue;
    }
    const bool is_shared = is_much ? !constant[i] : call.operands[i].type.bytes() * call.members > kLarge;
    operands.push_back(is_shared ? large_operand(large, call, i, layout)
                                 : operand_in(call.operands[i], layout, call.members, call.device));
    if (constant[i]) call.operands[i].constant = operands.back();
  }
  auto kernel = candidate.strategy->prepare(call, candidate.offer);
  for (const auto i : packed) {
    if (constant[i]) operands[i].reset();
  }
  for (auto& operand : call.operands) operand.constant.reset();
  if (is_much) return_free_memory();
  return [kernel = std::move(kernel), operands = std::move(operands), count = call.results.size()] {
    std::vector<at::Tensor> results(count);
    kernel(operands, results);
  };
}

}  // namespace wide
