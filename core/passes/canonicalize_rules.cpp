#include "core/passes/canonicalize_rules.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "core/eager/operators.h"

namespace wide {
namespace {

using Rule = bool (*)(const CanonicalContext&);

void bind_result(const CanonicalContext& c, std::size_t result, ValueId value) {
  if (c.node.results[result] >= 0) c.rewriter.bind(c.node.results[result], {ValueRef{value}});
}

const std::string& result_name(const CanonicalContext& c, std::size_t result = 0) {
  return c.old.values[static_cast<std::size_t>(c.node.results[result])].name;
}

// One node in place of this one, of the same result type.
bool replace(const CanonicalContext& c, std::string op, std::vector<Argument> arguments) {
  bind_result(c, 0,
              c.rewriter.emit(std::move(op), std::move(arguments), c.result_type(), result_name(c),
                              c.node.module_path));
  return true;
}

Argument self(const CanonicalContext& c) {
  return c.rewriter.map(c.node.arguments[0]);
}

bool drop(const CanonicalContext&) {
  return true;
}

// A copy, cast or move: nothing at all, or a cast.
bool cast(const CanonicalContext& c) {
  if (!c.node.arguments[0].ref()) return false;
  const auto from = c.operand_type(0), to = c.result_type();
  if (from.dtype == to.dtype) {
    if (c.overlapping.contains(c.node.arguments[0].ref()->id))
      return replace(c, "aten.clone.default", {self(c), {at::MemoryFormat::Contiguous}});
    c.rewriter.bind(c.node.results[0], self(c));
    return true;
  }
  return replace(c, "aten.to.dtype", {self(c), {to.dtype}, {false}, {false}, {}});
}

bool reshape(const CanonicalContext& c) {
  const auto from = c.operand_type(0), to = c.result_type();
  if (from.dtype != to.dtype) return false;  // view.dtype reinterprets bits
  if (from.shape == to.shape) {
    c.rewriter.bind(c.node.results[0], self(c));
    return true;
  }
  return replace(c, "aten.reshape.default", {self(c), int_list(to.shape)});
}

bool expand(const CanonicalContext& c) {
  if (c.operand_type(0).shape == c.result_type().shape) {
    c.rewriter.bind(c.node.results[0], self(c));
    return true;
  }
  return replace(c, "aten.expand.default", {self(c), int_list(c.result_type().shape), {false}});
}

bool permute_by(const CanonicalContext& c, const std::vector<std::int64_t>& order) {
  if (std::is_sorted(order.begin(), order.end())) {
    c.rewriter.bind(c.node.results[0], self(c));
    return true;
  }
  return replace(c, "aten.permute.default", {self(c), int_list(order)});
}

std::vector<std::int64_t> identity_order(const CanonicalContext& c) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(c.operand_type(0).rank()));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool permute(const CanonicalContext& c) {
  return permute_by(c, c.integers(1));
}

bool transpose(const CanonicalContext& c) {
  auto order = identity_order(c);
  if (!order.empty()) {
    std::swap(order[static_cast<std::size_t>(c.integer(1))], order[static_cast<std::size_t>(c.integer(2))]);
  }
  return permute_by(c, order);
}

bool swap_last_two(const CanonicalContext& c) {
  auto order = identity_order(c);
  if (order.size() >= 2) std::swap(order[order.size() - 1], order[order.size() - 2]);
  return permute_by(c, order);
}

bool reverse_all(const CanonicalContext& c) {
  auto order = identity_order(c);
  std::reverse(order.begin(), order.end());
  return permute_by(c, order);
}

bool movedim(const CanonicalContext& c) {
  std::vector<std::int64_t> source, destination;
  if (c.node.arguments[1].list()) {
    source = c.integers(1);
    destination = c.integers(2);
  } else {
    source = {c.integer(1)};
    destination = {c.integer(2)};
  }
  const auto rank = identity_order(c).size();
  std::vector<std::int64_t> order(rank, -1);
  for (std::size_t i = 0; i < source.size(); ++i) order[static_cast<std::size_t>(destination[i])] = source[i];
  std::int64_t next = 0;
  for (auto& place : order) {
    if (place >= 0) continue;
    while (std::find(source.begin(), source.end(), next) != source.end()) ++next;
    place = next++;
  }
  return permute_by(c, order);
}

// Consecutive parts along `dim`, one per result, lengths taken from the results themselves.
bool split(const CanonicalContext& c) {
  const auto dim = c.node.arguments.size() > 2 ? c.integer(2) : 0;
  std::int64_t start = 0;
  for (std::size_t i = 0; i < c.node.results.size(); ++i) {
    // A result nobody uses still takes its place; its length is only known if all are typed.
    if (c.node.results[i] < 0) return false;
    const auto type = c.type(c.node.results[i]);
    const auto end = start + type.shape[static_cast<std::size_t>(dim)];
    bind_result(c, i,
                c.rewriter.emit("aten.slice.Tensor", {self(c), {dim}, {start}, {end}, {std::int64_t{1}}},
                                type, result_name(c, i), c.node.module_path));
    start = end;
  }
  return true;
}

// Parts between indices, which need not grow: each begins at the index before its own, as slices count them.
bool split_at(const CanonicalContext& c) {
  const auto* list = c.node.arguments[1].list();
  if (!list || std::ranges::any_of(*list, [](const Argument& one) { return one.ref() != nullptr; }))
    return false;
  const auto dim = c.integer(2), extent = c.operand_type(0).shape[static_cast<std::size_t>(dim)];
  const auto indices = c.integers(1);
  for (std::size_t i = 0; i < c.node.results.size(); ++i) {
    if (c.node.results[i] < 0) continue;
    const auto type = c.type(c.node.results[i]);
    auto start = i == 0 ? 0 : indices[i - 1];
    start = std::clamp<std::int64_t>(start < 0 ? start + extent : start, 0, extent);
    const auto end = start + type.shape[static_cast<std::size_t>(dim)];
    bind_result(c, i,
                c.rewriter.emit("aten.slice.Tensor", {self(c), {dim}, {start}, {end}, {std::int64_t{1}}},
                                type, result_name(c, i), c.node.module_path));
  }
  return true;
}

bool unbind(const CanonicalContext& c) {
  for (std::size_t i = 0; i < c.node.results.size(); ++i) {
    if (c.node.results[i] < 0) continue;
    bind_result(c, i,
                c.rewriter.emit("aten.select.int", {self(c), {c.integer(1)}, {static_cast<std::int64_t>(i)}},
                                c.type(c.node.results[i]), result_name(c, i), c.node.module_path));
  }
  return true;
}

// Bounds made plain: 0 <= start <= end <= extent; the whole tensor is no slice at all.
bool slice(const CanonicalContext& c) {
  const auto extent = c.operand_type(0).shape[static_cast<std::size_t>(c.integer(1))];
  const auto clamp = [&](const Argument& argument, std::int64_t otherwise) {
    const auto* given = std::get_if<std::int64_t>(&argument.value);
    auto bound = given ? *given : otherwise;
    if (bound < 0) bound += extent;
    return std::clamp<std::int64_t>(bound, 0, extent);
  };
  const auto start = clamp(c.node.arguments[2], 0), step = c.integer(4);
  const auto end = std::max(start, clamp(c.node.arguments[3], extent));
  if (start == 0 && end == extent && step == 1) {
    c.rewriter.bind(c.node.results[0], self(c));
    return true;
  }
  return replace(c, "aten.slice.Tensor", {self(c), {c.integer(1)}, {start}, {end}, {step}});
}

bool narrow(const CanonicalContext& c) {
  const auto start = c.integer(2) < 0
                         ? c.integer(2) + c.operand_type(0).shape[static_cast<std::size_t>(c.integer(1))]
                         : c.integer(2);
  return replace(c, "aten.slice.Tensor",
                 {self(c), {c.integer(1)}, {start}, {start + c.integer(3)}, {std::int64_t{1}}});
}

bool select(const CanonicalContext& c) {
  auto index = c.integer(2);
  if (index < 0) index += c.operand_type(0).shape[static_cast<std::size_t>(c.integer(1))];
  return replace(c, "aten.select.int", {self(c), {c.integer(1)}, {index}});
}

// Random only in training: input, probability, train.
bool dropout(const CanonicalContext& c) {
  const auto* train = std::get_if<bool>(&c.node.arguments[2].value);
  const auto* probability = std::get_if<double>(&c.node.arguments[1].value);
  if (!train || (*train && !(probability && *probability == 0.0))) return false;
  c.rewriter.bind(c.node.results[0], self(c));
  return true;
}

// padding="same"/"valid" as numbers; uneven padding becomes an explicit pad.
bool conv_padding(const CanonicalContext& c) {
  enum { kInput, kWeight, kBias, kStride, kPadding, kDilation, kGroups };
  const auto weight = c.operand_type(kWeight);
  const auto spatial = static_cast<std::size_t>(weight.rank() - 2);
  const auto dilation = c.integers(kDilation);
  std::vector<std::int64_t> padding(spatial, 0), pad;
  auto input = c.rewriter.map(c.node.arguments[kInput]);
  if (std::get<std::string>(c.node.arguments[kPadding].value) == "same") {
    auto padded = c.operand_type(kInput);
    bool uneven = false;
    for (std::size_t i = spatial; i-- > 0;) {
      const auto total = dilation[dilation.size() == 1 ? 0 : i] * (weight.shape[i + 2] - 1);
      padding[i] = total / 2;
      uneven |= total % 2 != 0;
      pad.push_back(0);
      pad.push_back(total % 2);
      padded.shape[padded.shape.size() - spatial + i] += total % 2;
    }
    if (uneven) {
      input = {ValueRef{c.rewriter.emit("aten.constant_pad_nd.default", {input, int_list(pad), {0.0}}, padded,
                                        result_name(c), c.node.module_path)}};
    }
  }
  std::vector<Argument> arguments{input};
  for (const auto index : {kWeight, kBias, kStride, kPadding, kDilation, kGroups}) {
    arguments.push_back(index == kPadding ? int_list(padding) : c.rewriter.map(c.node.arguments[index]));
  }
  return replace(c, "aten.conv" + std::to_string(spatial) + "d.default", std::move(arguments));
}

template <int kIndex>
bool rename(const CanonicalContext& c) {
  static constexpr const char* kNames[] = {"aten.bitwise_and.Tensor", "aten.bitwise_or.Tensor",
                                           "aten.bitwise_xor.Tensor", "aten.bitwise_and.Scalar",
                                           "aten.bitwise_or.Scalar",  "aten.bitwise_xor.Scalar"};
  std::vector<Argument> arguments;
  for (const auto& argument : c.node.arguments) arguments.push_back(c.rewriter.map(argument));
  return replace(c, kNames[kIndex], std::move(arguments));
}

const std::unordered_map<std::string_view, Rule>& rules() {
  static const std::unordered_map<std::string_view, Rule> table = {
      {"aten._assert_tensor_metadata.default", drop},
      {"aten._assert_scalar.default", drop},
      {"aten.sym_constrain_range.default", drop},
      {"aten.sym_constrain_range_for_size.default", drop},
      {"aten.to.dtype", cast},
      {"aten.to.device", cast},
      {"aten.to.other", cast},
      {"aten.to.dtype_layout", cast},
      {"aten.type_as.default", cast},
      {"aten._to_copy.default", cast},
      {"aten.clone.default", cast},
      {"aten.contiguous.default", cast},
      {"aten.alias.default", cast},
      {"aten.detach.default", cast},
      {"aten.lift_fresh.default", cast},
      {"aten.lift_fresh_copy.default", cast},
      {"aten.positive.default", cast},
      {"aten.view.default", reshape},
      {"aten._unsafe_view.default", reshape},
      {"aten.reshape.default", reshape},
      {"aten.view_as.default", reshape},
      {"aten.reshape_as.default", reshape},
      {"aten.flatten.using_ints", reshape},
      {"aten.unflatten.int", reshape},
      {"aten.unsqueeze.default", reshape},
      {"aten.squeeze.default", reshape},
      {"aten.squeeze.dim", reshape},
      {"aten.squeeze.dims", reshape},
      {"aten.ravel.default", reshape},
      {"aten.expand.default", expand},
      {"aten.expand_as.default", expand},
      {"aten.broadcast_to.default", expand},
      {"aten.permute.default", permute},
      {"aten.transpose.int", transpose},
      {"aten.swapaxes.default", transpose},
      {"aten.swapdims.default", transpose},
      {"aten.t.default", swap_last_two},
      {"aten.mT.default", swap_last_two},
      {"aten.numpy_T.default", reverse_all},
      {"aten.movedim.int", movedim},
      {"aten.movedim.intlist", movedim},
      {"aten.moveaxis.int", movedim},
      {"aten.moveaxis.intlist", movedim},
      {"aten.split.Tensor", split},
      {"aten.split.sizes", split},
      {"aten.split_with_sizes.default", split},
      {"aten.chunk.default", split},
      {"aten.tensor_split.sections", split},
      {"aten.tensor_split.indices", split_at},
      {"aten.unbind.int", unbind},
      {"aten.slice.Tensor", slice},
      {"aten.narrow.default", narrow},
      {"aten.select.int", select},
      {"aten.dropout.default", dropout},
      {"aten.feature_dropout.default", dropout},
      {"aten.alpha_dropout.default", dropout},
      {"aten.feature_alpha_dropout.default", dropout},
      {"aten.conv1d.padding", conv_padding},
      {"aten.conv2d.padding", conv_padding},
      {"aten.conv3d.padding", conv_padding},
      {"aten._convolution_mode.default", conv_padding},
      {"aten.__and__.Tensor", rename<0>},
      {"aten.__or__.Tensor", rename<1>},
      {"aten.__xor__.Tensor", rename<2>},
      {"aten.__and__.Scalar", rename<3>},
      {"aten.__or__.Scalar", rename<4>},
      {"aten.__xor__.Scalar", rename<5>},
  };
  return table;
}

}  // namespace

std::int64_t CanonicalContext::integer(std::size_t argument) const {
  return std::get<std::int64_t>(node.arguments[argument].value);
}

std::vector<std::int64_t> CanonicalContext::integers(std::size_t argument) const {
  std::vector<std::int64_t> values;
  for (const auto& item : *node.arguments[argument].list())
    values.push_back(std::get<std::int64_t>(item.value));
  return values;
}

Argument int_list(const std::vector<std::int64_t>& values) {
  Argument::List items;
  items.reserve(values.size());
  for (const auto value : values) items.push_back({value});
  return {std::move(items)};
}

bool has_canonical_rule(std::string_view op) {
  return rules().contains(op) || has_native_rule(op);
}

bool apply_canonical_rule(const CanonicalContext& context) {
  const auto rule = rules().find(context.node.op);
  return rule != rules().end() ? rule->second(context) : apply_native_rule(context);
}

}  // namespace wide
