// Groups of pointwise operators: y[n] = f(a[n], b[n], …), where f is a graph of them (core/strategy/group.h).
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/strategy/candidates.h"
#include "core/strategy/group.h"
#include "primitives/kernels/tile_program.h"
#include "primitives/support.h"

namespace wide::group_primitive {
namespace {

double cost(const Call& call) {
  return kernel_cost(total_bytes(call));
}

// Tile by tile, in every layout in which the operands' axes line up: between the operators all have the
// result's shape.
Answer ask_tiles(const Call& call) {
  const auto& body = *call.node.bodies[0];
  if (!std::ranges::all_of(body.nodes, [&](const Node& node) { return group_step(body, node).has_value(); }))
    return refuse("only float32 is computed in tiles");
  Answer answer = offer(uniform_offer(call, Layout::kFront));
  for (const auto layout : {Layout::kPacked, Layout::kFoldedLast, Layout::kPackedLast}) {
    if (auto one = elementwise_offer(call, layout)) answer.offers.push_back(std::move(*one));
  }
  for (auto& one : answer.offers) one.cost = cost(call);
  return answer;
}

kernels::TileProgram::Source source_of(const Graph& body, const Argument& operand) {
  using Program = kernels::TileProgram;
  if (const auto* real = std::get_if<double>(&operand.value)) return static_cast<float>(*real);
  if (const auto* whole = std::get_if<std::int64_t>(&operand.value)) return static_cast<float>(*whole);
  const auto id = operand.ref()->id;
  const auto input = std::ranges::find(body.inputs, id, &GraphInput::value);
  if (input != body.inputs.end())
    return Program::Input{static_cast<std::size_t>(input - body.inputs.begin())};
  const auto maker = std::ranges::find(body.nodes, id, [](const Node& node) { return node.results[0]; });
  return Program::Result{static_cast<std::size_t>(maker - body.nodes.begin())};
}

kernels::TileProgram program_of(const Graph& body) {
  std::vector<kernels::TileProgram::Step> steps;
  for (const auto& node : body.nodes) {
    const auto step = group_step(body, node);
    steps.push_back({kernels::tile_function(step->function), {}});
    for (const auto& operand : step->operands) steps.back().operands.push_back(source_of(body, operand));
  }
  return {body.inputs.size(), steps};
}

Kernel prepare_tiles(const Call& call, const Offer& offer) {
  const auto rank = call.results[0].rank();
  const bool front = offer.results[0] == Layout::kFront;
  return keep_promises(call, offer,
                       [=, operands = call.operands, program = program_of(*call.node.bodies[0])](
                           std::span<const at::Tensor> in, std::span<at::Tensor> out) {
                         std::vector<at::Tensor> aligned;
                         for (std::size_t i = 0; i < in.size(); ++i) {
                           const auto& one = aligned.emplace_back(in[i].resolve_neg());
                           if (front && operands[i].mapped)
                             aligned[i] = align_front(one, operands[i].type, rank);
                         }
                         out[0] = program.run(aligned);
                       });
}

// The operators one after the other, each for all members, by ATen.
Answer ask_one_by_one(const Call& call) {
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = 0;
  for (const auto& node : call.node.bodies[0]->nodes) {
    const auto result = static_cast<double>(call.results[0].bytes() * call.members);
    one.cost += kernel_cost(result * static_cast<double>(1 + node.arguments.size()));
  }
  return offer(std::move(one));
}

Kernel prepare_one_by_one(const Call& call, const Offer&) {
  struct Step {
    Kernel kernel;
    std::vector<ValueId> operands;
    ValueId result;
  };
  const auto& body = *call.node.bodies[0];
  std::vector<ValueState> inputs;
  for (const auto& operand : call.operands) inputs.push_back({operand.mapped, false});
  const auto states = spread_states(body, inputs);
  std::vector<Step> steps;
  for (const auto& node : body.nodes) {
    auto one = make_call(body, node, states, call.members);
    one.device = call.device;
    const auto& strategy = find_primitive(node.op)->strategies[0];
    steps.push_back(
        {strategy.prepare(one, strategy.ask(one).offers[0]), localize(node).operands, node.results[0]});
  }
  return [=, graph = call.node.bodies[0]](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    std::vector<at::Tensor> values(graph->values.size());
    for (std::size_t i = 0; i < in.size(); ++i)
      values[static_cast<std::size_t>(graph->inputs[i].value)] = in[i];
    for (const auto& step : steps) {
      std::vector<at::Tensor> operands;
      for (const auto id : step.operands) operands.push_back(values[static_cast<std::size_t>(id)]);
      step.kernel(operands, std::span(&values[static_cast<std::size_t>(step.result)], 1));
    }
    out[0] = values[static_cast<std::size_t>(steps.back().result)];
  };
}

// What the operator gives, negated, or a choice by it where it compares.
std::shared_ptr<const Graph> body_of(const Node& first, const std::vector<SampleOperand>& operands) {
  auto body = std::make_shared<Graph>();
  const auto value = [&](at::ScalarType dtype, const std::vector<std::int64_t>& shape) {
    return body->add_value("v" + std::to_string(body->values.size()), true, as_type({dtype, shape}));
  };
  for (const auto& operand : operands) {
    const auto id = value(operand.dtype, operand.shape);
    body->inputs.push_back({id, InputKind::kUser, body->values.back().name});
  }
  const auto& shape = operands[0].shape;
  static constexpr std::array kCompare = {"aten.gt", "aten.ge.", "aten.lt", "aten.le."};
  const bool compares =
      std::ranges::any_of(kCompare, [&](const char* op) { return first.op.starts_with(op); });
  const Argument y{ValueRef{value(compares ? at::kBool : at::kFloat, shape)}};
  body->nodes.push_back(first);
  body->nodes.back().results = {y.ref()->id};
  const auto z = value(at::kFloat, shape);
  if (compares) {
    body->nodes.push_back({"aten.where.self", {y, {ValueRef{0}}, {ValueRef{1}}}, {z}, ""});
  } else {
    body->nodes.push_back({"aten.neg.default", {y}, {z}, ""});
  }
  body->outputs.push_back({{ValueRef{z}}});
  return body;
}

std::vector<Sample> samples(std::int64_t members) {
  const Argument x{ValueRef{0}}, y{ValueRef{1}}, m{ValueRef{2}}, one{std::int64_t{1}};
  const std::vector<Node> firsts = {
      {"aten.add.Tensor", {x, y, one}},
      {"aten.add.Tensor", {x, y, {2.5}}},
      {"aten.sub.Tensor", {x, y, one}},
      {"aten.sub.Tensor", {y, x, {0.5}}},
      {"aten.rsub.Scalar", {x, {3.0}, one}},
      {"aten.mul.Tensor", {x, y}},
      {"aten.mul.Tensor", {x, {0.5}}},
      {"aten.div.Tensor", {x, y}},
      {"aten.maximum.default", {x, y}},
      {"aten.minimum.default", {x, y}},
      {"aten.abs.default", {x}},
      {"aten.square.default", {x}},
      {"aten.pow.Tensor_Scalar", {x, {std::int64_t{3}}}},
      {"aten.sqrt.default", {x}},
      {"aten.rsqrt.default", {x}},
      {"aten.reciprocal.default", {x}},
      {"aten.exp.default", {x}},
      {"aten.log.default", {x}},
      {"aten.sin.default", {x}},
      {"aten.cos.default", {x}},
      {"aten.relu.default", {x}},
      {"aten.gelu.default", {x, {std::string("none")}}},
      {"aten.gelu.default", {x, {std::string("tanh")}}},
      {"aten.silu.default", {x}},
      {"aten.sigmoid.default", {x}},
      {"aten.tanh.default", {x}},
      {"aten.clamp.default", {x, {-0.5}, {}}},
      {"aten.hardtanh.default", {x, {-0.5}, {0.5}}},
      {"aten.leaky_relu.default", {x, {0.1}}},
      {"aten.hardswish.default", {x}},
      {"aten.hardsigmoid.default", {x}},
      {"aten.where.self", {m, x, y}},
      {"aten.masked_fill.Scalar", {x, m, {-1.0}}},
      {"aten.gt.Tensor", {x, y}},
      {"aten.ge.Scalar", {x, {0.25}}},
      {"aten.lt.Tensor", {x, y}},
      {"aten.le.Tensor", {x, y}},
  };
  using Operands = std::vector<SampleOperand>;
  const Argument all{Argument::List{x, y, m}};
  std::vector<Sample> made;
  const auto add = [&](const std::string& name, const Node& first, const Operands& operands) {
    made.push_back({name, std::string(kGroup), {all}, operands, 1, {body_of(first, operands)}});
  };
  for (std::size_t i = 0; i < firsts.size(); ++i)
    add(std::to_string(i) + ": " + firsts[i].op, firsts[i], {{{5, 7}}, {{7}}, {{5, 1}, true, at::kBool, 2}});
  const auto& sum = firsts[0];
  add("longer than a tile", sum, {{{3, 1201}}, {{1201}, false}, {{1}, false, at::kBool, 2}});
  add("an image and channels", sum, {{{2, 6, 4, 5}}, {{6, 1, 1}}, {{2, 6, 4, 5}, true, at::kBool, 2}});
  add("images", sum, {{{2, 6, 4, 5}}, {{2, 6, 4, 5}}, {{1, 6, 1, 1}, false, at::kBool, 2}});
  add("B equals N", sum, {{{members, members}}, {{members}}, {{1}, true, at::kBool, 2}});
  add("nothing", sum, {{{0, 7}}, {{7}}, {{7}, true, at::kBool, 2}});
  return made;
}

}  // namespace

Primitive group() {
  return {"group",
          {},
          [](std::string_view op) { return op == kGroup; },
          {{"one_by_one", ask_one_by_one, prepare_one_by_one}, own_kernel("tiles", ask_tiles, prepare_tiles)},
          nullptr,
          samples};
}

}  // namespace wide::group_primitive
