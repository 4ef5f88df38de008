#include "primitives/support.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>

#include "core/eager/operators.h"
#include "primitives/kernels/rows.h"

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

Kernel keep_promises(const Call& call, const Offer& offer, Kernel kernel) {
  if (std::none_of(offer.results.begin(), offer.results.end(), is_last)) return kernel;
  std::vector<at::MemoryFormat> formats;
  for (std::size_t i = 0; i < offer.results.size(); ++i)
    formats.push_back(memory_format(offer.results[i], call.results[i].rank()));
  return [formats, kernel](std::span<const at::Tensor> operands, std::span<at::Tensor> results) {
    kernel(operands, results);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (results[i].defined() && formats[i] != at::MemoryFormat::Contiguous)
        results[i] = results[i].contiguous(formats[i]);
    }
  };
}

Kernel boxed_as_offered(const Call& call, const Offer& offer, Adapt adapt) {
  return keep_promises(call, offer, boxed(call, call.node, std::move(adapt)));
}

void check(const at::Tensor& holds, const std::string& complaint) {
  if (!holds.is_cpu()) return at::_assert_async(holds, complaint);
  TORCH_CHECK(holds.item<bool>(), complaint);
}

void check_indices(const at::Tensor& index, std::int64_t least, std::int64_t extent, const char* what) {
  if (index.numel() == 0) return;
  const auto complaint = [&] {
    return std::string("index out of range in ") + what + " of " + std::to_string(extent);
  };
  const auto [low, high] = at::aminmax(index);
  if (!index.is_cpu()) return check(low.ge(least).logical_and_(high.lt(extent)), complaint());
  TORCH_CHECK_INDEX(low.item<std::int64_t>() >= least && high.item<std::int64_t>() < extent, complaint());
}

bool has_one_dtype(const Call& call) {
  return std::ranges::all_of(call.operands,
                             [&](const Operand& one) { return one.type.dtype == call.results[0].dtype; });
}

Answer ask_one_pass_norm(const Call& call) {
  if (!call.operand_of(0)) return refuse("the input is a constant");
  if (!kernels::can_run_rows(call.results[0].dtype)) return refuse("no kernel for this dtype");
  if (!has_one_dtype(call)) return refuse("the weights are of another dtype");
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(1.2 * total_bytes(call));
  return offer(std::move(one));
}

bool wants_gradients(std::span<const at::Tensor> operands) {
  return at::GradMode::is_enabled() &&
         std::any_of(operands.begin(), operands.end(),
                     [](const at::Tensor& one) { return one.defined() && one.requires_grad(); });
}

namespace {

// Axis 0 of an operand folded beside `result`, or nothing.
std::optional<Layout> folded_operand(const Operand& operand, const ConcreteType& result, Layout layout) {
  const bool full = operand.type.rank() == result.rank();
  const auto rows = full ? operand.type.shape[0] : 1;
  if (!operand.mapped && rows == 1) return Layout::kShared;
  return full && rows == result.shape[0] ? std::optional(layout) : std::nullopt;
}

// Axis 1 of an operand packed beside `result`, or nothing. One without the batch axis, [C, …], folds.
std::optional<Layout> packed_operand(const Operand& operand, const ConcreteType& result, Layout layout) {
  const auto missing = result.rank() - operand.type.rank();
  const auto channels = missing <= 1 ? operand.type.shape[static_cast<std::size_t>(1 - missing)] : 1;
  if (!operand.mapped && channels == 1) return Layout::kShared;
  if (missing > 1 || channels != result.shape[1]) return std::nullopt;
  return missing == 0 ? layout : Layout::kFolded;
}

}  // namespace

std::optional<Offer> elementwise_offer(const Call& call, Layout layout) {
  const auto& result = call.results[0];
  const bool packed = without_last(layout) == Layout::kPacked;
  if (!can_hold(layout, result)) return std::nullopt;
  auto one = uniform_offer(call, layout);
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const auto& operand = call.operands[i];
    if (!operand.mapped && operand.type.elements() == 1) continue;
    const auto wanted =
        packed ? packed_operand(operand, result, layout) : folded_operand(operand, result, layout);
    if (!wanted) return std::nullopt;
    one.operands[i] = *wanted;
  }
  return one;
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

bool all_finite(const at::Tensor& tensor) {
  if (!tensor.is_cpu()) return true;
  if (tensor.scalar_type() != at::kFloat || !tensor.is_contiguous())
    return at::isfinite(tensor).all().item<bool>();
  // By bits, so that the compiler may look at many at once.
  constexpr std::uint32_t kExponent = 0x7f800000U;
  const auto* numbers = tensor.const_data_ptr<float>();
  std::uint32_t odd = 0;
  for (std::int64_t i = 0; i < tensor.numel(); ++i)
    odd |= (std::bit_cast<std::uint32_t>(numbers[i]) & kExponent) == kExponent ? 1U : 0U;
  return odd == 0;
}

at::Tensor finite_or(const at::Tensor& y, const std::function<at::Tensor()>& exact) {
  if (!y.is_cpu() || all_finite(y)) return y;
  auto all = exact();
  for (std::int64_t i = 0; i < y.size(0); ++i) {
    if (all_finite(y.select(0, i))) all.select(0, i).copy_(y.select(0, i));
  }
  return all;
}

at::Tensor with_rows(const at::Tensor& tensor) {
  const auto sizes = tensor.sizes();
  const auto rows = c10::multiply_integers(sizes.slice(1, sizes.size() - 2));
  return tensor.reshape({sizes.front(), rows, sizes.back()});
}

}  // namespace wide
