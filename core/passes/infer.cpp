#include "core/passes/infer.h"

#include <ATen/ATen.h>

#include <exception>

#include "core/eager/operators.h"

namespace wide {
namespace {

c10::IValue one_of(at::ScalarType dtype) {
  if (dtype == at::kBool) return true;
  if (at::isFloatingType(dtype)) return 1.0;
  return std::int64_t{1};
}

}  // namespace

std::optional<std::vector<std::optional<ConcreteType>>> infer_results(const Graph& graph, const Node& node) {
  const auto local = localize(node);
  for (const auto device : {at::kMeta, at::kCPU}) {
    std::vector<c10::IValue> operands, results;
    for (const auto id : local.operands) {
      const auto& value = graph.values[static_cast<std::size_t>(id)];
      const auto type = concrete(value);
      if (!value.tensor) {
        operands.push_back(one_of(type.dtype));
      } else {
        const auto options = at::TensorOptions(device).dtype(type.dtype);
        operands.emplace_back(device == at::kMeta ? at::empty(type.shape, options)
                                                  : at::zeros(type.shape, options));
      }
    }
    try {
      PreparedCall(local.node).run(operands, results);
    } catch (const std::exception&) {
      continue;  // no such kernel
    }
    std::vector<std::optional<ConcreteType>> types;
    for (const auto& result : results) {
      types.emplace_back();
      if (result.isTensor() && result.toTensor().defined())
        types.back() = ConcreteType{result.toTensor().scalar_type(), result.toTensor().sizes().vec()};
    }
    return types;
  }
  return std::nullopt;
}

}  // namespace wide
