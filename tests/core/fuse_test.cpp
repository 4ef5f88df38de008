// Activations that become part of the linear layer before them.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "core/activation.h"
#include "core/fuse.h"
#include "core/support.h"
#include "core/torch_bridge.h"

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
