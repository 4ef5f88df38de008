// Attention that models write out, joined to one operator.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "core/strategy/written_attention.h"
#include "core/support.h"

namespace wide::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using zoo::ints;
using zoo::ref;

constexpr std::int64_t kQueries = 5, kKeys = 7, kHeadWidth = 8;
constexpr double kHidden = -std::numeric_limits<double>::infinity();
constexpr float kOddNaN = std::numeric_limits<float>::quiet_NaN();

/// How a model writes its attention.
struct WrittenOut {
  std::string factor = "mul";  ///< "mul", "div", "huge" or none
  std::vector<std::int64_t> added = {};
  bool added_first = false;    ///< added + scores
  std::string mask = {};       ///< "fill", "where other", "where self" or none
  double value = kHidden;      ///< of what is masked
  bool added_to_mask = false;  ///< the addition comes after the mask
  bool heads = true;           ///< else three axes and aten.bmm
  std::int64_t axis = -1;
  std::string read_elsewhere = {};  ///< "scores", "weights"
};

zoo::Architecture attention(const WrittenOut& written) {
  zoo::Builder b("attention");
  const auto with_heads = [&](std::vector<std::int64_t> shape) {
    if (written.heads) shape.insert(shape.begin(), 2);
    return normal(std::move(shape));
  };
  const auto q = b.input("q", with_heads({3, kQueries, kHeadWidth})),
             k = b.input("k", with_heads({3, kKeys, kHeadWidth})),
             v = b.input("v", with_heads({3, kKeys, kHeadWidth}));
  const auto hidden = b.input("hidden", with_heads({3, kQueries, kKeys}));
  const std::string product = written.heads ? "aten.matmul.default" : "aten.bmm.default";
  const auto keys = b.op("aten.transpose.int", {ref(k), {std::int64_t{-2}}, {std::int64_t{-1}}});
  auto scores = b.op(product, {ref(q), ref(keys)});
  const auto first = scores;
  if (written.factor == "mul") scores = b.op("aten.mul.Tensor", {ref(scores), {0.3}});
  if (written.factor == "huge") scores = b.op("aten.mul.Tensor", {ref(scores), {1e30}});
  if (written.factor == "div") scores = b.op("aten.div.Tensor", {ref(scores), {std::sqrt(8.0)}});
  const auto add = [&] {
    const auto other = b.weight("added", written.added);
    scores = written.added_first ? b.op("aten.add.Tensor", {ref(other), ref(scores)})
                                 : b.op("aten.add.Tensor", {ref(scores), ref(other)});
  };
  if (!written.added.empty() && !written.added_to_mask) add();
  const auto is_hidden = [&] { return ref(b.op("aten.gt.Scalar", {ref(hidden), {0.4}})); };
  const Argument value{written.value};
  if (written.mask == "fill") scores = b.op("aten.masked_fill.Scalar", {ref(scores), is_hidden(), value});
  if (written.mask == "where other")
    scores = b.op("aten.where.ScalarOther", {is_hidden(), ref(scores), value});
  if (written.mask == "where self") scores = b.op("aten.where.ScalarSelf", {is_hidden(), value, ref(scores)});
  if (!written.added.empty() && written.added_to_mask) add();
  const auto weights = b.op("aten.softmax.int", {ref(scores), {written.axis}});
  b.output(b.op(product, {ref(weights), ref(v)}));
  if (written.read_elsewhere == "scores") b.output(first);
  if (written.read_elsewhere == "weights") b.output(weights);
  return b.take();
}

std::vector<std::string> attention_ops(const WrittenOut& written, const std::string& strategy = {}) {
  const auto architecture = attention(written);
  BuildOptions options;
  if (!strategy.empty()) add_choice(options.strategies, strategy);
  auto model = wide_model(architecture, kMembers, options);
  return ops(model.build(wide_inputs(architecture, kMembers)).optimized);
}

void expect_to_attend_as_alone(const WrittenOut& written,
                               const std::function<void(std::vector<ModelInput>&)>& change = {}) {
  const auto architecture = attention(written);
  for (const auto* strategy : {"auto", "written_attention=products", "written_attention=by_head"}) {
    SCOPED_TRACE(strategy);
    BuildOptions options;
    add_choice(options.strategies, strategy);
    auto model = wide_model(architecture, kMembers, options);
    auto inputs = wide_inputs(architecture, kMembers);
    if (change) change(inputs);
    expect_members_as_alone(model, inputs);
  }
}

TEST(JoinAttention, HoweverItIsWrittenItComputesTheSame) {
  const std::vector<WrittenOut> all = {{},
                                       {.factor = "div"},
                                       {.factor = ""},
                                       {.added = {kQueries, kKeys}},
                                       {.added = {3, 1, kKeys}, .added_first = true},
                                       {.mask = "fill", .value = -1e9},
                                       {.mask = "where self", .value = -3},
                                       {.added = {3, kQueries, 1}, .mask = "fill"},
                                       {.heads = false},
                                       {.added = {kKeys}, .mask = "fill", .value = -1e9, .heads = false}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_THAT(attention_ops(all[i]), Contains(kWrittenAttention));
    EXPECT_THAT(attention_ops(all[i]), Not(Contains("aten.softmax.int")));
    expect_to_attend_as_alone(all[i]);
  }
}

TEST(JoinAttention, AMaskMayTellWhatIsSeen) {
  EXPECT_THAT(attention_ops({.mask = "where other"}),
              ElementsAre(testing::_, "aten.gt.Scalar", "aten.logical_not.default", kWrittenAttention));
  expect_to_attend_as_alone({.mask = "where other"});
}

TEST(JoinAttention, NothingJoinsInAnotherOrderOrAlongAnotherAxisOrWhereItIsRead) {
  for (const auto& written :
       {WrittenOut{.added = {kQueries, kKeys}, .mask = "fill", .value = -3, .added_to_mask = true},
        WrittenOut{.factor = "huge"}, WrittenOut{.axis = -2}, WrittenOut{.read_elsewhere = "scores"},
        WrittenOut{.read_elsewhere = "weights"}}) {
    EXPECT_THAT(attention_ops(written), Not(Contains(kWrittenAttention)));
    expect_to_attend_as_alone(WrittenOut{written});
  }
}

TEST(JoinAttention, ScoresThatAreTheSameForAllAreComputedOnce) {
  const auto architecture = attention({});
  auto inputs = wide_inputs(architecture, kMembers);
  for (const std::size_t shared : {0U, 1U}) inputs[shared] = {inputs[shared].tensor[0], false};
  auto model = wide_model(architecture, kMembers);
  EXPECT_THAT(ops(model.build(inputs).optimized), Not(Contains(kWrittenAttention)));
  expect_members_as_alone(model, inputs);
}

TEST(JoinAttention, NotWhatIsNamed) {
  for (const auto* named : {"%softmax=sequential", "matmul=batched", "sequential"})
    EXPECT_THAT(attention_ops({}, named), Not(Contains(kWrittenAttention))) << named;
}

TEST(JoinAttention, WhatSeesNothingIsWhatItIsAlone) {
  const auto hide = [](std::vector<ModelInput>& inputs) { inputs[3].tensor.select(-2, 2).fill_(1); };
  expect_to_attend_as_alone({.mask = "fill"}, hide);
  expect_to_attend_as_alone({.mask = "fill", .value = -1e9}, hide);
  expect_to_attend_as_alone({.added = {kQueries, kKeys}, .mask = "fill", .value = -1e9}, hide);
}

TEST(JoinAttention, NaNAndInfinitiesAreWhereTheyWere) {
  for (const auto* mask : {"", "fill"}) {
    for (const std::size_t input : {0U, 1U, 2U}) {
      for (const float odd : {kOddNaN, std::numeric_limits<float>::infinity(), 3e38F})
        expect_to_attend_as_alone({.mask = mask},
                                  [&](auto& inputs) { inputs[input].tensor.view(-1)[13] = odd; });
    }
  }
}

}  // namespace
}  // namespace wide::test
