// Activations that become part of the linear layer before them.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "core/aten/torch_bridge.h"
#include "core/passes/fuse.h"
#include "core/strategy/activation.h"
#include "core/support.h"

namespace wide::test {
namespace {

using testing::ElementsAre;
using zoo::ref;

constexpr const char* kLinear = "aten.linear.default";

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

std::vector<std::string> fused_ops(const zoo::Architecture& architecture, const StrategyChoice& choice = {}) {
  return ops(fuse(specialized(architecture), choice));
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
  };
  for (const auto& [op, more] : kAll) {
    SCOPED_TRACE(op);
    const auto architecture = one_layer(op, more);
    EXPECT_THAT(fused_ops(architecture), ElementsAre(kLinearActivation));
    for (const auto* strategy : {"baddbmm", "einsum", "xsmm", "fused", "sequential"}) {
      SCOPED_TRACE(strategy);
      BuildOptions options;
      options.strategies.by_kind["linear"] = strategy;
      auto model = wide_model(architecture, kMembers, options);
      const auto inputs = wide_inputs(architecture, kMembers);
      EXPECT_EQ(model.build(inputs).plan().nodes.front().strategy, strategy);
      const auto outputs = model.forward(inputs);
      for (std::int64_t i = 0; i < kMembers; ++i)
        EXPECT_TRUE(agree(outputs[0].member(i), model.run_alone(i, inputs).outputs[0].toTensor()));
    }
  }
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
  EXPECT_THAT(fused_ops(adapted(false, /*read_twice=*/true)), testing::Contains("aten.add.Tensor"));
  EXPECT_THAT(fused_ops(adapted(false, false, /*rank=*/80)), testing::Contains("aten.add.Tensor"));
  for (const auto* named : {"matmul=rows", "%add=sequential", "sequential"}) {
    StrategyChoice choice;
    add_choice(choice, named);
    EXPECT_THAT(fused_ops(adapted(false), choice), testing::Contains("aten.add.Tensor")) << named;
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
