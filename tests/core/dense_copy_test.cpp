// Copies of permuted, cut and expanded tensors, against ATen's own.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "core/aten/dense_copy.h"

namespace wide {
namespace {

at::Tensor numbered(const std::vector<std::int64_t>& shape, at::ScalarType dtype) {
  std::int64_t count = 1;
  for (const auto size : shape) count *= size;
  return at::arange(count, at::TensorOptions().dtype(dtype)).view(shape);
}

void expect_copied(const at::Tensor& view) {
  const auto copy = dense_copy(view);
  EXPECT_TRUE(copy.is_contiguous()) << view.sizes() << view.strides();
  EXPECT_TRUE(copy.equal(view)) << view.sizes() << view.strides();
}

TEST(DenseCopy, AnyViewGivesWhatATenGives) {
  std::mt19937 random(7);
  const auto below = [&](std::size_t most) { return random() % most; };
  for (int i = 0; i < 600; ++i) {
    const auto rank = 2 + below(4);
    std::vector<std::int64_t> shape, order(rank);
    for (std::size_t k = 0; k < rank; ++k)
      shape.push_back(static_cast<std::int64_t>(below(3) == 0 ? 1 + below(100) : 1 + below(9)));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    auto view = numbered(shape, below(4) == 0 ? at::kInt : at::kFloat);
    const auto cut = static_cast<std::int64_t>(below(rank));
    if (below(3) == 0 && view.size(cut) > 2) view = view.narrow(cut, 1, view.size(cut) - 2);
    if (below(3) == 0) view = view.slice(cut, 0, view.size(cut), 2);
    if (below(4) == 0) view = view.select(cut, 0).unsqueeze(cut).expand(view.sizes());
    expect_copied(view.permute(order));
  }
}

TEST(DenseCopy, LargeOnesOnSeveralThreads) {
  expect_copied(numbered({8, 4, 3, 33, 65}, at::kFloat).permute({1, 3, 4, 0, 2}));
  expect_copied(numbered({4, 33, 65, 8, 20}, at::kFloat).permute({3, 0, 4, 1, 2}));
  expect_copied(numbered({700, 900}, at::kFloat).t());
}

TEST(DenseCopy, OtherNumbersAreATens) {
  expect_copied(numbered({64, 64}, at::kDouble).t());
  expect_copied(numbered({64, 64}, at::kBFloat16).t());
  expect_copied(at::_neg_view(numbered({64, 64}, at::kFloat).t()));
  const auto watched = numbered({64, 64}, at::kFloat).requires_grad_();
  EXPECT_TRUE(dense_copy(watched.t()).requires_grad());
  EXPECT_EQ(dense_copy(numbered({64, 0, 64}, at::kFloat).permute({2, 1, 0})).numel(), 0);
}

}  // namespace
}  // namespace wide
