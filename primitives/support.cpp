#include "primitives/support.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <memory>

#include "core/operators.h"

namespace wide {

double total_bytes(const Call& call) {
  double bytes = 0;
  for (const auto& operand : call.operands) {
    bytes +=
        static_cast<double>(operand.type.bytes()) * static_cast<double>(operand.mapped ? call.members : 1);
  }
  for (const auto& result : call.results) {
    bytes += static_cast<double>(result.bytes()) * static_cast<double>(call.members);
  }
  return bytes;
}

Offer uniform_offer(const Call& call, Layout layout) {
  Offer one;
  for (const auto& operand : call.operands) one.operands.push_back(operand.mapped ? layout : Layout::kShared);
  one.results.assign(call.results.size(), layout);
  one.cost = kernel_cost(total_bytes(call));
  return one;
}

at::Tensor align_front(const at::Tensor& tensor, const ConcreteType& type, std::int64_t rank) {
  if (type.rank() >= rank) return tensor;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rank) + 1, 1);
  shape[0] = tensor.size(0);
  std::copy(type.shape.begin(), type.shape.end(), shape.end() - type.rank());
  return tensor.reshape(shape);
}

Kernel boxed(const Call& call, Node wide, Adapt adapt) {
  struct Prepared {
    PreparedCall run;
    Adapt adapt;
    std::vector<std::optional<at::ScalarType>> dtypes;  ///< nothing: nobody uses the result
  };
  auto prepared = std::make_shared<Prepared>(Prepared{PreparedCall(wide), std::move(adapt), {}});
  for (std::size_t i = 0; i < call.results.size(); ++i) {
    const bool used = i >= call.node.results.size() || call.node.results[i] >= 0;
    prepared->dtypes.push_back(used ? std::optional(call.results[i].dtype) : std::nullopt);
  }
  return [prepared](std::span<const at::Tensor> operands, std::span<at::Tensor> results) {
    std::vector<c10::IValue> inputs, outputs;
    inputs.reserve(operands.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      inputs.emplace_back(prepared->adapt ? prepared->adapt(i, operands[i]) : operands[i]);
    }
    prepared->run.run(inputs, outputs);
    for (std::size_t i = 0; i < results.size() && i < outputs.size(); ++i) {
      if (!prepared->dtypes[i] || !outputs[i].isTensor()) continue;
      auto tensor = outputs[i].toTensor();
      results[i] = tensor.scalar_type() == *prepared->dtypes[i] ? tensor : tensor.to(*prepared->dtypes[i]);
    }
  };
}

bool packs_elementwise(const Call& call) {
  const auto& result = call.results[0];
  if (result.rank() < 2) return false;
  return std::all_of(call.operands.begin(), call.operands.end(), [&](const Operand& operand) {
    if (!operand.mapped) return operand.type.elements() == 1;
    return operand.type.rank() == result.rank() && operand.type.shape[1] == result.shape[1];
  });
}

Argument ints_argument(const std::vector<std::int64_t>& values) {
  Argument::List items;
  items.reserve(values.size());
  for (const auto value : values) items.push_back({value});
  return {std::move(items)};
}

Node shift_dims(Node node, std::size_t index, std::int64_t by) {
  auto& value = node.arguments[index].value;
  if (auto* dim = std::get_if<std::int64_t>(&value)) *dim += by;
  if (auto* list = std::get_if<Argument::List>(&value)) {
    for (auto& item : *list) std::get<std::int64_t>(item.value) += by;
  }
  return node;
}

bool dims_at_least(const Call& call, std::size_t index, std::int64_t least) {
  const auto dims = call.integers(index);
  return !dims.empty() &&
         std::all_of(dims.begin(), dims.end(), [&](std::int64_t dim) { return dim >= least; });
}

at::Tensor front_or_none(const Call& call, std::size_t index, std::span<const at::Tensor> operands) {
  const auto operand = call.operand_of(index);
  if (!operand) return {};
  const auto& tensor = operands[*operand];
  if (call.operands[*operand].mapped) return tensor;
  return convert(tensor, Layout::kShared, Layout::kFront, call.operands[*operand].type, call.members);
}

}  // namespace wide
