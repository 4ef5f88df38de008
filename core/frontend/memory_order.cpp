#include "core/frontend/memory_order.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <variant>
#include <vector>

#include "core/eager/operators.h"

namespace wide {
namespace {

using Axes = std::vector<std::int64_t>;

// Axes from the one of the largest stride to that of the smallest; as they are where sizes are not known.
Axes axes_in_memory(const formats::TensorMeta& meta) {
  Axes axes(meta.strides.size());
  std::iota(axes.begin(), axes.end(), 0);
  const auto known = [](const formats::SymbolicInt& one) {
    return std::holds_alternative<std::int64_t>(one);
  };
  if (!std::all_of(meta.strides.begin(), meta.strides.end(), known) ||
      !std::all_of(meta.sizes.begin(), meta.sizes.end(), known))
    return axes;
  const auto at = [](const std::vector<formats::SymbolicInt>& list, std::int64_t i) {
    return std::get<std::int64_t>(list[static_cast<std::size_t>(i)]);
  };
  std::int64_t dense = 1;  // axes of one element stand anywhere: contiguous is asked for first
  bool contiguous = true;
  for (auto i = static_cast<std::int64_t>(axes.size()); i-- > 0;) {
    contiguous &= at(meta.sizes, i) == 1 || at(meta.strides, i) == dense;
    dense *= at(meta.sizes, i);
  }
  if (!contiguous)
    std::stable_sort(axes.begin(), axes.end(),
                     [&](auto a, auto b) { return at(meta.strides, a) > at(meta.strides, b); });
  return axes;
}

// Empty where the order is the one that a contiguous tensor has.
Axes other_order(const formats::TensorMeta* meta) {
  auto axes = meta ? axes_in_memory(*meta) : Axes();
  if (std::is_sorted(axes.begin(), axes.end())) axes.clear();
  return axes;
}

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

void permute(Graph& graph, ValueId from, const Axes& axes, ValueId to, const std::string& module_path) {
  Argument::List list;
  for (const auto axis : axes) list.push_back({axis});
  graph.nodes.push_back({"aten.permute.default", {{ValueRef{from}}, {std::move(list)}}, {to}, module_path});
}

}  // namespace

bool is_random_like(std::string_view op) {
  if (op == "aten.dropout.default" || op == "aten.alpha_dropout.default")
    return is_bernoulli_in_memory_order();
  return op.starts_with("aten.rand_like.") || op.starts_with("aten.randn_like.") ||
         op.starts_with("aten.randint_like.");
}

void add_random_like(Graph& graph, Node random, const formats::TensorMeta* result,
                     const NewValue& new_value) {
  const auto format = argument_index(find_operator(random.op)->schema(), "memory_format");
  if (format) random.arguments[*format] = {at::MemoryFormat::Contiguous};
  const auto* like = random.arguments.empty() ? nullptr : random.arguments[0].ref();
  const auto order = other_order(result);
  if (!like || order.empty()) {
    graph.nodes.push_back(std::move(random));
    return;
  }
  Axes back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  const auto permuted = [&](ValueId value, const std::string& suffix) {
    const auto& of = graph.values[static_cast<std::size_t>(value)];
    auto type = of.type;
    for (std::size_t i = 0; type && i < order.size(); ++i)
      type->sizes[i] = of.type->sizes[static_cast<std::size_t>(order[i])];
    return new_value(of.name + suffix, std::move(type));
  };
  const auto asked = random.results[0];
  const auto turned = permuted(like->id, "_turned");
  const auto drawn = permuted(asked, "_drawn");
  permute(graph, like->id, order, turned, random.module_path);
  random.arguments[0] = {ValueRef{turned}};
  random.results[0] = drawn;
  const auto module_path = random.module_path;
  graph.nodes.push_back(std::move(random));
  permute(graph, drawn, back, asked, module_path);
}

void put_in_memory_order(Graph& graph, Node& strided, const formats::TensorMeta* operand,
                         const NewValue& new_value) {
  const auto order = other_order(operand);
  const auto* from = strided.arguments[0].ref();
  if (order.empty() || !from) return;
  const auto name = graph.values[static_cast<std::size_t>(from->id)].name;
  const auto permuted = new_value(name + "_memory", std::nullopt);
  const auto copy = new_value(name + "_copy", std::nullopt);
  permute(graph, from->id, order, permuted, strided.module_path);
  graph.nodes.push_back({"aten.clone.default",
                         {{ValueRef{permuted}}, {at::MemoryFormat::Contiguous}},
                         {copy},
                         strided.module_path});
  strided.arguments[0] = {ValueRef{copy}};
}

}  // namespace wide
