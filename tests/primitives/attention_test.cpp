// Attention head by head against ATen's own: sizes around panels and blocks, masks, and the numbers that it
// leaves to ATen.
#include "primitives/kernels/attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/aten/with_threads.h"

namespace wide::kernels {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Attended {
  at::Tensor q, k, v, mask;
  bool causal = false;
  double scale = 0.3;

  Attention::Result ours() const {
    const Attention kernel({q.size(2), k.size(2), q.size(3), v.size(3), causal}, scale);
    const bool kept = mask.defined() && mask.scalar_type() == at::kBool;
    return kernel.run(q, k, v, {.added = kept ? at::Tensor() : mask, .kept = kept ? mask : at::Tensor()});
  }
  at::Tensor exact() const {
    const auto wide = [](const at::Tensor& x) { return x.to(at::kDouble); };
    const auto added = !mask.defined() || mask.scalar_type() == at::kBool ? mask : wide(mask);
    return at::scaled_dot_product_attention(wide(q), wide(k), wide(v),
                                            added.defined() ? std::optional(added) : std::nullopt, 0.0,
                                            causal, scale, /*enable_gqa=*/true);
  }
};

// Heads lie within queries, as a model has them that cut them out of one projection.
at::Tensor heads(std::int64_t batch, std::int64_t count, std::int64_t length, std::int64_t width) {
  return at::randn({batch, length, count, width}).transpose(1, 2);
}

void expect_near(const Attended& given) {
  const auto [y, finite] = given.ours();
  ASSERT_TRUE(finite);
  const auto wanted = given.exact();
  EXPECT_LT((y.to(at::kDouble) - wanted).abs().max().item<double>(), 4e-6) << y.sizes();
}

class AttentionKernel : public testing::Test {
 protected:
  void SetUp() override {
    if (!Attention::refusal({1, 1, 1, 1}).empty()) GTEST_SKIP() << "libxsmm generates no code here";
    at::manual_seed(0);
  }
};

// What is hidden gets a number, beside what is added; who sees nothing sees all alike, or gives NaN.
TEST_F(AttentionKernel, NumbersInPlaceOfScores) {
  constexpr float kNothing = -std::numeric_limits<float>::infinity();
  for (const std::int64_t keys : {7, 64, 81}) {
    const auto q = heads(2, 3, 70, 9), k = heads(2, 3, keys, 9), v = heads(2, 3, keys, 19);
    const auto added = at::randn({70, keys});
    auto hidden = at::rand({2, 1, 70, keys}) > 0.6;
    hidden.select(3, 0).fill_(false);
    hidden.select(2, 3).fill_(true);
    const Attention kernel({70, keys, 9, 19, false, /*unseen_is_nan=*/true}, 0.3);
    for (const float value : {-1e9F, -2.0F, 0.5F}) {
      for (const auto& more : {added, at::Tensor()}) {
        auto scores = at::matmul(q, k.transpose(-2, -1)) * 0.3;
        if (more.defined()) scores = scores + more;
        const auto wanted = at::matmul(scores.masked_fill(hidden, value).softmax(-1), v);
        const auto [y, finite] =
            kernel.run(q, k, v, {.added = more, .kept = {}, .filled = hidden, .value = value});
        ASSERT_TRUE(finite);
        EXPECT_LT((y - wanted).abs().max().item<double>(), 4e-6) << value;
      }
    }
    EXPECT_FALSE(kernel.run(q, k, v, {.added = {}, .kept = {}, .filled = hidden, .value = kNothing}).finite);
    hidden.select(2, 3).select(2, 0).fill_(false);
    EXPECT_TRUE(kernel.run(q, k, v, {.added = {}, .kept = {}, .filled = hidden, .value = kNothing}).finite);
  }
}

TEST_F(AttentionKernel, SizesAroundPanelsAndBlocks) {
  for (const int threads : {1, 2}) {
    const WithThreads limited(threads);
    for (const std::int64_t queries : {1, 15, 64, 65, 130}) {
      for (const std::int64_t keys : {1, 16, 63, 64, 65, 200}) {
        for (const bool causal : {false, true}) {
          SCOPED_TRACE(std::to_string(queries) + " by " + std::to_string(keys) + (causal ? ", causal" : ""));
          expect_near({heads(2, 4, queries, 20), heads(2, 2, keys, 20), heads(2, 2, keys, 33), {}, causal});
        }
      }
    }
  }
  // So many keys that fewer queries make a block.
  expect_near({heads(1, 1, 40, 8), heads(1, 1, 2500, 8), heads(1, 1, 2500, 8), {}, false});
}

TEST_F(AttentionKernel, MasksThatBroadcast) {
  const auto q = heads(2, 3, 30, 16), k = heads(2, 3, 70, 16), v = heads(2, 3, 70, 16);
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{
           {30, 70}, {1, 70}, {30, 1}, {2, 1, 30, 70}, {1, 3, 1, 70}, {2, 3, 30, 70}}) {
    SCOPED_TRACE(at::IntArrayRef(shape));
    expect_near({q, k, v, at::randn(shape)});
    expect_near({q, k, v, at::rand(shape) < 0.7});
  }
}

TEST_F(AttentionKernel, RowsThatLieOnOneAnotherInMemory) {
  const auto one = [](std::int64_t length) { return at::randn({2, 3, 1, 16}).expand({2, 3, length, 16}); };
  expect_near({one(9), one(70), heads(2, 3, 70, 16), {}});
  expect_near({heads(2, 3, 9, 16), one(70), one(70), {}});
  const auto sliding = at::randn({2, 3, 100}).unfold(2, 16, 1);  // rows that overlap
  expect_near({sliding, sliding, sliding, {}});
}

TEST_F(AttentionKernel, AQueryThatSeesNoKeyGivesZero) {
  const auto q = heads(1, 2, 5, 16), k = heads(1, 2, 20, 16), v = heads(1, 2, 20, 16);
  auto mask = at::ones({5, 20}, at::kBool);
  mask[3].fill_(false);
  const Attended given{q, k, v, mask};
  expect_near(given);
  EXPECT_EQ(given.ours().y.select(2, 3).abs().max().item<float>(), 0);
}

TEST_F(AttentionKernel, AMaskedKeyCountsForNothingHoweverLarge) {
  const auto q = heads(1, 1, 3, 16), k = heads(1, 1, 20, 16);
  auto v = heads(1, 1, 20, 16);
  v.select(2, 7).fill_(1e37);
  auto mask = at::ones({3, 20}, at::kBool);
  mask.select(1, 7).fill_(false);
  expect_near({q, k, v, mask});
}

TEST_F(AttentionKernel, ScoresFarApart) {
  const auto q = heads(1, 2, 9, 16) * 50, k = heads(1, 2, 40, 16), v = heads(1, 2, 40, 16);
  expect_near({q, k, v, {}});
  expect_near({q, k, v, {}, false, -2.0});
}

TEST_F(AttentionKernel, WhatIsNotFiniteIsLeftToATen) {
  for (const float odd : {kNaN, std::numeric_limits<float>::infinity(), 3e38F}) {
    for (int which = 0; which < 3; ++which) {
      Attended given{heads(1, 2, 9, 16), heads(1, 2, 40, 16), heads(1, 2, 40, 16), {}};
      (which == 0 ? given.q : which == 1 ? given.k : given.v).select(2, 5).fill_(odd);
      const bool finite = given.ours().finite;
      const auto wanted = at::scaled_dot_product_attention(given.q, given.k, given.v, {}, 0.0, false, 0.3);
      EXPECT_TRUE(!finite || at::isfinite(wanted).all().item<bool>()) << odd << " in " << which;
    }
  }
}

}  // namespace
}  // namespace wide::kernels
