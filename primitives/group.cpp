// Groups of pointwise operators: y[n] = f(a[n], b[n], …), where f is a graph of them (core/strategy/group.h).
#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "core/ir/text.h"
#include "core/native/code_cache.h"
#include "core/strategy/candidates.h"
#include "core/strategy/group.h"
#include "primitives/group_steps.h"
#include "primitives/kernels/group_text.h"
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

// Operands as they broadcast with each other: by their last axes.
using Align = std::function<at::Tensor(std::size_t operand, const at::Tensor& tensor)>;
Align align_of(const Call& call, const Offer& offer) {
  std::vector<std::optional<ConcreteType>> in_front;
  for (const auto& operand : call.operands) {
    const bool aligns = offer.results[0] == Layout::kFront && operand.mapped;
    in_front.push_back(aligns ? std::optional(operand.type) : std::nullopt);
  }
  return [in_front, rank = call.results[0].rank()](std::size_t operand, const at::Tensor& tensor) {
    return in_front[operand] ? align_front(tensor, *in_front[operand], rank) : tensor;
  };
}

Kernel run_by(const Call& call, const Offer& offer,
              std::optional<kernels::TileProgram::Compiled> compiled = std::nullopt) {
  const auto& body = *call.node.bodies[0];
  return keep_promises(call, offer,
                       [align = align_of(call, offer), compiled = std::move(compiled),
                        program = kernels::TileProgram(body.inputs.size(), steps_of(body))](
                           std::span<const at::Tensor> in, std::span<at::Tensor> out) {
                         std::vector<at::Tensor> aligned;
                         for (std::size_t i = 0; i < in.size(); ++i)
                           aligned.push_back(align(i, in[i].resolve_neg()));
                         out[0] = program.run(aligned, compiled ? &*compiled : nullptr);
                       });
}

Kernel prepare_tiles(const Call& call, const Offer& offer) {
  return run_by(call, offer);
}

// What is known of the operands before there are any: shapes and strides, without memory.
kernels::GroupReads reads_of(const Call& call, const Offer& offer) {
  const auto align = align_of(call, offer);
  std::vector<at::Tensor> tensors;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const auto& type = call.operands[i].type;
    const auto layout = offer.operands[i];
    auto options = at::TensorOptions(at::kMeta).dtype(type.dtype);
    if (is_last(layout)) options = options.memory_format(memory_format(layout, type.rank()));
    tensors.push_back(align(i, at::empty(physical_shape(type, layout, call.members), options)));
  }
  return kernels::GroupReads(tensors);
}

kernels::GroupText text_of(const Call& call, const Offer& offer) {
  return kernels::group_text(steps_of(*call.node.bodies[0]), reads_of(call, offer),
                             kernels::instruction_set());
}

native::Source source_of(const Call& call, const Offer& offer) {
  return {text_of(call, offer).text, std::string(kernels::instruction_set())};
}

native::Code code_of(const Call& call, const Offer& offer, bool may_compile) {
  return native::CodeCache::of_this_user().find(source_of(call, offer), kEntry, may_compile);
}

// The same as C, compiled: one loop that keeps everything between the operands and the result in registers.
Answer ask_compiled(const Call& call) {
  Answer answer = ask_tiles(call);
  const auto& compiler = native::CodeCache::of_this_user().compiler();
  if (compiler.program.empty() && !answer.offers.empty()) {  // then only what a bundle brought
    std::erase_if(answer.offers, [&](const Offer& one) { return !code_of(call, one, false).function; });
    if (answer.offers.empty()) return refuse(compiler.refusal);
  }
  // Chosen where it was measured to be faster, not unseen.
  for (auto& one : answer.offers) one.cost *= 1.05;
  return answer;
}

Kernel prepare_compiled(const Call& call, const Offer& offer) {
  auto code = code_of(call, offer, true);
  TORCH_CHECK(code.function, code.refusal, "; name another strategy, or none");
  return run_by(call, offer,
                kernels::TileProgram::Compiled{std::move(code.function), reads_of(call, offer).rows});
}

std::string type_text(const ConcreteType& type) {
  std::string text = type.dtype == at::kBool ? "bool [" : "float32 [";
  for (std::size_t i = 0; i < type.shape.size(); ++i)
    text.append(i > 0 ? ", " : "").append(std::to_string(type.shape[i]));
  return text + "]";
}

// What one kernel stands for: operators, what is read and written and what is not, and its text.
std::string list_compiled(const Call& call, const Offer& offer, std::span<const std::string> names) {
  const auto& body = *call.node.bodies[0];
  const auto& [masks, rows] = reads_of(call, offer);
  const auto made = text_of(call, offer);
  const std::string level(kernels::instruction_set());
  const auto& result = call.results[0];
  const auto bytes = result.bytes() * call.members;
  std::string text = names.back() + ": one kernel for " + std::to_string(body.nodes.size()) + " operators, " +
                     std::to_string(call.members) + " members, " + level + "\n";
  for (std::size_t i = 0; i < masks.size(); ++i) {
    const auto& operand = call.operands[i];
    text += "  reads x" + std::to_string(i) + ": " + names[i] + ", " + type_text(operand.type) +
            (operand.mapped ? " of each member" : ", the same for all members") +
            (rows.numbers[i] ? ", a number for each row of the result\n" : ", row by row\n");
  }
  text += "  writes " + names.back() + ", " + type_text(result) +
          " of each member: " + std::to_string(bytes) + " bytes\n  does not store " +
          std::to_string(body.nodes.size() - 1) + " results on the way, " + std::to_string(bytes) +
          " bytes each where they are numbers\n  file " +
          native::CodeCache::of_this_user().file_name({made.text, level}) + "\n";
  std::istringstream lines(made.text);
  std::string line;
  for (std::size_t i = 0; i < made.kernel_line; ++i) std::getline(lines, line);
  for (const auto step : made.steps) {
    std::getline(lines, line);
    text += "  " + line;
    if (step != kernels::GroupText::kNone) text += "  // " + print(body, body.nodes[step]);
    text += "\n";
  }
  return text;
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

Strategy compiled() {
  auto strategy = own_kernel("compiled", ask_compiled, prepare_compiled);
  strategy.source = source_of;
  strategy.listing = list_compiled;
  return strategy;
}

}  // namespace

Primitive group() {
  return {"group",
          {},
          [](std::string_view op) { return op == kGroup; },
          {{"one_by_one", ask_one_by_one, prepare_one_by_one},
           own_kernel("tiles", ask_tiles, prepare_tiles),
           compiled()},
          nullptr,
          samples};
}

}  // namespace wide::group_primitive
