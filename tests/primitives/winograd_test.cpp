// Winograd's convolutions against float64, beside the errors of ATen's own in float32.
#include "primitives/kernels/winograd.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <string>

#include "core/aten/with_threads.h"

namespace wide::kernels {
namespace {

// Root of the mean square of what `y` is off `wanted`.
double error_of(const at::Tensor& y, const at::Tensor& wanted) {
  return (y.to(at::kDouble) - wanted).square().mean().sqrt().item<double>();
}

// x [B, in, H, W], w [out, in, 3, 3].
at::Tensor by_winograd(int tile, const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                       RowFunction after = nullptr) {
  const Winograd kernel(tile, x.size(1), w.size(0));
  const auto last = x.permute({0, 2, 3, 1}).contiguous().unsqueeze(0), weights = w.unsqueeze(0);
  auto y = at::empty({1, x.size(0), x.size(2), x.size(3), w.size(0)});
  kernel.run(
      last, [&](std::int64_t) { return w; }, kernel.pack(weights), bias.unsqueeze(0), {1, 1}, y, after);
  return y[0].permute({0, 3, 1, 2});
}

TEST(Winograd, ErrorsAreThoseOfAPlainConvolutionOrAFewTimesAsLarge) {
  at::manual_seed(0);
  for (const std::int64_t channels : {16, 48, 130, 512}) {
    if (!Winograd::refusal(channels, channels).empty()) GTEST_SKIP() << "libxsmm generates no code here";
    for (const bool positive : {false, true}) {  // as behind a relu
      auto x = at::randn({2, channels, 15, 13});
      if (positive) x = x.relu();
      const auto w = at::randn({channels, channels, 3, 3}), bias = at::randn({channels});
      const auto wanted = at::conv2d(x.to(at::kDouble), w.to(at::kDouble), bias.to(at::kDouble), 1, 1);
      const auto plain = error_of(at::conv2d(x, w, bias, 1, 1), wanted);
      for (const int threads : {1, 2}) {
        const WithThreads limited(threads);
        SCOPED_TRACE(std::to_string(channels) + " channels, " + std::to_string(threads) + " threads" +
                     (positive ? ", positive" : ""));
        const auto two = error_of(by_winograd(2, x, w, bias), wanted) / plain,
                   four = error_of(by_winograd(4, x, w, bias), wanted) / plain;
        std::cout << channels << " channels" << (positive ? ", positive" : "") << ": errors over oneDNN's "
                  << two << " (2x2), " << four << " (4x4)\n";
        EXPECT_LE(two, 1.5);
        EXPECT_LE(four, 4);
      }
    }
  }
}

TEST(Winograd, AnImageThatOverflowsOrHoldsNaNIsAsAlone) {
  if (!Winograd::refusal(16, 16).empty()) GTEST_SKIP() << "libxsmm generates no code here";
  const auto w = at::rand({16, 16, 3, 3}), bias = at::rand({16});
  for (const float odd : {1e38F, std::numeric_limits<float>::quiet_NaN()}) {
    auto x = at::rand({3, 16, 6, 6});
    x.select(0, 1).select(1, 2).select(1, 3).fill_(odd);
    const auto wanted = at::conv2d(x, w, bias, 1, 1);
    for (const int tile : {2, 4}) {
      const auto y = by_winograd(tile, x, w, bias);
      EXPECT_TRUE(at::equal(y[1].isfinite(), wanted[1].isfinite()));
      EXPECT_TRUE(at::equal(y[1].isnan(), wanted[1].isnan()));
      for (const int image : {0, 2}) EXPECT_TRUE(at::allclose(y[image], wanted[image], 1e-5, 1e-5));
      const auto above = by_winograd(tile, x, w, bias - 2, row_function("relu"));
      EXPECT_TRUE(at::allclose(above, at::relu(at::conv2d(x, w, bias - 2, 1, 1)), 1e-5, 1e-4, true));
    }
  }
}

}  // namespace
}  // namespace wide::kernels
