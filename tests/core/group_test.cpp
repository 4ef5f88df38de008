// Pointwise operators that become one node in every mode but eager.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "core/aten/torch_bridge.h"
#include "core/eager/higher_order.h"
#include "core/support.h"

namespace wide::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using zoo::ref;

// x · sigmoid(x) + 0.5, of which `more` may read what is on the way.
template <typename More>
zoo::Architecture gated(const More& more) {
  zoo::Builder b("gated");
  const auto x = b.input("x", normal({5, 7}));
  const auto y = b.op("aten.sin.default", {ref(x)});
  const auto z = b.op("aten.mul.Tensor", {ref(y), ref(b.op("aten.sigmoid.default", {ref(y)}))});
  b.output(b.op("aten.add.Scalar", {ref(z), {0.5}, {std::int64_t{1}}}));
  more(b, z);
  return b.take();
}
zoo::Architecture gated() {
  return gated([](auto&, auto) {});
}

BuildOptions in_mode(Mode mode, const std::string& strategies = "") {
  BuildOptions options;
  options.mode = mode;
  if (!strategies.empty()) add_choice(options.strategies, strategies);
  return options;
}

std::vector<std::string> ops_in(const zoo::Architecture& architecture, const BuildOptions& options) {
  auto model = wide_model(architecture, kMembers, options);
  return ops(model.build(wide_inputs(architecture, kMembers)).optimized);
}

void expect_as_alone(const zoo::Architecture& architecture, const BuildOptions& options) {
  auto model = wide_model(architecture, kMembers, options);
  const auto inputs = wide_inputs(architecture, kMembers);
  for (int pass = 0; pass < 2; ++pass) {
    const auto outputs = model.forward(inputs);
    for (std::int64_t i = 0; i < kMembers; ++i)
      EXPECT_TRUE(agree(outputs[0].member(i), model.run_alone(i, inputs).outputs[0].toTensor()));
  }
}

TEST(Group, PointwiseOperatorsBecomeOneInEveryModeButEager) {
  EXPECT_EQ(ops_in(gated(), in_mode(Mode::kEager)).size(), 4U);
  for (const auto mode : {Mode::kDefault, Mode::kReduceOverhead}) {
    EXPECT_THAT(ops_in(gated(), in_mode(mode)), ElementsAre(kGroup));
    for (const auto* strategy : {"group=tiles", "group=one_by_one", "group=sequential", "sequential"}) {
      SCOPED_TRACE(strategy);
      expect_as_alone(gated(), in_mode(mode, strategy));
    }
  }
}

TEST(Group, WhatOthersReadEndsAGroup) {
  const auto read_outside = gated([](auto& b, auto z) { b.output(z); });
  EXPECT_THAT(ops_in(read_outside, in_mode(Mode::kDefault)), ElementsAre(kGroup, "aten.add.Scalar"));
  expect_as_alone(read_outside, in_mode(Mode::kDefault));
}

TEST(Group, WhatTheUserNamesStaysOutside) {
  EXPECT_THAT(ops_in(gated(), in_mode(Mode::kDefault, "%mul=passthrough")),
              ElementsAre("aten.sin.default", "aten.sigmoid.default", "aten.mul.Tensor", "aten.add.Scalar"));
  EXPECT_EQ(ops_in(gated(), in_mode(Mode::kDefault, "sequential")).size(), 4U);
}

TEST(Group, OtherTypesAndShapesStayOutside) {
  zoo::Builder b("mixed");
  const auto x = b.input("x", normal({5, 7})), row = b.input("row", normal({7}));
  const auto small = b.op("aten.exp.default", {ref(row)});  // once for each of 7 numbers, not of 35
  const auto wide = b.op("aten.to.dtype", {ref(x), {at::kDouble}, {false}, {false}, {}});
  b.output(b.op("aten.mul.Tensor", {ref(x), ref(small)}));
  b.output(b.op("aten.neg.default", {ref(b.op("aten.exp.default", {ref(wide)}))}));
  const auto architecture = b.take();
  for (const auto& op : ops_in(architecture, in_mode(Mode::kDefault))) EXPECT_NE(op, kGroup);
}

TEST(Group, AMaskIsNoResultOfAGroup) {
  zoo::Builder b("mask");
  const auto x = b.input("x", normal({5, 7}));
  const auto y = b.op("aten.sin.default", {ref(b.op("aten.mul.Tensor", {ref(x), {2.0}}))});
  const auto mask = b.op("aten.gt.Scalar", {ref(y), {0.25}});
  b.output(b.op("aten.logical_not.default", {ref(mask)}));
  const auto architecture = b.take();
  EXPECT_THAT(ops_in(architecture, in_mode(Mode::kDefault)),
              ElementsAre(kGroup, "aten.gt.Scalar", "aten.logical_not.default"));
  auto model = wide_model(architecture, kMembers, in_mode(Mode::kDefault));
  EXPECT_EQ(model.forward(wide_inputs(architecture, kMembers))[0].member(0).scalar_type(), at::kBool);
}

TEST(Group, AStrategyCanBeNamedForOne) {
  const auto architecture = gated();
  auto model = wide_model(architecture, kMembers, in_mode(Mode::kDefault, "%add=one_by_one"));
  const auto& built = model.build(wide_inputs(architecture, kMembers));
  EXPECT_THAT(ops(built.optimized), ElementsAre(kGroup));
  EXPECT_THAT(strategies(built), ElementsAre("one_by_one"));
}

TEST(Group, NumbersThatFloat32CannotHoldAreRefusedAsByATen) {
  zoo::Builder b("huge");
  const auto x = b.input("x", normal({5, 7}));
  b.output(b.op("aten.neg.default", {ref(b.op("aten.mul.Tensor", {ref(x), {1e300}}))}));
  const auto architecture = b.take();
  for (const auto& op : ops_in(architecture, in_mode(Mode::kDefault))) EXPECT_NE(op, kGroup);
}

// 70 operators, several tiles long, every input of another shape.
TEST(Group, ManyOperatorsOnManyNumbers) {
  zoo::Builder b("long");
  const auto x = b.input("x", normal({3, 1, 700})), row = b.input("row", normal({4, 1})),
             last = b.input("last", normal({700}));
  auto y = b.op("aten.add.Tensor", {ref(x), ref(row), {std::int64_t{1}}});
  for (int i = 0; i < 35; ++i) {
    y = b.op("aten.mul.Tensor", {ref(b.op("aten.tanh.default", {ref(y)})), {0.7}});
    y = b.op("aten.add.Tensor", {ref(y), ref(row), {0.25}});
  }
  b.output(b.op("aten.mul.Tensor", {ref(y), ref(last)}));
  const auto architecture = b.take();
  EXPECT_LE(ops_in(architecture, in_mode(Mode::kDefault)).size(), 3U);
  expect_as_alone(architecture, in_mode(Mode::kDefault));
}

// A norm between a pool, which nothing can be folded into, and an activation, which `more` may look into.
template <typename More>
zoo::Architecture norm_then_relu(const More& more) {
  zoo::Builder b("norm");
  const auto x =
      b.op("aten.max_pool2d.default", {ref(b.input("x", normal({3, 4, 6, 6}))), zoo::ints({2, 2})});
  const auto y = b.batch_norm("norm", x, 4);
  b.output(b.op("aten.relu.default", {ref(y)}));
  more(b, y);
  return b.take();
}

TEST(Group, ABatchNormJoinsItsActivation) {
  const auto plain = norm_then_relu([](auto&, auto) {});
  EXPECT_THAT(ops_in(plain, in_mode(Mode::kDefault)), Contains(kGroup));
  EXPECT_THAT(ops_in(plain, in_mode(Mode::kDefault)), Not(Contains("aten.batch_norm.default")));
  for (const auto* strategy : {"", "group=tiles", "group=one_by_one", "group=sequential"}) {
    SCOPED_TRACE(strategy);
    expect_as_alone(plain, in_mode(Mode::kDefault, strategy));
  }
  const auto read_elsewhere = norm_then_relu([](auto& b, auto y) { b.output(y); });
  EXPECT_THAT(ops_in(read_elsewhere, in_mode(Mode::kDefault)), Contains("aten.batch_norm.default"));
  for (const auto* strategy : {"batch_norm=affine", "%batch_norm=wide", "affine", "sequential"})
    EXPECT_THAT(ops_in(plain, in_mode(Mode::kDefault, strategy)), Contains("aten.batch_norm.default"))
        << strategy;
  EXPECT_THAT(ops_in(plain, in_mode(Mode::kEager)), Contains("aten.batch_norm.default"));
  EXPECT_THAT(ops_in(plain, in_mode(Mode::kDefault, "%relu=tiles")), Contains(kGroup));
  expect_as_alone(plain, in_mode(Mode::kDefault, "%relu=tiles"));
}

TEST(Group, ABatchNormOfOneRowEachJoinsWhatIsBeforeIt) {
  zoo::Builder b("after");
  const auto x = b.op("aten.gelu.default", {ref(b.input("x", normal({9, 5}))), {std::string("none")}});
  b.output(b.batch_norm("norm", x, 5));
  const auto architecture = b.take();
  for (const auto* strategy : {"auto", "%batch_norm=tiles"}) {
    SCOPED_TRACE(strategy);
    EXPECT_THAT(ops_in(architecture, in_mode(Mode::kDefault, strategy)), Contains(kGroup));
    expect_as_alone(architecture, in_mode(Mode::kDefault, strategy));
  }
}

}  // namespace
}  // namespace wide::test
