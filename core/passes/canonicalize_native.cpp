// What decompositions to core ATen and TorchScript leave of an operator, put back into the form that
// primitives know.
#include "core/passes/canonicalize_rules.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace wide {
namespace {

using NativeRule = bool (*)(const CanonicalContext&);

// One node in place of this one, for its first result; the others must be of no use to anybody.
bool replace_only_result(const CanonicalContext& c, std::string op, std::vector<Argument> arguments) {
  for (std::size_t i = 1; i < c.node.results.size(); ++i) {
    if (c.is_wanted(i)) return false;
  }
  if (!c.is_wanted(0)) return true;
  const auto& name = c.old.values[static_cast<std::size_t>(c.node.results[0])].name;
  const auto value =
      c.rewriter.emit(std::move(op), std::move(arguments), c.result_type(), name, c.node.module_path);
  c.rewriter.bind(c.node.results[0], {ValueRef{value}});
  return true;
}

Argument at(const CanonicalContext& c, std::size_t index) {
  return c.rewriter.map(c.node.arguments[index]);
}

// A list of one stands for all axes.
Argument per_axis(const CanonicalContext& c, std::size_t index, std::size_t axes) {
  auto values = c.integers(index);
  if (values.size() == 1) values.assign(axes, values[0]);
  return int_list(values);
}

// convolution and _convolution: x, weight, bias, stride, padding, dilation, transposed, output_padding,
// groups
bool convolution(const CanonicalContext& c) {
  enum { kX, kWeight, kBias, kStride, kPadding, kDilation, kTransposed, kOutputPadding, kGroups };
  const auto rank = c.operand_type(kWeight).rank();
  const auto* transposed = std::get_if<bool>(&c.node.arguments[kTransposed].value);
  if (!transposed || rank < 3 || rank > 5) return false;
  const auto axes = static_cast<std::size_t>(rank - 2);
  const auto each = [&](std::size_t index) { return per_axis(c, index, axes); };
  std::vector<Argument> arguments{at(c, kX), at(c, kWeight), at(c, kBias), each(kStride), each(kPadding)};
  if (!*transposed) {
    arguments.push_back(each(kDilation));
    arguments.push_back(at(c, kGroups));
    return replace_only_result(c, "aten.conv" + std::to_string(axes) + "d.default", std::move(arguments));
  }
  arguments.push_back(each(kOutputPadding));
  arguments.push_back(at(c, kGroups));
  arguments.push_back(each(kDilation));
  return replace_only_result(
      c, "aten.conv_transpose" + std::to_string(axes) + (axes == 1 ? "d.default" : "d.input"),
      std::move(arguments));
}

// x, shape, weight, bias, eps
bool layer_norm(const CanonicalContext& c) {
  return replace_only_result(c, "aten.layer_norm.default",
                             {at(c, 0), at(c, 1), at(c, 2), at(c, 3), at(c, 4), {true}});
}

// x, shape, weight, eps
bool rms_norm(const CanonicalContext& c) {
  return replace_only_result(c, "aten.rms_norm.default", {at(c, 0), at(c, 1), at(c, 2), at(c, 3)});
}

// x, weight, bias, N, C, HxW, groups, eps
bool group_norm(const CanonicalContext& c) {
  return replace_only_result(c, "aten.group_norm.default",
                             {at(c, 0), at(c, 6), at(c, 1), at(c, 2), at(c, 7), {true}});
}

// x, weight, bias, mean, variance, momentum, eps
bool batch_norm_without_training(const CanonicalContext& c) {
  return replace_only_result(
      c, "aten.batch_norm.default",
      {at(c, 0), at(c, 1), at(c, 2), at(c, 3), at(c, 4), {false}, at(c, 5), at(c, 6), {true}});
}

// x, weight, bias, mean, variance, by the input's statistics, momentum, eps, cudnn
bool instance_norm(const CanonicalContext& c) {
  if (c.node.arguments[5] != Argument{false}) return false;
  return replace_only_result(
      c, "aten.batch_norm.default",
      {at(c, 0), at(c, 1), at(c, 2), at(c, 3), at(c, 4), {false}, at(c, 6), at(c, 7), {true}});
}

// x, weight, bias, mean, variance, training, momentum, eps
bool native_batch_norm(const CanonicalContext& c) {
  if (c.node.arguments[5] != Argument{false}) return false;
  return replace_only_result(
      c, "aten.batch_norm.default",
      {at(c, 0), at(c, 1), at(c, 2), at(c, 3), at(c, 4), {false}, at(c, 6), at(c, 7), {true}});
}

// q, k, v, dropout, causal, mask, scale
bool flash_attention(const CanonicalContext& c) {
  return replace_only_result(c, "aten.scaled_dot_product_attention.default",
                             {at(c, 0), at(c, 1), at(c, 2), at(c, 5), at(c, 3), at(c, 4), at(c, 6), {false}});
}

bool adaptive_average(const CanonicalContext& c) {
  auto op = c.node.op;
  return replace_only_result(c, op.erase(op.find("._") + 1, 1), {at(c, 0), at(c, 1)});
}

// x, probability, train
bool native_dropout(const CanonicalContext& c) {
  if (c.node.arguments[2] != Argument{false} || c.is_wanted(1)) return false;
  c.rewriter.bind(c.node.results[0], at(c, 0));
  return true;
}

// Matrices and more: along columns, or along rows.
bool joined(const CanonicalContext& c, std::int64_t dim) {
  for (const auto& item : *c.node.arguments[0].list()) {
    if (!item.ref() || c.type(item.ref()->id).rank() < 2) return false;
  }
  return replace_only_result(c, "aten.cat.default", {at(c, 0), {dim}});
}
bool beside(const CanonicalContext& c) {
  return joined(c, 1);
}
bool below(const CanonicalContext& c) {
  return joined(c, 0);
}

bool outer(const CanonicalContext& c) {
  if (!c.node.arguments[0].ref() || !c.node.arguments[1].ref()) return false;
  const auto left = c.operand_type(0);
  const ConcreteType column{left.dtype, {left.shape[0], 1}};
  const auto x = c.rewriter.emit("aten.reshape.default", {at(c, 0), int_list(column.shape)}, column, "column",
                                 c.node.module_path);
  return replace_only_result(c, "aten.mul.Tensor", {{ValueRef{x}}, at(c, 1)});
}

// self, source: the source in self's dtype and shape.
bool copy(const CanonicalContext& c) {
  if (!c.node.arguments[1].ref()) return false;
  auto source = at(c, 1);
  auto type = c.operand_type(1);
  const auto to = c.result_type();
  const auto emit = [&](std::string op, std::vector<Argument> arguments) {
    source = {
        ValueRef{c.rewriter.emit(std::move(op), std::move(arguments), type, "copied", c.node.module_path)}};
  };
  if (type.dtype != to.dtype) {
    type.dtype = to.dtype;
    emit("aten.to.dtype", {source, {to.dtype}, {false}, {false}, {}});
  }
  if (type.shape != to.shape) {
    type.shape = to.shape;
    emit("aten.expand.default", {source, int_list(to.shape), {false}});
  }
  c.rewriter.bind(c.node.results[0], source);
  return true;
}

// self, mask, value: a number of each member's own has an axis of members beside it, which masked_fill
// refuses.
bool masked_fill(const CanonicalContext& c) {
  if (!c.node.arguments[2].ref()) return false;
  auto value = at(c, 2);
  auto type = c.operand_type(2);
  if (const auto to = c.result_type().dtype; type.dtype != to) {
    type.dtype = to;
    value = {ValueRef{c.rewriter.emit("aten.to.dtype", {value, {to}, {false}, {false}, {}}, type, "filled",
                                      c.node.module_path)}};
  }
  return replace_only_result(c, "aten.where.self", {at(c, 1), value, at(c, 0)});
}

// In evaluation mode the slope is the middle of its range. self, lower, upper, training
bool rrelu(const CanonicalContext& c) {
  const auto bound = [&](std::size_t index) {
    const auto& value = c.node.arguments[index].value;
    const auto* whole = std::get_if<std::int64_t>(&value);
    return whole ? static_cast<double>(*whole) : std::get<double>(value);
  };
  if (c.node.arguments[3] != Argument{false}) return false;
  return replace_only_result(c, "aten.leaky_relu.default", {at(c, 0), {(bound(1) + bound(2)) / 2}});
}

// A bias that is not one number an output, as F.linear takes it too, is added to the product.
bool linear(const CanonicalContext& c) {
  const auto weight = c.operand_type(1);
  if (!c.node.arguments[2].ref() || weight.rank() != 2) return false;
  if (c.operand_type(2).shape == std::vector<std::int64_t>{weight.shape[0]}) return false;
  auto type = c.result_type();
  type.shape = c.operand_type(0).shape;
  type.shape.back() = weight.shape[0];
  const auto product =
      c.rewriter.emit("aten.linear.default", {at(c, 0), at(c, 1), {}}, type, "product", c.node.module_path);
  return replace_only_result(c, "aten.add.Tensor", {{ValueRef{product}}, at(c, 2), {std::int64_t{1}}});
}

// v · (g / |v|), the norm over all axes but `dim`; over all where that is -1 (ATen's norm_except_dim).
bool weight_norm(const CanonicalContext& c) {
  if (!c.node.arguments[0].ref() || !c.node.arguments[1].ref()) return false;
  auto type = c.operand_type(0);
  const auto dim = c.integer(2) < -1 ? c.integer(2) + type.rank() : c.integer(2);
  Argument::List axes;
  for (std::int64_t i = 0; i < type.rank(); ++i) {
    if (i == dim) continue;
    axes.push_back({i});
    type.shape[static_cast<std::size_t>(i)] = 1;
  }
  const auto emit = [&](std::string op, std::vector<Argument> arguments) {
    return Argument{
        ValueRef{c.rewriter.emit(std::move(op), std::move(arguments), type, "norm", c.node.module_path)}};
  };
  const auto norm = emit("aten.linalg_vector_norm.default", {at(c, 0), {2.0}, {std::move(axes)}, {true}, {}});
  return replace_only_result(c, "aten.mul.Tensor", {at(c, 0), emit("aten.div.Tensor", {at(c, 1), norm})});
}

const std::unordered_map<std::string_view, NativeRule>& native_rules() {
  static const std::unordered_map<std::string_view, NativeRule> table = {
      {"aten.convolution.default", convolution},
      {"aten._convolution.default", convolution},
      {"aten.native_layer_norm.default", layer_norm},
      {"aten._fused_rms_norm.default", rms_norm},
      {"aten.native_group_norm.default", group_norm},
      {"aten._native_batch_norm_legit_no_training.default", batch_norm_without_training},
      {"aten.native_batch_norm.default", native_batch_norm},
      {"aten.instance_norm.default", instance_norm},
      {"aten.cudnn_batch_norm.default", native_batch_norm},
      {"aten._scaled_dot_product_flash_attention_for_cpu.default", flash_attention},
      {"aten._adaptive_avg_pool2d.default", adaptive_average},
      {"aten._adaptive_avg_pool3d.default", adaptive_average},
      {"aten.native_dropout.default", native_dropout},
      {"aten.copy.default", copy},
      {"aten.masked_fill.Tensor", masked_fill},
      {"aten.rrelu.default", rrelu},
      {"aten._weight_norm.default", weight_norm},
      {"aten.linear.default", linear},
      {"aten.hstack.default", beside},
      {"aten.column_stack.default", beside},
      {"aten.vstack.default", below},
      {"aten.outer.default", outer},
      {"aten.ger.default", outer},
  };
  return table;
}

}  // namespace

bool has_native_rule(std::string_view op) {
  return native_rules().contains(op);
}

bool apply_native_rule(const CanonicalContext& context) {
  const auto rule = native_rules().find(context.node.op);
  return rule != native_rules().end() && rule->second(context);
}

}  // namespace wide
