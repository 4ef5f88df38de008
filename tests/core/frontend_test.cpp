// From an exported program to a graph of one member, whose sizes are numbers.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/eager/operators.h"
#include "core/frontend/capture.h"
#include "core/ir/text.h"
#include "core/passes/verify.h"
#include "formats/exported_program.h"
#include "tests/core/support.h"

namespace wide::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;
using zoo::ints;

formats::ExportedProgram program_of(std::string_view model) {
  return formats::read_exported_program(corpus(model) / "model.pt2");
}

formats::ProgramNode& relu_of(formats::ExportedProgram& program) {
  for (auto& node : program.graph.nodes) {
    if (node.target == "torch.ops.aten.relu.default") return node;
  }
  throw std::runtime_error("no relu");
}

TEST(Capture, FillsInDefaults) {
  const auto graph = captured("mlp");
  EXPECT_THAT(ops(graph), ElementsAre("aten.linear.default", "aten.relu.default", "aten.linear.default"));
  for (const auto& node : graph.nodes) {
    EXPECT_EQ(node.arguments.size(), find_operator(node.op)->schema().arguments().size());
  }
  EXPECT_NO_THROW(verify(graph, "capture"));
}

TEST(Capture, UnknownOperatorsAreNamed) {
  auto program = program_of("mlp");
  relu_of(program).target = "torch.ops.my_library.relu.default";
  expect_error([&] { capture(program, "m"); }, "capture", {"'relu'", "my_library.relu.default", "export"});
  program = program_of("mlp");
  relu_of(program).target = "builtins.print";
  expect_error([&] { capture(program, "m"); }, "capture", {"'relu'", "builtins.print"});
}

// The activation of mlp row by row, as torch.vmap over `axis` leaves it in a file.
formats::ExportedProgram under_vmap(std::int64_t axis) {
  auto program = program_of("mlp");
  const auto at = std::find_if(program.graph.nodes.begin(), program.graph.nodes.end(),
                               [](const auto& node) { return node.target == "torch.ops.aten.relu.default"; });
  const auto call = [](const std::string& name, std::vector<formats::Argument> inputs,
                       std::vector<formats::Argument> outputs) {
    formats::ProgramNode node{"torch._functorch.predispatch." + name, name, {}, std::move(outputs), ""};
    for (auto& input : inputs) node.inputs.push_back({"", std::move(input)});
    return node;
  };
  const formats::Argument rows{formats::TensorName{"rows"}}, row{formats::TensorName{"row"}},
      one{std::int64_t{1}};
  const auto whole = at->inputs[0].value, result = at->outputs[0];
  at->inputs[0].value = rows;
  at->outputs[0] = row;
  const auto relu = *at;
  auto next = program.graph.nodes.erase(at);
  const auto add = [&](formats::ProgramNode node) { next = program.graph.nodes.insert(next, node) + 1; };
  add(call("_vmap_increment_nesting", {one, {std::string("error")}}, {}));
  add(call("_add_batch_dim", {whole, {axis}, one}, {rows}));
  add(relu);
  add(call("_remove_batch_dim", {row, one, one, {axis}}, {result}));
  add(call("_vmap_decrement_nesting", {}, {}));
  return program;
}

TEST(Capture, VmapIsAMapOverRows) {
  EXPECT_THAT(ops(capture(under_vmap(0), "m")),
              ElementsAre("aten.linear.default", "higher_order.map_impl", "aten.linear.default"));
  for (const std::int64_t axis : {0, 1}) {
    auto plain = corpus_model("mlp", 3);
    WideModel rows(capture(under_vmap(axis), "m"), plain.member_list());
    const auto inputs = corpus_inputs("mlp", 3);
    const auto expected = plain.forward(inputs), outputs = rows.forward(inputs);
    for (std::int64_t i = 0; i < 3; ++i)
      EXPECT_TRUE(agree(outputs[0].member(i), expected[0].member(i))) << axis;
  }
}

TEST(Capture, VmapThatDrawsOrHasNoEndIsRefused) {
  auto program = under_vmap(0);
  relu_of(program).target = "torch.ops.aten.bernoulli.default";
  expect_error([&] { capture(program, "m"); }, "capture", {"'relu'", "random", "torch.vmap"});
  program = under_vmap(0);
  std::erase_if(program.graph.nodes, [](const auto& node) { return node.name == "_vmap_decrement_nesting"; });
  expect_error([&] { capture(program, "m"); }, "capture", {"_vmap_increment_nesting", "nothing ends"});
}

TEST(Capture, AFusedMultiplyAddIsATensOwn) {
  auto program = program_of("mlp");
  auto& relu = relu_of(program);
  relu.target = "torch.ops.prims.fma.default";
  const auto operand = relu.inputs[0];
  relu.inputs = {operand, operand, operand};
  EXPECT_THAT(ops(capture(program, "m")),
              ElementsAre("aten.linear.default", "aten.addcmul.default", "aten.linear.default"));
  relu.inputs.pop_back();
  expect_error([&] { capture(program, "m"); }, "capture", {"'relu'", "three tensors"});
}

TEST(Capture, ACastOfPrimsIsATensOwn) {
  auto program = program_of("mlp");
  auto& relu = relu_of(program);
  relu.target = "torch.ops.prims.convert_element_type.default";
  relu.inputs.resize(1);
  expect_error([&] { capture(program, "m"); }, "capture", {"'relu'", "element type"});
  auto dtype = relu.inputs[0];
  dtype.name = "dtype", dtype.value = {formats::Dtype::kFloat64};
  relu.inputs.push_back(dtype);
  EXPECT_THAT(ops(capture(program, "m")),
              ElementsAre("aten.linear.default", "aten.to.dtype", "aten.linear.default"));
}

TEST(Capture, ANumberOfPrimsIsATensOwn) {
  auto program = program_of("mlp");
  auto& relu = relu_of(program);
  relu.target = "torch.ops.prims.scalar_tensor.default";
  relu.inputs.resize(1);
  relu.inputs[0].name = "s", relu.inputs[0].value = {2.0};
  EXPECT_THAT(ops(capture(program, "m")),
              ElementsAre("aten.linear.default", "aten.scalar_tensor.default", "aten.linear.default"));
}

// The relu reads some of the memory of what `view` made of the first layer's result; a write elsewhere
// changes nothing of it.
TEST(Capture, StridesOfAViewCountInTheMemoryItIsAViewOf) {
  for (const auto& [writes, by_einsum] : {std::pair{false, false}, {true, false}, {false, true}}) {
    auto program = program_of("mlp");
    auto& nodes = program.graph.nodes;
    auto& relu = relu_of(program);
    const auto layer = std::get<formats::TensorName>(relu.inputs[0].value.value);
    auto& whole = program.graph.tensors.at(layer.name);
    auto meta = whole;
    std::swap(meta.sizes[0], meta.sizes[1]), std::swap(meta.strides[0], meta.strides[1]);
    program.graph.tensors["turned"] = meta;
    formats::ProgramNode turned = relu, strided = relu;
    turned.target = "torch.ops.aten.t.default", turned.name = "turned";
    turned.outputs = {{formats::TensorName{"turned"}}};
    if (by_einsum) {
      turned.target = "torch.ops.aten.einsum.default";
      turned.inputs = {{"equation", {std::string("ij->ji")}},
                       {"tensors", {std::vector{turned.inputs[0].value}}}};
    }
    strided.target = "torch.ops.aten.as_strided.default", strided.name = "strided";
    const auto ints = [](std::int64_t value) {
      return formats::Argument{std::vector<formats::Argument>{{value}}};
    };
    strided.inputs[0].value = {formats::TensorName{"turned"}};
    strided.inputs.push_back({"size", ints(2)}), strided.inputs.push_back({"stride", ints(1)});
    relu = strided;
    nodes.insert(nodes.begin() + (&relu - nodes.data()), turned);
    if (writes) {
      auto zero = turned;
      zero.target = "torch.ops.aten.zero_.default", zero.name = "zero";
      zero.inputs[0].value = nodes.front().inputs[0].value;
      zero.outputs = {{formats::TensorName{"zeroed"}}};
      program.graph.tensors["zeroed"] = whole;
      nodes.push_back(zero);
    }
    const auto graph = capture(program, "m");
    const auto found = std::ranges::find(graph.nodes, "aten.as_strided.default", &Node::op);
    ASSERT_NE(found, graph.nodes.end());
    // The first layer's result, in a row and from its first number.
    EXPECT_THAT(std::vector(found - 2, found), ElementsAre(testing::Field(&Node::op, "aten.reshape.default"),
                                                           testing::Field(&Node::op, "aten.slice.Tensor")));
    EXPECT_EQ((found - 2)->arguments[0], Argument{ValueRef{graph.nodes[0].results[0]}});
    EXPECT_EQ((found - 1)->arguments[2], Argument{std::int64_t{0}});
  }
}

TEST(Capture, ArgumentsMustFitTheSchema) {
  auto program = program_of("mlp");
  relu_of(program).inputs[0].name = "other";
  expect_error([&] { capture(program, "m"); }, "capture", {"'relu'", "'other'"});
  relu_of(program).inputs.clear();
  expect_error([&] { capture(program, "m"); }, "capture", {"'relu'", "lacks", "'self'"});
  program = program_of("mlp");
  relu_of(program).inputs.push_back(relu_of(program).inputs[0]);
  expect_error([&] { capture(program, "m"); }, "capture", {"'relu'", "twice"});
  program = program_of("mlp");
  relu_of(program).inputs[0].value = {formats::TensorName{"nowhere"}};
  expect_error([&] { capture(program, "m"); }, "capture", {"'relu'", "'nowhere'"});
}

// The relu of the mlp moved into a graph that only sets a mode.
formats::ExportedProgram with_nested_relu(const std::string& kind) {
  auto program = program_of("mlp");
  auto& relu = relu_of(program);
  const auto operand = relu.inputs[0].value, result = relu.outputs[0];
  auto nested = std::make_shared<formats::Subgraph>();
  nested->inputs = {{formats::TensorName{"inner_x"}}};
  nested->outputs = {{formats::TensorName{"relu"}}};
  nested->nodes = {relu};
  nested->nodes[0].inputs[0].value = {formats::TensorName{"inner_x"}};
  nested->nodes[0].outputs = {{formats::TensorName{"relu"}}};
  relu.target = "torch.ops.higher_order." + kind;
  relu.name = "wrapped";
  relu.inputs = {{"", {false}}, {"", {std::shared_ptr<const formats::Subgraph>(nested)}}, {"", operand}};
  relu.outputs = {{std::vector<formats::Argument>{result}}};
  return program;
}

TEST(Capture, GraphsThatOnlySetAModeAreInlined) {
  const auto graph = capture(with_nested_relu("wrap_with_set_grad_enabled"), "mlp");
  EXPECT_EQ(ops(graph), ops(captured("mlp")));
  EXPECT_NO_THROW(verify(graph, "capture"));
}

TEST(Capture, OtherHigherOrderOperatorsAreRefused) {
  expect_error([] { capture(with_nested_relu("executorch_call_delegate"), "mlp"); }, "capture",
               {"'wrapped'", "executorch_call_delegate", "not supported"});
  expect_error([] { capture(with_nested_relu("cond"), "mlp"); }, "capture",
               {"'wrapped'", "graphs and operands"});
}

TEST(Specialize, SizesBecomeNumbers) {
  auto model = corpus_model("minigpt_dynamic", 2);
  EXPECT_FALSE(model.graph().ranges.empty());
  EXPECT_THAT(ops(model.graph()), Contains(StartsWith("aten.sym_size")));
  for (const auto& [batch, length] : {std::pair{2, 5}, std::pair{4, 7}}) {
    const auto ids = at::randint(0, 100, {2, batch, length}, at::kLong);
    const std::vector<ModelInput> inputs{{ids, true}};
    const auto& graph = model.build(inputs).specialized;
    EXPECT_TRUE(graph.ranges.empty());
    EXPECT_THAT(ops(graph), Not(Contains(StartsWith("sym."))));
    for (const auto& value : graph.values) {
      if (!value.tensor || !value.type) continue;
      EXPECT_NO_THROW(concrete(value)) << value.name;
    }
    const auto outputs = model.forward(inputs);
    for (std::int64_t i = 0; i < 2; ++i) {
      EXPECT_TRUE(agree(outputs[0].member(i), model.run_alone(i, inputs).outputs[0].toTensor()))
          << batch << " " << i;
    }
  }
}

TEST(Specialize, SizesOutsideOfTheExportedRangeAreRefused) {
  auto model = corpus_model("minigpt_dynamic", 1);
  const auto inputs = [](std::int64_t batch, std::int64_t length) {
    return std::vector<ModelInput>{ModelInput::shared(at::zeros({batch, length}, at::kLong))};
  };
  EXPECT_NO_THROW(model.forward(inputs(64, 32)));
  expect_error([&] { model.forward(inputs(65, 32)); }, "run", {"input.0", "65", "64"});
  expect_error([&] { model.forward(inputs(3, 33)); }, "run", {"input.0", "33", "32"});
}

// x[::2] of a size that torch.export has seen odd; PyTorch's own exported program refuses even ones.
TEST(Specialize, ConditionsOfTheExportHold) {
  const auto graph = parse_graph(R"(graph "g"
symbol s77 2 none
guard "(s77 % 2) != 0"
guard "((1 + s77) // 2) > n"
input %x "x" : float32[s77, 3]
input %y "y" : float32[s77]
input %n "n" : scalar
%z : float32[add(1, s77), 3] = aten.mul.Scalar(%x, %n)
output %z
)");
  const auto given = [&](std::int64_t x, std::int64_t y, std::int64_t n) {
    const std::vector<c10::IValue> inputs{at::ones({x, 3}), at::ones({y}), n};
    (void)specialize(graph, inputs);
  };
  EXPECT_NO_THROW(given(7, 7, 2));
  expect_error([&] { given(8, 8, 2); }, "run", {"(s77 % 2) != 0", "s77 = 8", "input.0", "dimension 0"});
  expect_error([&] { given(7, 7, 4); }, "run", {"((1 + s77) // 2) > n", "n = 4 (input.2)"});
  expect_error([&] { given(7, 9, 2); }, "run", {"input.0's dimension 0 is 7", "input.1's dimension 0 is 9"});
}

TEST(Specialize, NumbersReadFromDataStayValues) {
  const auto graph = parse_graph(R"(graph "g"
input %x "x" : float32[3]
%sum : float32[] = aten.sum.default(%x, none)
%n : scalar = aten.item.default(%sum)
%s : scalar = aten.sym_size.int(%x, 0)
%y : float32[3] = aten.mul.Scalar(%x, %n)
%z : float32[3] = aten.mul.Scalar(%y, %s)
output %z
)");
  const std::vector<c10::IValue> inputs{at::ones({3})};
  const auto text = print(specialize(graph, inputs).graph);
  EXPECT_THAT(text, HasSubstr("%n : scalar float64 = aten.item.default(%sum)"));
  EXPECT_THAT(text, HasSubstr("aten.mul.Scalar(%y, 3)"));
}

}  // namespace
}  // namespace wide::test
