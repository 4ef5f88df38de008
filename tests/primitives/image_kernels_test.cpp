// Pooling and resizing of our own against ATen's, where numbers are no numbers and windows overlap the edge.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "primitives/kernels/batch_norm.h"
#include "primitives/kernels/pool.h"
#include "primitives/kernels/resize.h"

namespace wide::test {
namespace {

// Some NaN, many infinities.
at::Tensor odd_numbers(at::IntArrayRef shape, double odd) {
  at::manual_seed(1);
  auto x = at::randn(shape);
  x.index_put_({at::rand(shape) < odd}, at::scalar_tensor(std::numeric_limits<float>::quiet_NaN()));
  x.index_put_({at::rand(shape) < 3 * odd}, at::scalar_tensor(-std::numeric_limits<float>::infinity()));
  return x;
}

using kernels::Order;

TEST(MaxPool, AgreesWithATenOnNaNInfinitiesAndEdges) {
  const auto x = odd_numbers({3, 2, 4, 9, 11}, 0.1);
  for (const std::int64_t size : {1, 2, 3}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (std::int64_t padding = 0; padding <= size / 2; ++padding) {
        for (const std::int64_t dilation : {1, 2}) {
          for (const bool ceil_mode : {false, true}) {
            SCOPED_TRACE(testing::Message()
                         << size << " " << stride << " " << padding << " " << dilation << " " << ceil_mode);
            const auto expected = at::max_pool2d(x.flatten(0, 1), size, stride, padding, dilation, ceil_mode)
                                      .unflatten(0, {3, 2});
            const kernels::Window window{
                {size, size}, {stride, stride}, {padding, padding}, {dilation, dilation}};
            const auto rows = expected.size(-2), columns = expected.size(-1);
            const auto planes = kernels::max_pool2d(x, window, rows, columns, Order::kPlanes);
            EXPECT_TRUE(at::allclose(planes, expected, 0, 0, /*equal_nan=*/true));
            const auto last = kernels::max_pool2d(x[1], window, rows, columns, Order::kChannelsLast);
            EXPECT_TRUE(at::allclose(last, expected[1], 0, 0, /*equal_nan=*/true));
          }
        }
      }
    }
  }
}

TEST(AvgPool, AgreesWithATenToTheBit) {
  const auto x = odd_numbers({3, 2, 4, 9, 11}, 0.02);
  for (const std::int64_t size : {1, 2, 3}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (std::int64_t padding = 0; padding <= size / 2; ++padding) {
        for (const bool ceil_mode : {false, true}) {
          for (const bool counts : {false, true}) {
            for (const std::int64_t divisor : {0, 5}) {
              SCOPED_TRACE(testing::Message() << size << " " << stride << " " << padding << " " << ceil_mode
                                              << " " << counts << " " << divisor);
              const auto expected = at::avg_pool2d(x.flatten(0, 1), size, stride, padding, ceil_mode, counts,
                                                   divisor ? std::optional(divisor) : std::nullopt)
                                        .unflatten(0, {3, 2});
              const kernels::Window window{{size, size}, {stride, stride}, {padding, padding}, {1, 1}};
              const auto rows = expected.size(-2), columns = expected.size(-1);
              const auto planes =
                  kernels::avg_pool2d(x, window, rows, columns, counts, divisor, Order::kPlanes);
              EXPECT_TRUE(at::allclose(planes, expected, 0, 0, /*equal_nan=*/true));
              const auto last =
                  kernels::avg_pool2d(x[1], window, rows, columns, counts, divisor, Order::kChannelsLast);
              EXPECT_TRUE(at::allclose(last, expected[1], 0, 0, /*equal_nan=*/true));
            }
          }
        }
      }
    }
  }
}

// By size and by factors that are not the size's, larger, smaller, doubled and the same.
TEST(Resize, AgreesWithATen) {
  using Sizes = std::vector<std::int64_t>;
  const auto close = [](const at::Tensor& got, const at::Tensor& expected, double bound) {
    return at::allclose(got, expected, bound, bound, /*equal_nan=*/true);
  };
  for (const auto& [height, width] : {std::pair{7, 10}, {1, 1}, {1, 2}, {2, 1}, {3, 17}}) {
    for (const double odd : {0.0, 0.05}) {
      const auto x = odd_numbers({6, 4, height, width}, odd);
      for (const std::int64_t rows : Sizes{1, 3, height, 2 * height, 20}) {
        for (const std::int64_t columns : Sizes{1, 9, width, 2 * width, 33}) {
          for (const auto& factor : {std::optional<double>(), std::optional<double>(1.7)}) {
            SCOPED_TRACE(testing::Message() << height << " " << width << " " << odd << " " << rows << " "
                                            << columns << " " << factor.value_or(0));
            const kernels::Resized down{rows, factor}, across{columns, factor};
            for (const bool corners : {false, true})
              EXPECT_TRUE(close(kernels::bilinear2d(x, kernels::linear_places(height, down, corners),
                                                    kernels::linear_places(width, across, corners)),
                                at::upsample_bilinear2d(x, {rows, columns}, corners, factor, factor), 1e-5))
                  << corners;
            const auto nearest = [&](bool exact) {
              return kernels::nearest2d(x, kernels::nearest_places(height, width, down, across, exact));
            };
            EXPECT_TRUE(close(nearest(false), at::upsample_nearest2d(x, {rows, columns}, factor, factor), 0));
            EXPECT_TRUE(
                close(nearest(true), at::_upsample_nearest_exact2d(x, {rows, columns}, factor, factor), 0));
          }
        }
      }
    }
  }
}

TEST(PixelShuffle, AgreesWithATen) {
  for (const std::int64_t factor : {1, 2, 3, 4}) {
    for (const std::int64_t width : {1, 5, 16, 37}) {
      const auto x = odd_numbers({2, 3 * factor * factor, 4, width}, 0.02);
      EXPECT_TRUE(at::allclose(kernels::pixel_shuffle(x, factor), at::pixel_shuffle(x, factor), 0, 0, true))
          << factor << " " << width;
    }
  }
}

// Shapes whose rows do not fill vectors; a channel of equal numbers, one with NaN, one too large to square.
TEST(BatchNorm, AgreesWithATenInEachMember) {
  at::manual_seed(1);
  for (const std::int64_t length : {16, 19, 64, 1000}) {
    auto x = at::randn({3, 4, 5, length}) * 3 + 100;
    x.select(0, 1).select(1, 2).fill_(7);
    x[2][1][3][0] = std::numeric_limits<float>::quiet_NaN();
    x.select(0, 0).select(1, 4).mul_(1e18);
    const auto weight = at::randn({3, 5}), mean = at::randn({3, 5}), variance = at::rand({3, 5}) + 0.5;
    const auto got = kernels::batch_norm(x, weight, {}, mean, variance, 0.3, 1e-5);
    for (std::int64_t i = 0; i < 3; ++i) {
      const auto own_mean = mean[i].clone(), own_variance = variance[i].clone();
      const auto [y, saved, invstd] =
          at::native_batch_norm(x[i], weight[i], {}, own_mean, own_variance, true, 0.3, 1e-5);
      const auto close = [](const at::Tensor& one, const at::Tensor& other) {
        return at::allclose(one, other, 1e-4, 1e-4, /*equal_nan=*/true);
      };
      EXPECT_TRUE(close(got.y[i], y)) << length << " " << i;
      EXPECT_TRUE(close(got.mean[i], saved) && close(got.invstd[i], invstd)) << length << " " << i;
      EXPECT_TRUE(close(got.running_mean[i], own_mean) && close(got.running_var[i], own_variance))
          << length << " " << i;
    }
  }
}

}  // namespace
}  // namespace wide::test
