#include "core/frontend/memory_order.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/aten/device.h"
#include "core/eager/higher_order.h"
#include "core/eager/interpreter.h"
#include "core/eager/operators.h"
#include "core/ir/graph_body.h"
#include "core/ir/scalar_ops.h"
#include "formats/expression.h"

namespace wide {
namespace {

// Any number will do for a symbol: it says which of two strides is larger.
std::int64_t some_size(const formats::SymbolicInt& size) {
  if (const auto* number = std::get_if<std::int64_t>(&size)) return *number;
  std::map<std::string, std::int64_t> symbols;
  const std::function<void(const formats::Expression&)> collect = [&](const formats::Expression& one) {
    if (one.kind == formats::Expression::Kind::kSymbol) symbols[one.symbol] = 24;
    for (const auto& operand : one.operands) collect(operand);
  };
  collect(std::get<formats::Expression>(size));
  return formats::evaluate(std::get<formats::Expression>(size), symbols).value_or(1);
}

}  // namespace

MemoryOrder memory_order(const formats::TensorMeta* meta) {
  MemoryOrder order;
  if (!meta || meta->sizes.size() != meta->strides.size()) return order;
  Axes sizes, strides;
  for (const auto& size : meta->sizes) sizes.push_back(some_size(size));
  for (const auto& stride : meta->strides) strides.push_back(some_size(stride));
  order.axes.resize(sizes.size());
  std::iota(order.axes.begin(), order.axes.end(), 0);
  const auto dense = [&] {  // axes of one element stand anywhere
    std::int64_t next = 1;
    return std::all_of(order.axes.rbegin(), order.axes.rend(), [&](std::int64_t axis) {
      const auto i = static_cast<std::size_t>(axis);
      return sizes[i] == 1 || strides[i] == std::exchange(next, next * sizes[i]);
    });
  };
  if (dense() || std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return order;
  std::stable_sort(order.axes.begin(), order.axes.end(), [&](auto a, auto b) {
    return strides[static_cast<std::size_t>(a)] > strides[static_cast<std::size_t>(b)];
  });
  order.turned = !std::is_sorted(order.axes.begin(), order.axes.end());
  order.gaps = !dense();
  return order;
}

namespace {

// bernoulli_ fills a tensor in the order of its axes where MKL draws for it, elsewhere in the order in
// memory: MKL is asked on processors of one maker only.
bool is_bernoulli_in_memory_order() {
  static const bool in_memory_order = [] {
    const c10::InferenceMode guard;
    auto one = at::detail::createCPUGenerator(1), other = at::detail::createCPUGenerator(1);
    const auto turned = at::empty({64, 64}).t().bernoulli_(0.5, one);
    return !turned.equal(at::empty({64, 64}).bernoulli_(0.5, other));
  }();
  return in_memory_order;
}

Argument as_argument(const Axes& axes) {
  Argument::List list;
  for (const auto axis : axes) list.push_back({axis});
  return {std::move(list)};
}

}  // namespace

Axes inverse(const Axes& order) {
  Axes back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  return back;
}

void permute(Graph& graph, ValueId from, const Axes& axes, ValueId to, const std::string& module_path) {
  graph.nodes.push_back({"aten.permute.default", {{ValueRef{from}}, as_argument(axes)}, {to}, module_path});
}

namespace {

// Their numbers are drawn one element after the other as they lie in memory, into a tensor like the first
// operand: the same numbers go into a contiguous one whose axes are in that order.
bool is_drawn_in_turn(std::string_view op) {
  if (op == "aten.dropout.default" || op == "aten.alpha_dropout.default")
    return is_bernoulli_in_memory_order();
  return op.starts_with("aten.rand_like.") || op.starts_with("aten.randint_like.");
}

// They draw into contiguous tensors whatever they are given.
bool is_drawn_contiguous(std::string_view op) {
  static constexpr std::array<std::string_view, 9> kOps = {"aten.bernoulli.default",
                                                           "aten.bernoulli.p",
                                                           "aten.feature_",
                                                           "aten.scaled_dot_product_",
                                                           "aten.lstm.",
                                                           "aten.gru.",
                                                           "aten.rnn_",
                                                           "aten.dropout.default",
                                                           "aten.alpha_dropout.default"};
  return std::any_of(kOps.begin(), kOps.end(), [&](std::string_view one) { return op.starts_with(one); });
}

void draw_in_turn(Graph& graph, Node draw, const MemoryOrder& order, const NewValue& new_value) {
  const auto permuted = [&](ValueId value, const std::string& suffix) {
    const auto& of = graph.values[static_cast<std::size_t>(value)];
    auto type = of.type;
    for (std::size_t i = 0; type && i < order.axes.size(); ++i)
      type->sizes[i] = of.type->sizes[static_cast<std::size_t>(order.axes[i])];
    return new_value(of.name + suffix, std::move(type));
  };
  const auto like = draw.arguments[0].ref()->id, asked = draw.results[0];
  const auto turned = permuted(like, "_turned"), drawn = permuted(asked, "_drawn");
  permute(graph, like, order.axes, turned, draw.module_path);
  draw.arguments[0] = {ValueRef{turned}};
  draw.results[0] = drawn;
  const auto module_path = draw.module_path;
  graph.nodes.push_back(std::move(draw));
  permute(graph, drawn, inverse(order.axes), asked, module_path);
}

// `tensor` of the body in memory as `order` says.
Argument laid_out(GraphBody& body, Argument tensor, const MemoryOrder& order) {
  tensor = body.add("aten.permute.default", {tensor, as_argument(order.axes)});
  if (order.gaps) {
    tensor = body.add("aten.stack.default", {{Argument::List{tensor, tensor}}, {std::int64_t{-1}}});
    tensor = body.add("aten.select.int", {tensor, {std::int64_t{-1}}, {std::int64_t{0}}});
  } else {
    tensor = body.add("aten.clone.default", {tensor, {at::MemoryFormat::Contiguous}});
  }
  return body.add("aten.permute.default", {tensor, as_argument(inverse(order.axes))});
}

// The node runs on tensors that lie as PyTorch's did; what it wrote is copied to where it belongs.
void draw_laid_out(Graph& graph, Node draw, const MetaOf& meta_of, const NewValue& new_value) {
  const auto schema = find_operator(draw.op)->schema();
  const auto written = written_arguments(draw);
  GraphBody body;
  auto inner = draw;
  for (auto& argument : inner.arguments) {
    map_uses(argument, [&](ValueId id) {
      const bool tensor = graph.values[static_cast<std::size_t>(id)].tensor;
      const auto operand = body.input({ValueRef{id}}, tensor);
      const auto order = memory_order(meta_of(id));
      return order.contiguous() ? operand : laid_out(body, operand, order);
    });
  }
  Node call{std::string(kCall), {}, {}, draw.module_path};
  std::vector<Node> copies;
  for (const auto i : written) {
    const auto target = draw.arguments[i].ref()->id;
    const auto& value = graph.values[static_cast<std::size_t>(target)];
    const auto name = value.name;
    const auto type = value.type;
    body.output(inner.arguments[i]);
    call.results.push_back(new_value(name + "_drawn", type));
    copies.push_back({"aten.copy_.default",
                      {{ValueRef{target}}, {ValueRef{call.results.back()}}, {false}},
                      {new_value(name + "_written", type)},
                      draw.module_path});
  }
  const auto results = body.add(std::move(inner));
  for (std::size_t i = 0; i < draw.results.size(); ++i) {
    if (schema.returns()[i].alias_info()) {
      copies[0].results[0] = draw.results[i];
    } else {
      body.output(results[i]);
      call.results.push_back(draw.results[i]);
    }
  }
  call.arguments = {body.operands()};
  call.bodies = {body.take()};
  graph.nodes.push_back(std::move(call));
  for (auto& copy : copies) graph.nodes.push_back(std::move(copy));
}

}  // namespace

void add_draw(Graph& graph, Node draw, const MetaOf& meta_of, const NewValue& new_value) {
  const auto format = argument_index(find_operator(draw.op)->schema(), "memory_format");
  const bool in_turn = is_drawn_in_turn(draw.op) && !draw.arguments.empty() && draw.arguments[0].ref();
  if (in_turn) {
    if (format) draw.arguments[*format] = {at::MemoryFormat::Contiguous};
    const auto order = memory_order(meta_of(draw.results[0]));
    if (order.turned) return draw_in_turn(graph, std::move(draw), order, new_value);
  } else if (!is_drawn_contiguous(draw.op)) {
    bool lies_otherwise = false;
    for_each_use(draw, [&](ValueId id) { lies_otherwise |= !memory_order(meta_of(id)).contiguous(); });
    if (lies_otherwise) return draw_laid_out(graph, std::move(draw), meta_of, new_value);
  }
  graph.nodes.push_back(std::move(draw));
}

Graph with_draws_in_turn(const Graph& graph, std::span<const c10::IValue> inputs) {
  const auto is_draw = [](const Node& node) {
    return !is_scalar_op(node.op) && !is_higher_order(node) && draws_random(node);
  };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), is_draw)) return graph;
  std::map<ValueId, formats::TensorMeta> seen;
  const auto note = [&](ValueId id, const c10::IValue& value) {
    if (id < 0 || !value.isTensor() || !value.toTensor().defined()) return;
    auto& meta = seen[id];
    for (const auto size : value.toTensor().sizes()) meta.sizes.emplace_back(size);
    for (const auto stride : value.toTensor().strides()) meta.strides.emplace_back(stride);
  };
  const KeptGenerator kept(graph.device);
  Interpreter(graph).run(inputs, [&](const Node& node, auto operands, auto results) {
    if (!is_draw(node)) return;
    std::size_t use = 0;
    for_each_use(node, [&](ValueId id) { seen.erase(id), note(id, operands[use++]); });
    for (std::size_t i = 0; i < node.results.size(); ++i)
      seen.erase(node.results[i]), note(node.results[i], results[i]);
  });
  auto laid_out = graph;
  laid_out.nodes.clear();
  const NewValue new_value = [&](const std::string& name, std::optional<TensorType> type) {
    return laid_out.add_value(laid_out.unique_name(name), true, std::move(type));
  };
  const MetaOf meta_of = [&](ValueId id) {
    const auto found = seen.find(id);
    return found == seen.end() ? nullptr : &found->second;
  };
  for (const auto& node : graph.nodes) {
    if (is_draw(node)) {
      add_draw(laid_out, node, meta_of, new_value);
    } else {
      laid_out.nodes.push_back(node);
    }
  }
  return laid_out;
}

}  // namespace wide
