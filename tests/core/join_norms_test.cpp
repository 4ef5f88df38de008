// Norms that models write out, joined to one operator.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <limits>

#include "core/aten/torch_bridge.h"
#include "core/passes/join_norms.h"
#include "core/support.h"

namespace wide::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using zoo::ints;
using zoo::ref;

constexpr const char* kNorm = "aten.rms_norm.default";
constexpr std::int64_t kWidth = 7;

/// How a model writes its norm.
struct Written {
  std::string square = "pow";                   ///< "pow", "mul", "square"
  bool divides = false;                         ///< x / sqrt(…), else x · rsqrt(…)
  bool root_first = false;                      ///< rsqrt(…) · x
  std::vector<std::int64_t> weight = {kWidth};  ///< empty: none
  bool weight_first = false;
  std::int64_t axis = -1;
  bool keeps = true;                ///< the axis
  std::string read_elsewhere = {};  ///< "square", "root", "scaled"
  double power = 2;
};

zoo::Architecture norm(const Written& written) {
  zoo::Builder b("norm");
  const auto x = b.input("x", normal({kWidth, 5, kWidth}));
  ValueId square = 0;
  if (written.square == "mul") {
    square = b.op("aten.mul.Tensor", {ref(x), ref(x)});
  } else if (written.square == "square") {
    square = b.op("aten.square.default", {ref(x)});
  } else {
    square = b.op("aten.pow.Tensor_Scalar", {ref(x), {written.power}});
  }
  const auto mean = b.op("aten.mean.dim", {ref(square), ints({written.axis}), {written.keeps}});
  const auto sum = b.op("aten.add.Tensor", {ref(mean), {1e-3}});
  const auto root = b.op(written.divides ? "aten.sqrt.default" : "aten.rsqrt.default", {ref(sum)});
  auto y = written.divides      ? b.op("aten.div.Tensor", {ref(x), ref(root)})
           : written.root_first ? b.op("aten.mul.Tensor", {ref(root), ref(x)})
                                : b.op("aten.mul.Tensor", {ref(x), ref(root)});
  const auto scaled = y;
  if (!written.weight.empty()) {
    const auto weight = b.weight("weight", written.weight);
    y = written.weight_first ? b.op("aten.mul.Tensor", {ref(weight), ref(y)})
                             : b.op("aten.mul.Tensor", {ref(y), ref(weight)});
  }
  b.output(y);
  if (written.read_elsewhere == "square") b.output(square);
  if (written.read_elsewhere == "root") b.output(root);
  if (written.read_elsewhere == "scaled") b.output(scaled);
  return b.take();
}

std::vector<std::string> joined_ops(const Written& written, const StrategyChoice& choice = {}) {
  return ops(join_norms(specialized(norm(written)), choice));
}

void expect_as_alone(const Written& written, const std::function<void(at::Tensor&)>& change = {}) {
  const auto architecture = norm(written);
  auto model = wide_model(architecture, kMembers);
  auto inputs = wide_inputs(architecture, kMembers);
  if (change) change(inputs[0].tensor);
  expect_members_as_alone(model, inputs);
}

TEST(JoinNorms, HoweverItIsWrittenItComputesTheSame) {
  const std::vector<Written> all = {{},
                                    {.square = "mul"},
                                    {.square = "square"},
                                    {.divides = true},
                                    {.root_first = true},
                                    {.weight_first = true},
                                    {.axis = 2},
                                    {.weight = {}}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_THAT(joined_ops(all[i]), ElementsAre(kNorm));
    expect_as_alone(all[i]);
  }
}

TEST(JoinNorms, AWeightOfAnotherShapeStaysOutside) {
  for (const auto& shape : {std::vector<std::int64_t>{1}, {5, kWidth}, {kWidth, 1, 1}, {5, 1}}) {
    const Written written{.weight = shape};
    EXPECT_THAT(joined_ops(written), ElementsAre(kNorm, "aten.mul.Tensor"));
    expect_as_alone(written);
  }
}

TEST(JoinNorms, WhatIsReadElsewhereStays) {
  for (const auto* what : {"square", "root"}) {
    const Written written{.read_elsewhere = what};
    EXPECT_THAT(joined_ops(written), Not(Contains(kNorm))) << what;
    expect_as_alone(written);
  }
  const Written scaled{.read_elsewhere = "scaled"};
  EXPECT_THAT(joined_ops(scaled), ElementsAre(kNorm, "aten.mul.Tensor"));
  expect_as_alone(scaled);
}

TEST(JoinNorms, NotAlongOtherAxesOrOtherPowersOrWhatIsNamed) {
  for (const auto& written : {Written{.axis = 0}, Written{.axis = 0, .keeps = false}, Written{.power = 3}}) {
    EXPECT_THAT(joined_ops(written), Not(Contains(kNorm)));
    expect_as_alone(written);
  }
  for (const auto* named : {"%rsqrt=sequential", "pointwise=passthrough", "sequential"}) {
    StrategyChoice choice;
    add_choice(choice, named);
    EXPECT_THAT(joined_ops({}, choice), Not(Contains(kNorm))) << named;
  }
}

TEST(JoinNorms, NaNAndInfinitiesAreWhereTheyWere) {
  expect_as_alone({}, [](at::Tensor& x) {
    x.view(-1)[3] = std::numeric_limits<float>::quiet_NaN();
    x.view(-1)[60] = std::numeric_limits<float>::infinity();
    x.view(-1)[100] = 3e38F;
    x.select(0, 1).select(0, 2).select(0, 1).zero_();
  });
}

}  // namespace
}  // namespace wide::test
