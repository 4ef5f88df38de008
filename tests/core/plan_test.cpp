// What is shared, what is chosen, what is refused.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "core/aten/torch_bridge.h"
#include "core/plan/plan.h"
#include "core/support.h"
#include "primitives/kernels/winograd.h"

namespace wide::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using zoo::ints;
using zoo::ref;

StrategyChoice chosen(std::string kind, std::string strategy) {
  StrategyChoice choice;
  choice.by_kind[std::move(kind)] = std::move(strategy);
  return choice;
}

zoo::Architecture two_convolutions() {
  zoo::Builder b("two_convolutions");
  const auto x = b.input("x", normal({2, 4, 6, 5}));
  const auto y = b.op("aten.abs.default", {ref(b.conv2d("first", x, 4, 8, 3, 1, 1))});
  b.output(b.conv2d("second", y, 8, 3, 3, 1, 1));
  return b.take();
}

zoo::Architecture two_linears() {
  zoo::Builder b("two_linears");
  const auto x = b.input("x", normal({5, 7}));
  const auto y = b.op("aten.relu.default", {ref(b.linear("first", x, 7, 4))});
  b.output(b.linear("second", y, 4, 6));
  return b.take();
}

std::vector<ModelInput> shared_inputs(const zoo::Architecture& architecture) {
  auto inputs = wide_inputs(architecture, 1);
  for (auto& input : inputs) input = ModelInput::shared(input.tensor.select(0, 0));
  return inputs;
}

// Every member's outputs against its own run.
void expect_right(WideModel& model, const std::vector<ModelInput>& inputs) {
  const auto outputs = model.forward(inputs);
  for (std::int64_t i = 0; i < model.members(); ++i) {
    const auto alone = model.run_alone(i, inputs).outputs;
    ASSERT_EQ(alone.size(), outputs.size());
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      EXPECT_TRUE(agree(outputs[k].member(i), alone[k].toTensor())) << "member " << i << ", output " << k;
    }
  }
}

TEST(Choice, UnknownNamesAreListed) {
  expect_error([] { check_choice({"nonsense", {}}); }, "plan", {"'nonsense'", "info"});
  expect_error([] { check_choice(chosen("nonsense", "grouped")); }, "plan", {"'nonsense'"});
  expect_error([] { check_choice(chosen("conv2d", "nonsense")); }, "plan",
               {"'conv2d'", "'nonsense'", "auto, dense, ", "grouped, ", ", sequential"});
  for (const auto* all : {"auto", "sequential", "grouped"}) EXPECT_NO_THROW(check_choice({all, {}})) << all;
  EXPECT_NO_THROW(check_choice(chosen("conv", "dense")));
  EXPECT_NO_THROW(check_choice(chosen("conv2d", "sequential")));
}

TEST(Choice, ARefusalOfTheNamedStrategyIsAnErrorWithItsReason) {
  for (const auto* kind : {"conv", "conv2d"}) {
    const auto architecture = two_convolutions();
    BuildOptions options;
    options.strategies = chosen(kind, "dense");
    auto model = wide_model(architecture, kMembers, options);
    expect_error([&] { model.build(wide_inputs(architecture, kMembers)); }, "plan",
                 {"aten.conv2d.default", "'dense'", "the input differs per member"});
  }
}

TEST(Choice, SequentialRunsEverythingOneByOne) {
  for (const bool by_kind : {false, true}) {
    const auto architecture = two_convolutions();
    BuildOptions options;
    options.strategies = by_kind ? chosen("conv", "sequential") : StrategyChoice{"sequential", {}};
    auto model = wide_model(architecture, kMembers, options);
    const auto inputs = wide_inputs(architecture, kMembers);
    const auto& built = model.build(inputs);
    EXPECT_EQ(coverage(built).sequential, by_kind ? 2 : 3);
    EXPECT_EQ(coverage(built).sequential_ops.at("aten.conv2d.default"), 2);
    expect_right(model, inputs);
  }
}

TEST(Choice, EveryNamedStrategyGivesTheSameNumbers) {
  const auto architecture = two_convolutions();
  for (const auto* strategy : {"auto", "grouped", "sequential"}) {
    SCOPED_TRACE(strategy);
    BuildOptions options;
    options.strategies = chosen("conv", strategy);
    auto model = wide_model(architecture, kMembers, options);
    expect_right(model, wide_inputs(architecture, kMembers));
  }
}

TEST(Choice, TwoStrategiesForAllAreRefused) {
  StrategyChoice choice;
  add_choice(choice, "grouped+conv=sequential+grouped");
  EXPECT_EQ(choice.all, "grouped");
  expect_error([&] { add_choice(choice, "xsmm"); }, "plan", {"'grouped'", "KIND=xsmm"});
}

TEST(Choice, WhereANamedStrategyCannotRunAnotherDoes) {
  if (!kernels::Winograd::refusal(16, 16).empty()) GTEST_SKIP() << "libxsmm generates no code here";
  zoo::Builder b("with_strides");
  const auto x = b.input("x", normal({2, 16, 12, 12}));
  const auto y = b.op("aten.abs.default", {ref(b.conv2d("first", x, 16, 16, 3, 1, 1))});
  b.output(b.conv2d("second", y, 16, 16, 3, 2, 1));
  const auto architecture = b.take();
  BuildOptions options;
  options.strategies = {"winograd_2x2", {}};
  auto model = wide_model(architecture, kMembers, options);
  const auto inputs = wide_inputs(architecture, kMembers);
  const auto& built = model.build(inputs);
  EXPECT_EQ(strategies(built).front(), "winograd_2x2");
  EXPECT_EQ(coverage(built).sequential, 0);
  expect_right(model, inputs);
}

TEST(Plan, PackedValuesStayPackedFromOneConvolutionToTheNext) {
  const auto architecture = two_convolutions();
  BuildOptions options;
  options.strategies = chosen("conv", "grouped");
  auto model = wide_model(architecture, kMembers, options);
  const auto& built = model.build(wide_inputs(architecture, kMembers));
  EXPECT_THAT(strategies(built), ElementsAre("grouped", "passthrough", "grouped"));
  EXPECT_EQ(built.plan().nodes[1].offer.operands[0], Layout::kPacked);
  const auto cover = coverage(built);
  EXPECT_EQ(cover.nodes, 3);
  EXPECT_EQ(cover.conversions, 2) << "the input and the output alone";
  const auto text = print(built.optimized, built.plan());
  EXPECT_THAT(text, AllOf(HasSubstr("# grouped of conv; packed"), HasSubstr("front->packed, a copy"),
                          HasSubstr("=> packed")));
}

TEST(Plan, PlansNearTheBestDifferInOneNodeAndComeInOrder) {
  const auto architecture = two_convolutions();
  auto model = wide_model(architecture, 3);
  const auto& built = model.build(wide_inputs(architecture, 3));
  CostBook book;
  Tuner tuner(book, {});
  const auto plans = make_plans(built.optimized, built.inputs, 3, {}, tuner, 50);
  ASSERT_GT(plans.size(), 1u);
  const auto best = choices_of(built.optimized, plans[0]);
  EXPECT_EQ(best, choices_of(built.optimized, make_plan(built.optimized, built.inputs, 3, {}, tuner)));
  for (std::size_t i = 1; i < plans.size(); ++i) {
    const auto choices = choices_of(built.optimized, plans[i]);
    std::size_t changes = 0;
    for (std::size_t k = 0; k < best.size(); ++k) changes += choices[k] != best[k];
    EXPECT_EQ(changes, 1u) << print(built.optimized, plans[i]);
    EXPECT_GE(plans[i].cost, plans[i - 1].cost);
  }
  EXPECT_EQ(make_plans(built.optimized, built.inputs, 3, {}, tuner, 2).size(), 2u);
}

TEST(Sharing, EqualWeightsAreKeptOnce) {
  const auto architecture = two_linears();
  const auto bytes = [&](std::vector<Member> members) {
    WideModel model(architecture.graph, std::move(members));
    const auto inputs = wide_inputs(architecture, kMembers);
    expect_right(model, inputs);
    return model.weight_bytes();
  };
  const auto distinct = zoo::make_members(architecture, kMembers, 1, at::kFloat);
  constexpr std::int64_t kFirst = 4 * (7 * 4 + 4), kSecond = 4 * (4 * 6 + 6);
  EXPECT_EQ(bytes(distinct), kMembers * (kFirst + kSecond));

  auto first_equal = distinct;
  for (auto& member : first_equal) {
    for (const auto* fqn : {"first.weight", "first.bias"})
      member.tensors[fqn] = distinct[0].tensors.at(fqn).clone();
  }
  EXPECT_EQ(bytes(first_equal), kFirst + kMembers * kSecond);
  EXPECT_EQ(bytes({distinct[0], distinct[0], distinct[0]}), kFirst + kSecond);
  EXPECT_EQ(bytes({distinct[0], distinct[0], distinct[1]}), kMembers * (kFirst + kSecond));
}

TEST(Sharing, WorkOnSharedValuesIsDoneOnce) {
  const auto architecture = two_linears();
  auto members = zoo::make_members(architecture, kMembers, 1, at::kFloat);
  for (auto& member : members) {
    for (const auto* fqn : {"first.weight", "first.bias"})
      member.tensors[fqn] = members[0].tensors.at(fqn).clone();
  }
  WideModel model(architecture.graph, members);
  const auto shared = shared_inputs(architecture);
  EXPECT_THAT(strategies(model.build(shared)), ElementsAre("shared", "stacked"));
  EXPECT_EQ(coverage(model.build(shared)).shared, 1);
  expect_right(model, shared);

  const auto mapped = wide_inputs(architecture, kMembers);
  // Either way the members' rows are rows of one product; "fused" wants a processor that libxsmm knows.
  EXPECT_THAT(strategies(model.build(mapped)), ElementsAre(AnyOf("fused", "folded"), "baddbmm"));
  expect_right(model, mapped);
}

TEST(Sharing, ASharedInputIsReadOnceByTheFirstLayer) {
  const auto linear = two_linears();
  auto model = wide_model(linear, kMembers);
  EXPECT_THAT(strategies(model.build(shared_inputs(linear)))[0], AnyOf("fused", "stacked"));
  expect_right(model, shared_inputs(linear));

  const auto convolution = two_convolutions();
  auto other = wide_model(convolution, kMembers);
  const auto& built = other.build(shared_inputs(convolution));
  EXPECT_THAT(strategies(built)[0], AnyOf("dense", "prepacked"));
  EXPECT_EQ(built.plan().nodes[0].offer.operands[0], Layout::kShared);
  expect_right(other, shared_inputs(convolution));
}

TEST(Sharing, WhatDependsOnConstantsOnlyIsDoneAtBuild) {
  zoo::Builder b("masked");
  const auto x = b.input("x", normal({4, 4}));
  const auto table = b.parameter("table", normal({4, 4}));
  const auto mask = b.op("aten.tril.default", {ref(b.op("aten.exp.default", {ref(table)}))});
  b.output(b.op("aten.mul.Tensor", {ref(x), ref(mask)}));
  const auto architecture = b.take();
  const auto one = zoo::make_members(architecture, 1, 1, at::kFloat)[0];
  WideModel model(architecture.graph, {one, one, one});
  const auto inputs = wide_inputs(architecture, kMembers);
  EXPECT_THAT(strategies(model.build(inputs)), ElementsAre("constant", "constant", "passthrough"));
  expect_right(model, inputs);
}

TEST(Sharing, AModelWhoseMembersAreAllEqualOnOneInputRunsOnce) {
  const auto architecture = two_linears();
  const auto one = zoo::make_members(architecture, 1, 1, at::kFloat)[0];
  WideModel model(architecture.graph, {one, one});
  const auto inputs = shared_inputs(architecture);
  EXPECT_THAT(strategies(model.build(inputs)), Each("shared"));
  EXPECT_FALSE(model.forward(inputs)[0].mapped);
  expect_right(model, inputs);
}

TEST(WideModel, InputsThatDoNotFitAreNamed) {
  auto model = corpus_model("mlp", 2);
  const auto shared = [](std::vector<std::int64_t> shape, at::ScalarType dtype = at::kFloat) {
    return std::vector<ModelInput>{ModelInput::shared(at::zeros(shape, dtype))};
  };
  EXPECT_NO_THROW(model.forward(shared({4, 64})));
  expect_error([&] { model.forward(shared({4, 65})); }, "run", {"input.0", "[4, 65]", "[4, 64]"});
  expect_error(
      [&] {
        model.forward(shared({4, 64}, at::kDouble));
      },
      "run", {"input.0", "float64", "float32"});
  expect_error([&] { model.forward({}); }, "run", {"1 inputs", "0"});
  const std::vector<ModelInput> three{{at::zeros({3, 4, 64}), true}};
  expect_error([&] { model.forward(three); }, "run", {"input.0", "3", "2"});
  const std::vector<at::Tensor> uneven{at::zeros({4, 64}), at::zeros({5, 64})};
  expect_error([&] { ModelInput::per_member(uneven, "input.0"); }, "run", {"input.0", "[4, 64]", "[5, 64]"});
}

TEST(WideModel, OneMemberIsAWideModelToo) {
  for (const auto& name : corpus_models()) {
    SCOPED_TRACE(name);
    auto model = corpus_model(name, 1);
    expect_right(model, corpus_inputs(name, 1));
  }
}

TEST(Pipeline, StopsWhenItIsCancelled) {
  const auto architecture = two_linears();
  int asked = 0;
  BuildOptions options;
  options.pipeline.cancelled = [&] { return ++asked > 2; };
  auto model = wide_model(architecture, kMembers, options);
  expect_error([&] { model.build(wide_inputs(architecture, kMembers)); }, "plan", {"cancelled"});
}

}  // namespace
}  // namespace wide::test
