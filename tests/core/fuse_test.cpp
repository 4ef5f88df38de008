// Activations, additions and products that become part of the layer before them.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <limits>

#include "core/aten/torch_bridge.h"
#include "core/passes/fuse.h"
#include "core/strategy/activation.h"
#include "core/strategy/combination.h"
#include "core/support.h"
#include "presets/zoo/layers.h"

namespace wide::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using zoo::ref;

constexpr const char* kLinear = "aten.linear.default";
constexpr const char *kAdd = "aten.add.Tensor", *kMul = "aten.mul.Tensor";

/// x -> linear -> the activation `op`, whose other arguments are `more`; the linear's own result, too, where
/// it is `read_twice`.
zoo::Architecture one_layer(const std::string& op, std::vector<Argument> more = {}, bool read_twice = false) {
  zoo::Builder b("one_layer");
  const auto x = b.input("x", normal({5, 7}));
  const auto y = b.linear("first", x, 7, 4);
  std::vector<Argument> arguments = {ref(y)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  b.output(b.op(op, std::move(arguments)));
  if (read_twice) b.output(y);
  return b.take();
}

std::vector<std::string> fused_ops(const zoo::Architecture& architecture, const StrategyChoice& choice = {},
                                   const ValueState& of_inputs = {.mapped = true}) {
  const auto graph = specialized(architecture);
  return ops(fuse(graph, std::vector(graph.inputs.size(), of_inputs), choice));
}

/// Every member's first output is its own; gives the strategy of the first node.
std::string expect_members_agree(const zoo::Architecture& architecture, const BuildOptions& options) {
  auto model = wide_model(architecture, kMembers, options);
  const auto inputs = wide_inputs(architecture, kMembers);
  const auto strategy = model.build(inputs).plan().nodes.front().strategy;
  const auto outputs = model.forward(inputs);
  for (std::int64_t i = 0; i < kMembers; ++i)
    EXPECT_TRUE(agree(outputs[0].member(i), model.run_alone(i, inputs).outputs[0].toTensor())) << i;
  return strategy;
}

void expect_every_strategy_agrees(const zoo::Architecture& architecture) {
  for (const auto* strategy : {"baddbmm", "einsum", "xsmm", "fused", "sequential"}) {
    SCOPED_TRACE(strategy);
    BuildOptions options;
    options.strategies.by_kind["linear"] = strategy;
    EXPECT_EQ(expect_members_agree(architecture, options), strategy);
  }
}

TEST(Fuse, EveryActivationJoinsTheLayerAndComputesTheSame) {
  const std::vector<std::pair<std::string, std::vector<Argument>>> kAll = {
      {"aten.relu.default", {}},
      {"aten.gelu.default", {{std::string("none")}}},
      {"aten.gelu.default", {{std::string("tanh")}}},
      {"aten.silu.default", {}},
      {"aten.sigmoid.default", {}},
      {"aten.tanh.default", {}},
      {"aten.sin.default", {}},
      {"aten.cos.default", {}},
      {"aten.hardtanh.default", {{0.0}, {6.0}}},
      {"aten.relu6.default", {}},
      {"aten.hardswish.default", {}},
      {"aten.hardsigmoid.default", {}},
      {"aten.leaky_relu.default", {{0.01}}},
      {"aten.leaky_relu.default", {{0.1}}},
      {"aten.leaky_relu.default", {{0.2}}},
  };
  for (const auto& [op, more] : kAll) {
    SCOPED_TRACE(op);
    const auto architecture = one_layer(op, more);
    EXPECT_THAT(fused_ops(architecture), ElementsAre(kLinearActivation));
    expect_every_strategy_agrees(architecture);
  }
}

/// x -> a convolution over `axes` axes -> the activation, and what `more` makes of that.
template <typename More>
zoo::Architecture convolved(int axes, bool transposed, const More& more) {
  zoo::Builder b("convolved");
  std::vector<std::int64_t> shape(static_cast<std::size_t>(axes) + 2, 6);
  shape[0] = 2, shape[1] = 16;
  const auto x = b.input("x", normal(shape));
  const zoo::ConvolutionSize size{.in = 16, .out = 20, .kernel = 3, .padding = 1};
  const auto y =
      transposed ? transposed_convolution(b, "first", x, axes, size) : convolution(b, "first", x, axes, size);
  const auto z = b.op("aten.silu.default", {ref(y)});
  more(b, z);
  b.output(z);
  return b.take();
}
zoo::Architecture convolved(int axes, bool transposed) {
  return convolved(axes, transposed, [](auto&, auto) {});
}

TEST(Fuse, AnActivationJoinsAConvolutionAndComputesTheSame) {
  for (const int axes : {1, 2, 3}) {
    for (const bool transposed : {false, true}) {
      const auto architecture = convolved(axes, transposed);
      const auto kind = (transposed ? "conv_transpose" : "conv") + std::to_string(axes) + "d";
      SCOPED_TRACE(kind);
      EXPECT_THAT(fused_ops(architecture), ElementsAre("wide." + kind + "_activation.default"));
      expect_members_agree(architecture, {});
      for (const auto* strategy : {"grouped", "sequential", axes == 1 ? "grouped" : "prepacked",
                                   transposed || axes != 2 ? "grouped" : "winograd_2x2"}) {
        SCOPED_TRACE(strategy);
        BuildOptions options;
        options.mode = Mode::kDefault;
        options.strategies.by_kind[kind] = strategy;
        EXPECT_EQ(expect_members_agree(architecture, options), strategy);
      }
    }
  }
}

// oneDNN's hardswish is only for results far from overflow: another one follows the layer where they are not.
TEST(Fuse, OneMembersOverflowChangesNoBitOfAnothers) {
  for (const auto* activation : {"aten.hardswish.default", "aten.silu.default", "aten.relu.default"}) {
    zoo::Builder b("convolved");
    const auto x = b.input("x", normal({2, 16, 6, 6}));
    b.output(b.op(activation, {ref(b.conv2d("first", x, 16, 20, 3, 1, 1))}));
    const auto architecture = b.take();
    const auto results = [&](const std::string& tensor, float value, bool given) {
      auto members = zoo::make_members(architecture, kMembers, 1, at::kFloat);
      auto inputs = wide_inputs(architecture, kMembers);
      if (!tensor.empty()) members[1].tensors.at(tensor).fill_(value);
      if (given) inputs[0].tensor.select(0, 1).fill_(value);
      BuildOptions options;
      options.strategies.by_kind["conv2d"] = "prepacked";
      return WideModel(architecture.graph, std::move(members), options).forward(inputs)[0];
    };
    const auto before = results({}, 0, false);
    for (const float value : {1e30F, 3e38F, std::numeric_limits<float>::quiet_NaN()}) {
      for (const auto& [tensor, given] : {std::pair<std::string, bool>{"first.weight", false},
                                          {"first.bias", false},
                                          {"", true},
                                          {"first.weight", true}}) {
        const auto after = results(tensor, value, given);
        for (const std::int64_t i : {0, 2})
          EXPECT_TRUE(after.member(i).equal(before.member(i))) << activation << ": " << tensor << value;
      }
    }
  }
}

TEST(Fuse, AConvolutionOfZerosKeepsNaN) {
  zoo::Builder b("convolved");
  const auto x = b.input("x", normal({2, 16, 6, 6}));
  b.output(b.op("aten.hardswish.default", {ref(b.conv2d("first", x, 16, 20, 3, 1, 1))}));
  const auto architecture = b.take();
  auto members = zoo::make_members(architecture, kMembers, 1, at::kFloat);
  members[1].tensors.at("first.weight").fill_(std::numeric_limits<float>::quiet_NaN());
  BuildOptions options;
  options.strategies.by_kind["conv2d"] = "prepacked";
  WideModel model(architecture.graph, std::move(members), options);
  auto inputs = wide_inputs(architecture, kMembers);
  inputs[0].tensor.zero_();
  const auto y = model.forward(inputs)[0];
  EXPECT_TRUE(y.member(1).isnan().all().item<bool>());
  EXPECT_TRUE(y.member(0).isfinite().all().item<bool>());
}

// The kind by which users name the convolution stays; what a group takes along stays outside.
TEST(Fuse, AConvolutionWithItsActivationIsStillOfItsKind) {
  const auto architecture = convolved(2, false);
  BuildOptions options;
  options.strategies.by_kind["conv2d"] = "grouped";
  EXPECT_EQ(expect_members_agree(architecture, options), "grouped");
  options.strategies = {};
  add_choice(options.strategies, "%silu=sequential");
  EXPECT_EQ(expect_members_agree(architecture, options), "sequential");
  EXPECT_THAT(fused_ops(architecture, options.strategies), ElementsAre("wide.conv2d_activation.default"));
  StrategyChoice named;
  add_choice(named, "silu=one_pass");
  EXPECT_THAT(fused_ops(architecture, named), ElementsAre("aten.conv2d.default", "aten.silu.default"));

  const auto gated = convolved(2, false, [](auto& b, auto z) {
    b.output(b.op(kMul, {ref(z), ref(b.op("aten.abs.default", {ref(z)}))}));
  });
  StrategyChoice choice;
  choice.mode = Mode::kDefault;
  EXPECT_THAT(fused_ops(gated, choice), Contains("wide.conv2d_activation.default"))
      << "several read it, so that no group takes it";
  zoo::Builder b("scaled");
  const auto x = b.input("x", normal({2, 16, 6, 6}));
  const auto y = b.op("aten.silu.default", {ref(b.conv2d("first", x, 16, 20, 3, 1, 1))});
  b.output(b.op("aten.mul.Tensor", {ref(y), {2.0}}));
  const auto scaled = b.take();
  EXPECT_THAT(fused_ops(scaled), Contains("wide.conv2d_activation.default"))
      << "there are no groups in eager";
  EXPECT_THAT(fused_ops(scaled, choice), Not(Contains("wide.conv2d_activation.default")));
  add_choice(choice, "%mul=tiles");
  EXPECT_THAT(fused_ops(scaled, choice), Not(Contains("wide.conv2d_activation.default")));
}

zoo::Architecture normed(const std::string& kind, bool running = false) {
  zoo::Builder b("normed");
  const auto x = b.input("x", normal({2, 6, 5, 3}));
  const auto weight = ref(b.parameter("weight", positive({6}))), bias = ref(b.weight("bias", {6}));
  std::vector<Argument> arguments{ref(x), {std::int64_t{2}}, weight, bias, {1e-5}, {true}};
  if (kind == "instance_norm") {
    const auto statistic = [&](const char* name) {
      return running ? ref(b.buffer(name, positive({6}))) : Argument{};
    };
    arguments = {ref(x), weight, bias,  statistic("mean"), statistic("variance"), {!running},
                 {0.1},  {1e-5}, {true}};
  }
  b.output(b.op("aten.silu.default", {ref(b.op("aten." + kind + ".default", arguments))}));
  return b.take();
}

TEST(Fuse, AnActivationJoinsANormThatLooksAtItsInputAlone) {
  for (const auto* kind : {"group_norm", "instance_norm"}) {
    SCOPED_TRACE(kind);
    const auto architecture = normed(kind);
    EXPECT_THAT(fused_ops(architecture), ElementsAre(std::string("wide.") + kind + "_activation.default"));
    for (const auto* strategy : {"one_pass", "fused", "sequential"}) {
      BuildOptions options;
      options.strategies.by_kind[kind] = strategy;
      EXPECT_EQ(expect_members_agree(architecture, options), strategy);
    }
  }
  EXPECT_THAT(fused_ops(normed("instance_norm", /*running=*/true)),
              ElementsAre("aten.instance_norm.default", "aten.silu.default"));
}

TEST(Fuse, NotAConvolutionOfOneImage) {
  zoo::Builder b("one");
  const auto x = b.input("x", normal({16, 6, 6}));
  b.output(b.op("aten.relu.default", {ref(b.conv2d("first", x, 16, 20, 3, 1, 1))}));
  EXPECT_THAT(fused_ops(b.take()), ElementsAre("aten.conv2d.default", "aten.relu.default"));
}

TEST(Fuse, NotWhatIsReadElsewhereOrNamedOrNoActivation) {
  EXPECT_THAT(fused_ops(one_layer("aten.relu.default", {}, /*read_twice=*/true)),
              ElementsAre(kLinear, "aten.relu.default"));
  EXPECT_THAT(fused_ops(one_layer("aten.abs.default")), ElementsAre(kLinear, "aten.abs.default"));

  const auto relu = one_layer("aten.relu.default");
  for (const auto* named : {"%linear=baddbmm", "%relu=sequential", "relu=passthrough", "sequential"}) {
    SCOPED_TRACE(named);
    StrategyChoice choice;
    add_choice(choice, named);
    EXPECT_THAT(fused_ops(relu, choice), ElementsAre(kLinear, "aten.relu.default"));
  }
}

/// (x · Wᵀ + b) `op` z, of a z of the shape `of_other`, as the first or the second argument of `op`.
zoo::Architecture combined(const std::string& op, std::vector<std::int64_t> of_other = {5, 4},
                           bool first = false, std::vector<Argument> more = {}, bool read_twice = false) {
  zoo::Builder b("combined");
  const auto x = b.input("x", normal({5, 7})), z = b.input("z", normal(std::move(of_other)));
  const auto y = b.linear("layer", x, 7, 4);
  std::vector<Argument> arguments = {ref(first ? z : y), ref(first ? y : z)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  b.output(b.op(op, std::move(arguments)));
  if (read_twice) b.output(y);
  return b.take();
}

TEST(Fuse, AResidualsAdditionAndAGatesProductJoinTheLayerAndComputeTheSame) {
  for (const auto& [op, joined] : {std::pair{kAdd, kLinearAdd}, {kMul, kLinearMul}}) {
    for (const bool first : {false, true}) {
      SCOPED_TRACE(op);
      const auto architecture = combined(op, {5, 4}, first);
      EXPECT_THAT(fused_ops(architecture), ElementsAre(joined));
      expect_every_strategy_agrees(architecture);
    }
  }
}

TEST(Fuse, OfTwoLayersThatAreAddedTheLaterOneTakesTheOther) {
  for (const bool swapped : {false, true}) {
    zoo::Builder b("two");
    const auto x = b.input("x", normal({5, 7}));
    const auto first = b.linear("first", x, 7, 4), second = b.linear("second", x, 7, 4);
    b.output(b.op(kAdd, {ref(swapped ? second : first), ref(swapped ? first : second)}));
    const auto architecture = b.take();
    const auto graph = specialized(architecture);
    const auto fused = fuse(graph, std::vector<ValueState>(graph.inputs.size(), {.mapped = true}), {});
    EXPECT_THAT(ops(fused), ElementsAre(kLinear, kLinearAdd));
    const auto weight = fused.nodes[1].arguments[1].ref()->id;
    EXPECT_EQ(fused.values[static_cast<std::size_t>(weight)].name, "second_weight");
    expect_members_agree(architecture, {});
  }
}

TEST(Fuse, ALayersOwnInputMayBeItsResidual) {
  zoo::Builder b("residual");
  const auto x = b.input("x", normal({5, 7}));
  b.output(b.op("aten.relu.default", {ref(b.op(kAdd, {ref(x), ref(b.linear("layer", x, 7, 7))}))}));
  const auto architecture = b.take();
  EXPECT_THAT(fused_ops(architecture), ElementsAre(kLinearAdd, "aten.relu.default"));
  expect_members_agree(architecture, {});
}

// A strategy of linear layers that the user chose for the node of both, under the addition's name.
TEST(Fuse, AStrategyCanBeNamedForTheJoinedNode) {
  const auto relu = one_layer("aten.relu.default"), sum = combined(kAdd);
  for (const auto* named : {"%relu=xsmm", "%add=xsmm", "%relu=baddbmm", "%add=fused"}) {
    SCOPED_TRACE(named);
    StrategyChoice choice;
    add_choice(choice, named);
    const bool of_sum = std::string_view(named).starts_with("%add");
    EXPECT_THAT(fused_ops(of_sum ? sum : relu, choice), ElementsAre(of_sum ? kLinearAdd : kLinearActivation));
    BuildOptions options;
    options.strategies = choice;
    auto model = wide_model(of_sum ? sum : relu, kMembers, options);
    EXPECT_EQ(model.build(wide_inputs(of_sum ? sum : relu, kMembers)).plan().nodes.front().strategy,
              choice.by_value.begin()->second);
  }
}

/// relu(x) [5, of] -> a layer to [5, 4], which waits for a long way round to be added to; `at_once`: the way
/// round is computed before the layer.
zoo::Architecture shortcut(std::int64_t of, bool at_once) {
  zoo::Builder b("shortcut");
  const auto x = b.op("aten.relu.default", {ref(b.input("x", normal({5, of})))});
  ValueId skip = 0, late = 0;
  const auto make_skip = [&] { skip = b.linear("skip", x, of, 4); };
  if (!at_once) make_skip();
  late = b.op("aten.tanh.default", {ref(b.op("aten.abs.default", {ref(b.input("z", normal({5, 4})))}))});
  if (at_once) make_skip();
  b.output(b.op(kAdd, {ref(late), ref(skip)}));
  return b.take();
}

TEST(Fuse, ALayerWaitsForAnAdditionUnlessALargerInputWouldWaitToo) {
  EXPECT_THAT(fused_ops(shortcut(70, false)), testing::Contains(kLinear));
  EXPECT_THAT(fused_ops(shortcut(70, true)), testing::Contains(kLinearAdd));
  EXPECT_THAT(fused_ops(shortcut(4, false)), testing::Contains(kLinearAdd));
  expect_members_agree(shortcut(4, false), {});
}

TEST(Fuse, NothingIsCombinedThatIsReadElsewhereOrOfAnotherTypeOrComputedOnce) {
  const auto stays = ElementsAre(kLinear, kAdd);
  EXPECT_THAT(fused_ops(combined(kAdd, {5, 4}, false, {}, /*read_twice=*/true)), stays);
  EXPECT_THAT(fused_ops(combined(kAdd, {5, 4}, false, {{2.0}})), stays);  // of twice the other
  EXPECT_THAT(fused_ops(combined(kAdd, {4})), stays);
  EXPECT_THAT(fused_ops(combined(kAdd, {2, 5, 4})), stays);
  EXPECT_THAT(fused_ops(combined(kAdd), {}, {.mapped = false}), stays);
  EXPECT_THAT(fused_ops(combined(kAdd), {}, {.mapped = true, .constant = true}), stays);
  for (const auto* named : {"%linear=baddbmm", "%add=sequential", "sequential"}) {
    SCOPED_TRACE(named);
    StrategyChoice choice;
    add_choice(choice, named);
    EXPECT_THAT(fused_ops(combined(kAdd), choice), stays);
  }
}

// x · Wᵀ + b + scale · (x · A · B), with A and B as parameters or as linear layers.
zoo::Architecture adapted(bool linear, bool read_twice = false, std::int64_t rank = 3) {
  zoo::Builder b("adapted");
  const auto x = b.input("x", normal({2, 5, 7}));
  const auto base = b.linear("base", x, 7, 4);
  ValueId change = 0;
  if (linear) {
    const auto down = b.op("aten.linear.default", {ref(x), ref(b.weight("a", {rank, 7}))});
    change = b.op("aten.linear.default", {ref(down), ref(b.weight("b", {4, rank}))});
  } else {
    const auto down = b.op("aten.matmul.default", {ref(x), ref(b.weight("a", {7, rank}))});
    change = b.op("aten.matmul.default", {ref(down), ref(b.weight("b", {rank, 4}))});
  }
  const auto scaled = b.op("aten.mul.Tensor", {ref(change), {0.5}});
  b.output(b.op("aten.add.Tensor", {ref(base), ref(scaled)}));
  if (read_twice) b.output(change);
  return b.take();
}

TEST(Fuse, AnAdaptersChangeJoinsTheAddition) {
  for (const bool linear : {false, true}) {
    SCOPED_TRACE(linear);
    const auto architecture = adapted(linear);
    EXPECT_THAT(fused_ops(architecture), testing::Contains("wide.add_matmul.default"));
    EXPECT_THAT(fused_ops(architecture), testing::Not(testing::Contains("aten.add.Tensor")));
    auto model = wide_model(architecture, kMembers);
    const auto inputs = wide_inputs(architecture, kMembers);
    const auto outputs = model.forward(inputs);
    for (std::int64_t i = 0; i < kMembers; ++i)
      EXPECT_TRUE(agree(outputs[0].member(i), model.run_alone(i, inputs).outputs[0].toTensor())) << i;
  }
  EXPECT_THAT(fused_ops(adapted(false, /*read_twice=*/true)), testing::Contains(kLinearAdd));
  EXPECT_THAT(fused_ops(adapted(false, false, /*rank=*/80)), testing::Contains(kLinearAdd));
  // What then remains of the addition.
  for (const auto& [named, addition] : {std::pair{"matmul=rows", kLinearAdd},
                                        {"%add=sequential", std::string_view(kAdd)},
                                        {"sequential", std::string_view(kAdd)}}) {
    StrategyChoice choice;
    add_choice(choice, named);
    EXPECT_THAT(fused_ops(adapted(false), choice), testing::Contains(addition)) << named;
  }
}

TEST(Fuse, KeepsNaN) {
  const auto architecture = one_layer("aten.relu.default");
  BuildOptions options;
  options.strategies.by_kind["linear"] = "fused";
  auto model = wide_model(architecture, kMembers, options);
  auto inputs = wide_inputs(architecture, kMembers);
  inputs[0].tensor.select(0, 1).fill_(std::numeric_limits<float>::quiet_NaN());
  const auto outputs = model.forward(inputs);
  EXPECT_FALSE(outputs[0].member(0).isnan().any().item<bool>());
  EXPECT_TRUE(outputs[0].member(1).isnan().all().item<bool>());
}

}  // namespace
}  // namespace wide::test
