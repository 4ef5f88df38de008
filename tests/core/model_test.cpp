// State of a wide model over passes: random streams, written buffers.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "tests/core/support.h"

namespace wide::test {
namespace {

using zoo::ref;

zoo::Architecture with_dropout() {
  zoo::Builder b("dropout");
  const auto x = b.input("x", positive({8, 16}));
  const auto y = b.op("aten.dropout.default", {ref(x), {0.5}, {true}});
  b.output(b.op("aten.dropout.default", {ref(y), {0.25}, {true}}));
  return b.take();
}

WideModel seeded(const zoo::Architecture& architecture, std::int64_t members, std::uint64_t seed) {
  BuildOptions options;
  options.seed = seed;
  return wide_model(architecture, members, options);
}

TEST(RandomStreams, EachMemberDrawsWhatItDrawsAlone) {
  constexpr std::uint64_t kSeed = 40;
  const auto architecture = with_dropout();
  auto model = seeded(architecture, kMembers, kSeed);
  const auto inputs = wide_inputs(architecture, kMembers);
  const auto outputs = model.forward(inputs);
  for (std::int64_t i = 0; i < kMembers; ++i) {
    at::manual_seed(kSeed + static_cast<std::uint64_t>(i));
    const auto expected = at::dropout(at::dropout(inputs[0].member(i), 0.5, true), 0.25, true);
    EXPECT_TRUE(outputs[0].member(i).equal(expected)) << i;
    EXPECT_TRUE(model.run_alone(i, inputs).outputs[0].toTensor().equal(expected)) << i;
  }
}

TEST(RandomStreams, GoOnFromPassToPassAndAreResetByReset) {
  const auto architecture = with_dropout();
  auto model = seeded(architecture, kMembers, 40);
  const auto inputs = wide_inputs(architecture, kMembers);
  const auto first = model.forward(inputs)[0].stacked().clone(),
             second = model.forward(inputs)[0].stacked().clone();
  model.reset();
  const auto again = model.forward(inputs)[0].stacked().clone(),
             second_again = model.forward(inputs)[0].stacked().clone();
  for (std::int64_t i = 0; i < kMembers; ++i) EXPECT_FALSE(first[i].equal(second[i])) << i;
  EXPECT_TRUE(again.equal(first));
  EXPECT_TRUE(second_again.equal(second));
}

TEST(RandomStreams, TheCallersGeneratorIsLeftAlone) {
  const auto architecture = with_dropout();
  auto model = seeded(architecture, kMembers, 40);
  const auto inputs = wide_inputs(architecture, kMembers);
  at::manual_seed(3);
  const auto expected = at::rand({4});
  at::manual_seed(3);
  model.forward(inputs);
  model.run_alone(1, inputs);
  EXPECT_TRUE(at::rand({4}).equal(expected));
}

TEST(ReplaceMembers, TheSamePlanRunsOtherMembersAndAnotherNumberOfThem) {
  for (const std::int64_t after : {3, 2, 5}) {
    SCOPED_TRACE(after);
    BuildOptions options;
    if (after == 3) options.tuning = {.tuning = Tuning::kMeasure, .seconds = 0.2};
    auto model = corpus_model("resblock", 3, options);
    const auto inputs = corpus_inputs("resblock", 3);
    const auto chosen = strategies(model.build(inputs));
    const auto known = corpus_model("resblock", 4);
    std::vector<Member> members;
    for (std::int64_t i = 0; i < after; ++i)
      members.push_back(known.member_list()[static_cast<std::size_t>((i + 1) % 4)]);
    model.replace_members(std::move(members));
    EXPECT_EQ(model.builds(), 0u);
    std::vector<ModelInput> others;
    for (const auto& input : inputs) others.push_back(ModelInput::shared(input.member(1)));
    EXPECT_EQ(model.members(), after);
    const auto outputs = model.forward(others);
    for (std::int64_t i = 0; i < after; ++i)
      EXPECT_TRUE(agree(outputs[0].member(i), model.run_alone(i, others).outputs[0].toTensor()));
    if (after != 3) continue;
    const auto& built = model.build(inputs);
    EXPECT_EQ(strategies(built), chosen);
    EXPECT_TRUE(built.planned.options.empty()) << "nothing was raced";
  }
}

TEST(ReplaceMembers, RefusesThoseThatLackATensorAndStaysAsItWas) {
  auto model = corpus_model("mlp", 3);
  const auto inputs = corpus_inputs("mlp", 3);
  const auto before = model.forward(inputs)[0].stacked().clone();
  auto others = made_up_members(model.graph(), 2);
  others[1].tensors.clear();
  expect_error([&] { model.replace_members(others); }, "widen", {"lacks"});
  EXPECT_EQ(model.members(), 3);
  EXPECT_TRUE(model.forward(inputs)[0].stacked().equal(before));
}

TEST(Buffers, AreWrittenBackPerMemberOverTwoPasses) {
  constexpr std::string_view kModel = "mutating_buffer";
  auto wide = corpus_model(kModel, kMembers);
  const auto inputs = corpus_inputs(kModel, kMembers);
  std::vector<at::Tensor> passes;
  for (int pass = 0; pass < 2; ++pass) passes.push_back(wide.forward(inputs)[0].stacked().clone());
  EXPECT_FALSE(wide.buffers().empty());
  for (std::int64_t i = 0; i < kMembers; ++i) {
    WideModel alone(wide.graph(), {wide.member_list()[static_cast<std::size_t>(i)]});
    const std::vector<ModelInput> own{ModelInput::shared(inputs[0].member(i))};
    for (std::size_t pass = 0; pass < 2; ++pass) {
      EXPECT_TRUE(agree(passes[pass][i], alone.forward(own)[0].member(0)))
          << "member " << i << ", pass " << pass;
    }
    for (const auto& [fqn, tensor] : wide.buffers())
      EXPECT_TRUE(agree(tensor[i], alone.buffers().at(fqn)[0])) << fqn;
  }
}

// Of nothing there are no statistics: ATen leaves the running ones as they are.
TEST(Buffers, InstanceNormOfNothingMovesNone) {
  zoo::Builder b("nothing");
  const auto x = b.input("x", normal({2, 3, 4, 0}));
  const auto mean = b.buffer("mean", normal({3})), variance = b.buffer("variance", positive({3}));
  b.output(b.op("aten.instance_norm.default",
                {ref(x), {}, {}, ref(mean), ref(variance), {true}, {0.1}, {1e-5}, {false}}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  model.forward(wide_inputs(architecture, kMembers));
  for (std::int64_t i = 0; i < kMembers; ++i) {
    for (const auto* fqn : {"mean", "variance"})
      EXPECT_TRUE(
          model.buffers().at(fqn)[i].equal(model.member_list()[static_cast<std::size_t>(i)].tensors.at(fqn)))
          << fqn << " " << i;
  }
}

TEST(Buffers, CountPassesAndAreResetByReset) {
  zoo::Builder b("counter");
  const auto x = b.input("x", normal({2}));
  const auto steps = b.buffer("steps", {{}, zoo::TensorRecipe::Kind::kInteger, 1, 100});
  b.op("aten.add_.Tensor", {ref(steps), {std::int64_t{1}}});
  b.output(b.op("aten.mul.Tensor", {ref(x), ref(steps)}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  const auto inputs = wide_inputs(architecture, kMembers);
  for (std::int64_t pass = 1; pass <= 3; ++pass) {
    model.forward(inputs);
    for (std::int64_t i = 0; i < kMembers; ++i) {
      const auto start =
          model.member_list()[static_cast<std::size_t>(i)].tensors.at("steps").item<std::int64_t>();
      EXPECT_EQ(model.buffers().at("steps")[i].item<std::int64_t>(), start + pass) << i;
    }
  }
  model.reset();
  EXPECT_EQ(model.buffers().at("steps")[0].item<std::int64_t>(),
            model.member_list()[0].tensors.at("steps").item<std::int64_t>());
}

TEST(Buffers, BatchNormInTrainingWritesEachMembersStatistics) {
  zoo::Builder b("training");
  const auto x = b.input("x", normal({5, 4, 3}));
  const auto weight = b.parameter("weight", positive({4})), bias = b.parameter("bias", normal({4}));
  const auto mean = b.buffer("mean", normal({4})), variance = b.buffer("variance", positive({4}));
  b.output(b.op("aten.batch_norm.default",
                {ref(x), ref(weight), ref(bias), ref(mean), ref(variance), {true}, {0.1}, {1e-5}, {false}}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  const auto inputs = wide_inputs(architecture, kMembers);
  const auto outputs = model.forward(inputs);
  for (std::int64_t i = 0; i < kMembers; ++i) {
    const auto& tensors = model.member_list()[static_cast<std::size_t>(i)].tensors;
    const auto own_mean = tensors.at("mean").clone(), own_variance = tensors.at("variance").clone();
    const auto expected = at::batch_norm(inputs[0].member(i), tensors.at("weight"), tensors.at("bias"),
                                         own_mean, own_variance, true, 0.1, 1e-5, false);
    EXPECT_TRUE(agree(outputs[0].member(i), expected)) << i;
    EXPECT_FALSE(own_mean.equal(tensors.at("mean"))) << "training changes the statistics";
    EXPECT_TRUE(agree(model.buffers().at("mean")[i], own_mean)) << i;
    EXPECT_TRUE(agree(model.buffers().at("variance")[i], own_variance)) << i;
  }
}

}  // namespace
}  // namespace wide::test
