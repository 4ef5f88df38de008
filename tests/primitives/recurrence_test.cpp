// Recurrent layers of our own against ATen's, where gates saturate, rows do not fill vectors and time is any
// axis.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "primitives/kernels/recurrence.h"

namespace wide::test {
namespace {

constexpr std::int64_t kMembers = 3, kSteps = 6, kBatch = 5, kFeatures = 4;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Layer {
  kernels::Gates gates;
  std::int64_t gate_count;
};

// Numbers of every size that a gate may meet.
at::Tensor wild(at::IntArrayRef shape) {
  const auto x = at::randn(shape);
  return x * at::exp2(at::randint(-6, 8, shape).to(at::kFloat));
}

// ATen's layer on one member: y, h, c.
std::vector<at::Tensor> expected(const Layer& layer, const at::Tensor& x, const std::vector<at::Tensor>& w,
                                 const at::Tensor& h, const at::Tensor& c) {
  const auto h0 = h.unsqueeze(0), c0 = c.unsqueeze(0);
  const auto list = [](const std::tuple<at::Tensor, at::Tensor>& two) {
    return std::vector{std::get<0>(two), std::get<1>(two)[0]};
  };
  switch (layer.gates) {
    case kernels::Gates::kTanh:
      return list(at::rnn_tanh(x, h0, w, true, 1, 0.0, false, false, false));
    case kernels::Gates::kRelu:
      return list(at::rnn_relu(x, h0, w, true, 1, 0.0, false, false, false));
    case kernels::Gates::kGru:
      return list(at::gru(x, h0, w, true, 1, 0.0, false, false, false));
    default:
      const auto [y, last, cell] = at::lstm(x, {h0, c0}, w, true, 1, 0.0, false, false, false);
      return {y, last[0], cell[0]};
  }
}

TEST(Recurrence, AgreesWithATenInEachMember) {
  using kernels::Gates;
  for (const auto& layer :
       {Layer{Gates::kTanh, 1}, Layer{Gates::kRelu, 1}, Layer{Gates::kGru, 3}, Layer{Gates::kLstm, 4}}) {
    for (const std::int64_t hidden : {1, 7, 16, 33, 64}) {
      if (!kernels::Recurrence::refusal(layer.gates, kBatch, hidden).empty()) GTEST_SKIP() << "no AVX2";
      at::manual_seed(hidden);
      const bool gru = layer.gates == Gates::kGru;
      const auto width = layer.gate_count * hidden;
      const auto x = wild({kMembers, kSteps, kBatch, kFeatures});
      const auto w_ih = at::randn({kMembers, width, kFeatures}),
                 w_hh = at::randn({kMembers, width, hidden}) / std::sqrt(hidden);
      const auto b_ih = at::randn({kMembers, width}), b_hh = at::randn({kMembers, width});
      const auto h0 = at::randn({kMembers, kBatch, hidden}), c0 = at::randn({kMembers, kBatch, hidden});
      const auto bias = gru ? b_ih : b_ih + b_hh;
      const auto inputs = at::matmul(x, w_ih.transpose(1, 2).unsqueeze(1)) + bias.unsqueeze(1).unsqueeze(1);
      const kernels::Recurrence kernel(layer.gates, kBatch, hidden);
      for (const bool backwards : {false, true}) {
        for (const std::int64_t time_axis : {1, 2}) {
          SCOPED_TRACE(testing::Message() << static_cast<int>(layer.gates) << " " << hidden << " "
                                          << backwards << " " << time_axis);
          kernels::Recurrence::State state{h0, c0};
          const auto given = time_axis == 1 ? inputs : inputs.transpose(1, 2).contiguous();
          auto y =
              kernel.run(given, kernel.pack(w_hh), gru ? b_hh : at::Tensor(), time_axis, backwards, state);
          if (time_axis == 2) y = y.transpose(1, 2);
          for (std::int64_t n = 0; n < kMembers; ++n) {
            const auto own = backwards ? x[n].flip(0) : x[n];
            const auto alone = expected(layer, own, {w_ih[n], w_hh[n], b_ih[n], b_hh[n]}, h0[n], c0[n]);
            const auto close = [](const at::Tensor& got, const at::Tensor& wanted) {
              return at::allclose(got, wanted, 1e-4, 1e-4);
            };
            EXPECT_TRUE(close(y[n], backwards ? alone[0].flip(0) : alone[0])) << n;
            EXPECT_TRUE(close(state.h[n], alone[1])) << n;
            if (alone.size() > 2) {
              EXPECT_TRUE(close(state.c[n], alone[2])) << n;
            }
          }
        }
      }
    }
  }
}

// One unit whose gate is the number itself.
TEST(Recurrence, TanhIsThatOfTheLibraryOnEveryKindOfNumber) {
  if (!kernels::Recurrence::refusal(kernels::Gates::kTanh, 1, 1).empty()) GTEST_SKIP() << "no AVX2";
  const kernels::Recurrence kernel(kernels::Gates::kTanh, 1, 1);
  auto numbers =
      at::cat({at::linspace(-100, 100, 20001), at::logspace(-44, 38, 2000), -at::logspace(-44, 38, 2000),
               at::tensor({0.0F, -0.0F, kInfinity, -kInfinity, std::nanf("")})});
  const auto count = numbers.numel();
  kernels::Recurrence::State state{at::zeros({count, 1, 1}), {}};
  const auto got = kernel.run(numbers.reshape({count, 1, 1, 1}), kernel.pack(at::zeros({count, 1, 1})), {}, 1,
                              false, state);
  const auto exact = at::tanh(numbers.to(at::kDouble));
  const auto error = ((got.reshape(-1) - exact) / exact.abs().clamp_min(1e-37)).abs();
  EXPECT_LT(error.nan_to_num(0).max().item<double>(), 3e-7);
  EXPECT_TRUE(at::equal(got.reshape(-1).isnan(), numbers.isnan()));
}

}  // namespace
}  // namespace wide::test
