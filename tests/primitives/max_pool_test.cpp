// Max pooling of our own against ATen's, where numbers are no numbers and windows overlap the edge.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "primitives/kernels/max_pool.h"

namespace wide::test {
namespace {

TEST(MaxPool, AgreesWithATenOnNaNInfinitiesAndEdges) {
  at::manual_seed(1);
  auto x = at::randn({3, 2, 4, 9, 11});
  x.index_put_({at::rand(x.sizes()) < 0.1}, at::scalar_tensor(std::numeric_limits<float>::quiet_NaN()));
  x.index_put_({at::rand(x.sizes()) < 0.3}, at::scalar_tensor(-std::numeric_limits<float>::infinity()));
  for (const std::int64_t size : {1, 2, 3}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (std::int64_t padding = 0; padding <= size / 2; ++padding) {
        for (const std::int64_t dilation : {1, 2}) {
          for (const bool ceil_mode : {false, true}) {
            SCOPED_TRACE(testing::Message()
                         << size << " " << stride << " " << padding << " " << dilation << " " << ceil_mode);
            const auto expected = at::max_pool2d(x.flatten(0, 1), size, stride, padding, dilation, ceil_mode)
                                      .unflatten(0, {3, 2});
            const auto got = kernels::max_pool2d(
                x, {{size, size}, {stride, stride}, {padding, padding}, {dilation, dilation}},
                expected.size(-2), expected.size(-1));
            EXPECT_TRUE(at::allclose(got, expected, 0, 0, /*equal_nan=*/true));
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace wide::test
