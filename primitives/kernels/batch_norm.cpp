#include "primitives/kernels/batch_norm.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"
#include "primitives/kernels/rows.h"

namespace wide::kernels {
namespace {

constexpr int kLanes = 16;  // independent partial sums, so that the compiler may use vectors

struct Channel {
  const float* x;
  float* y;
  std::int64_t rows, length, step;  ///< numbers from one row to the next
};

template <bool kSquared>
[[gnu::always_inline]] inline double sum_of(const Channel& channel, double mean) {
  double lanes[kLanes] = {}, rest = 0;
  for (std::int64_t row = 0; row < channel.rows; ++row) {
    const float* x = channel.x + row * channel.step;
    std::int64_t i = 0;
    for (; i + kLanes <= channel.length; i += kLanes) {
      for (int k = 0; k < kLanes; ++k) {
        const double far = x[i + k] - mean;
        lanes[k] += kSquared ? far * far : far;
      }
    }
    for (; i < channel.length; ++i) rest += kSquared ? (x[i] - mean) * (x[i] - mean) : x[i] - mean;
  }
  for (const double lane : lanes) rest += lane;
  return rest;
}

struct Moments {
  double mean, squares;
};
WIDE_CLONES Moments moments_of(const Channel& channel) {
  const double mean = sum_of<false>(channel, 0) / static_cast<double>(channel.rows * channel.length);
  return {mean, sum_of<true>(channel, mean)};
}
WIDE_CLONES void scale_channel(const Channel& channel, float scale, float shift) {
  for (std::int64_t row = 0; row < channel.rows; ++row) {
    const float* x = channel.x + row * channel.step;
    float* y = channel.y + row * channel.step;
    for (std::int64_t i = 0; i < channel.length; ++i) y[i] = x[i] * scale + shift;
  }
}

// A channel whose sums leave the range of float32, or hold NaN or Inf, is ATen's: see Note [Odd rows] in
// rows.cpp.
bool is_odd(double squares, double variance) {
  constexpr double kLeast = 1e-30, kMost = 1e30;
  return !(squares < kMost && variance > kLeast);
}

void run_odd_channel(const at::Tensor& x, std::int64_t i, const std::array<at::Tensor, 4>& weights,
                     double momentum, double eps, const BatchNorm& result) {
  const auto n = i / x.size(2), c = i % x.size(2);
  const auto one = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.select(0, n).narrow(0, c, 1).clone() : tensor;
  };
  const auto mean = one(weights[2]), variance = one(weights[3]);
  const auto [y, own_mean, invstd] =
      at::native_batch_norm(x.select(0, n).narrow(1, c, 1).contiguous(), one(weights[0]), one(weights[1]),
                            mean, variance, /*training=*/true, momentum, eps);
  result.y.select(0, n).narrow(1, c, 1).copy_(y);
  const std::array<std::pair<at::Tensor, at::Tensor>, 4> vectors{{{result.mean, own_mean},
                                                                  {result.invstd, invstd},
                                                                  {result.running_mean, mean},
                                                                  {result.running_var, variance}}};
  for (const auto& [to, from] : vectors)
    if (to.defined()) to.select(0, n).narrow(0, c, 1).copy_(from);
}

}  // namespace

BatchNorm batch_norm(const at::Tensor& given, const at::Tensor& weight, const at::Tensor& bias,
                     const at::Tensor& running_mean, const at::Tensor& running_var, double momentum,
                     double eps) {
  const auto x = once_where_same(given);
  const auto members = given.size(0), batch = x.size(1), channels = x.size(2);
  const auto length = x.numel() / (x.size(0) * batch * channels), count = batch * length;
  const auto copies = members / x.size(0), of_member = channels * count;
  const std::vector<std::int64_t> shape{members, channels};
  const auto vector = [&](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.expand(shape).contiguous() : tensor;
  };
  const auto data = [](const at::Tensor& tensor) {
    return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
  };
  const auto made = [&](bool wanted) { return wanted ? at::empty(shape, x.options()) : at::Tensor(); };
  const auto weights = vector(weight), biases = vector(bias), means = vector(running_mean),
             variances = vector(running_var);
  BatchNorm result{at::empty(given.sizes(), x.options()), made(true), made(true), made(means.defined()),
                   made(variances.defined())};
  RECORD_FUNCTION("wide::batch_norm", std::vector<c10::IValue>());
  const float *from = x.const_data_ptr<float>(), *scale = data(weights), *shift = data(biases),
              *old_mean = data(means), *old_variance = data(variances);
  float *to = result.y.mutable_data_ptr<float>(), *mean = result.mean.mutable_data_ptr<float>(),
        *invstd = result.invstd.mutable_data_ptr<float>();
  float* new_mean = old_mean ? result.running_mean.mutable_data_ptr<float>() : nullptr;
  float* new_variance = old_variance ? result.running_var.mutable_data_ptr<float>() : nullptr;
  std::vector<char> odd(static_cast<std::size_t>(members * channels), 0);
  const auto normalize = [&](Channel channel, const Moments& moments, std::int64_t i) {
    const auto& [middle, squares] = moments;
    const double variance = squares / static_cast<double>(count);
    if (is_odd(squares, variance + eps)) {
      odd[static_cast<std::size_t>(i)] = 1;
      return;
    }
    const double factor = 1 / std::sqrt(variance + eps);
    mean[i] = static_cast<float>(middle);
    invstd[i] = static_cast<float>(factor);
    const float slope = scale ? invstd[i] * scale[i] : invstd[i];
    scale_channel(channel, slope, (shift ? shift[i] : 0) - mean[i] * slope);
    if (new_mean) new_mean[i] = static_cast<float>(momentum * middle + (1 - momentum) * old_mean[i]);
    if (new_variance)
      new_variance[i] = static_cast<float>(momentum * (squares / static_cast<double>(count - 1)) +
                                           (1 - momentum) * old_variance[i]);
  };
  parallel_ranges(x.size(0) * channels, std::max<std::int64_t>(1, kNumbersPerThread / count),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (auto i = begin; i < end; ++i) {
                      const auto first = (i / channels * batch * channels + i % channels) * length;
                      Channel channel{from + first, to + first, batch, length, channels * length};
                      const auto moments = moments_of(channel);
                      for (std::int64_t k = 0; k < copies; ++k, channel.y += of_member)
                        normalize(channel, moments, i + k * channels);
                    }
                  });
  for (std::size_t i = 0; i < odd.size(); ++i)
    if (odd[i])
      run_odd_channel(x.expand(given.sizes()), static_cast<std::int64_t>(i),
                      {weights, biases, means, variances}, momentum, eps, result);
  return result;
}

}  // namespace wide::kernels
