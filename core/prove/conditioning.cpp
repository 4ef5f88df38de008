#include "core/prove/conditioning.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/eager/interpreter.h"
#include "core/eager/operators.h"
#include "core/ir/compare.h"
#include "formats/error.h"

namespace wide {
namespace {

constexpr int kManyRuns = 24;
constexpr double kMargin =
    16;  // of what the runs show: they are few, and a sum may be taken in another order

// Operators without rounding whose results say which element is meant, or that stand for themselves.
bool is_exact(const Node& node) {
  constexpr std::array<std::string_view, 22> kExact = {
      "arange", "bernoulli",     "ceil",      "clone",    "copy",    "empty", "eye",  "fill",
      "floor",  "full",          "heaviside", "new",      "one_hot", "ones",  "rand", "round",
      "sign",   "scalar_tensor", "to",        "_to_copy", "trunc",   "zeros"};
  std::string_view op = node.op;
  if (const auto dot = op.find('.'); dot != std::string_view::npos) op.remove_prefix(dot + 1);
  op = op.substr(0, op.find('.'));
  return std::any_of(kExact.begin(), kExact.end(), [&](std::string_view name) {
    return op.starts_with(name) && (op.size() == name.size() || op[name.size()] == '_');
  });
}

bool is_real(const at::Tensor& tensor) {
  return tensor.defined() && (tensor.is_floating_point() || tensor.is_complex());
}

// Multiplies every rounded result with 1 - epsilon, 1 or 1 + epsilon; a complex one is turned as much, too:
// products round in the size of the number, not of each of its parts.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) : generator_(at::detail::createCPUGenerator(seed)) {}

  void add(const Node& node, std::span<const c10::IValue> operands, std::span<const c10::IValue> results) {
    if (is_exact(node)) return;
    for (const auto& result : results) {
      if (!result.isTensor() || !is_real(result.toTensor())) continue;
      auto tensor = result.toTensor();
      // A view has no rounding of its own, and what is written in place must stay what the operand is.
      const bool shares = std::any_of(operands.begin(), operands.end(), [&](const c10::IValue& operand) {
        return operand.isTensor() && operand.toTensor().defined() && operand.toTensor().is_alias_of(tensor);
      });
      if (shares || tensor.is_nested() || tensor.is_sparse() || !tensor.is_non_overlapping_and_dense())
        continue;
      tensor.copy_(moved(tensor));
    }
  }

  // What an operator cancels inside is seen by moving what it reads.
  at::Tensor moved(const at::Tensor& tensor) {
    if (!is_real(tensor)) return tensor;
    const auto turned = tensor * factor(tensor);
    if (!tensor.is_complex()) return turned;
    // A part that is NaN or infinite says nothing of the other one, which is moved by itself.
    const auto parts = at::view_as_real(tensor.resolve_conj());
    return at::where(tensor.isfinite(), turned, at::view_as_complex((parts * factor(parts)).contiguous()));
  }

 private:
  at::Tensor factor(const at::Tensor& tensor) {
    const auto chance = [&] {
      return at::randint(-1, 2, tensor.sizes(), generator_, at::TensorOptions(at::kDouble));
    };
    const auto chances = tensor.is_complex() ? at::complex(chance(), chance()) : chance();
    return (chances * epsilon(tensor.scalar_type()) + 1).to(tensor.device(), tensor.scalar_type());
  }

  at::Generator generator_;
};

at::Tensor tensor_of(const c10::IValue& value) {
  return value.isTensor() ? value.toTensor() : at::Tensor();
}

// What is not the same twice is moved by something else than rounding.
bool gives_the_same_twice(const AloneRun& one, const AloneRun& other) {
  for (std::size_t k = 0; k < one.outputs.size(); ++k) {
    const auto value = tensor_of(one.outputs[k]);
    if (value.defined() && !same_bits(value, tensor_of(other.outputs[k]))) return false;
  }
  return std::all_of(one.buffers.begin(), one.buffers.end(), [&](const auto& buffer) {
    return same_bits(buffer.second, other.buffers.at(buffer.first));
  });
}

// Takes in how far `other` stands from `value`.
void widen(at::Tensor& moved, const at::Tensor& value, const at::Tensor& other) {
  if (!is_real(value) || value.is_nested() || other.sizes() != value.sizes()) return;
  const auto wide = value.is_complex() ? at::kComplexDouble : at::kDouble;
  const auto far = (other.to(wide) - value.to(wide)).abs().mul_(kMargin).nan_to_num_(0, 0, 0);
  moved = moved.defined() ? at::maximum(moved, far) : far;
}

}  // namespace

Conditioning conditioning(WideModel& model, std::int64_t i, std::span<const ModelInput> inputs, int runs) {
  const c10::InferenceMode guard;
  const auto own = model.run_alone(i, inputs);
  Conditioning moved{std::vector<at::Tensor>(own.outputs.size()), {}};
  if (!gives_the_same_twice(own, model.run_alone(i, inputs))) return moved;
  for (int run = 0; run < runs; ++run) {
    Noise noise(static_cast<std::uint64_t>(run) + 1);
    AloneRun other;
    try {
      other = model.run_alone(
          i, inputs,
          [&](const Node& node, auto operands, auto results) { noise.add(node, operands, results); },
          [&](const at::Tensor& tensor) { return noise.moved(tensor); });
    } catch (const Error&) {
      continue;  // a check of the model's own that rounding decides
    }
    for (std::size_t k = 0; k < own.outputs.size(); ++k)
      widen(moved.outputs[k], tensor_of(own.outputs[k]), tensor_of(other.outputs[k]));
    for (const auto& [fqn, value] : own.buffers) widen(moved.buffers[fqn], value, other.buffers.at(fqn));
  }
  return moved;
}

const Conditioning& ConditionedCompare::moved(int runs) {
  if (runs_ < runs) moved_ = conditioning(model_, i_, inputs_, runs_ = runs);
  return moved_;
}

template <typename Far>
Difference ConditionedCompare::within(Far far, const at::Tensor& got, const at::Tensor& expected,
                                      const Tolerance& tolerance) {
  auto difference = compare(got, expected, tolerance);
  if (difference.agrees || !std::isfinite(difference.max_abs)) return difference;
  // Of two equal numbers one is the larger by chance: few runs may not show it.
  for (const int runs : {kFewRuns, kManyRuns}) {
    const at::Tensor allowed = far(moved(runs));
    if (!allowed.defined()) return difference;
    difference = compare(got, expected, tolerance, allowed);
    if (difference.agrees) break;
  }
  return difference;
}

Difference ConditionedCompare::output(std::size_t place, const at::Tensor& got, const at::Tensor& expected,
                                      const Tolerance& tolerance) {
  return within([&](const Conditioning& moved) { return moved.outputs[place]; }, got, expected, tolerance);
}

Difference ConditionedCompare::buffer(const std::string& fqn, const at::Tensor& got,
                                      const at::Tensor& expected, const Tolerance& tolerance) {
  const auto far = [&](const Conditioning& moved) {
    const auto found = moved.buffers.find(fqn);
    return found == moved.buffers.end() ? at::Tensor() : found->second;
  };
  return within(far, got, expected, tolerance);
}

}  // namespace wide
