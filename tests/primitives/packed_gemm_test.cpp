// Products in tiles: every combination of whole and left-over blocks of rows, columns and depth, against ATen
// in float64; and activations against ATen's, over the whole range of float32.
#include "primitives/kernels/packed_gemm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "core/aten/with_threads.h"
#include "core/strategy/activation.h"

namespace wide::kernels {
namespace {

struct Size {
  std::int64_t members, rows, inner, columns;
};

at::Tensor expected(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias) {
  const auto y = at::matmul(x.to(at::kDouble), w.to(at::kDouble).transpose(1, 2));
  return bias.defined() ? y + bias.to(at::kDouble).unsqueeze(1) : y;
}

TEST(PackedGemm, IsTheProductAtEverySize) {
  for (const int threads : {1, 2}) {
    const WithThreads limited(threads);
    for (const auto& size : {Size{1, 1, 1, 1}, Size{3, 5, 7, 63}, Size{2, 64, 64, 64}, Size{2, 65, 1025, 65},
                             Size{5, 3, 33, 200}, Size{1, 200, 2049, 129}, Size{1, 130, 17, 700},
                             Size{7, 1, 300, 64}, Size{2, 127, 3000, 31}}) {
      const auto& [members, rows, inner, columns] = size;
      SCOPED_TRACE(std::to_string(members) + " x [" + std::to_string(rows) + ", " + std::to_string(inner) +
                   ", " + std::to_string(columns) + "], " + std::to_string(threads) + " threads");
      if (!PackedGemm::refusal(rows, inner, columns).empty())
        GTEST_SKIP() << "libxsmm generates no code here";
      const PackedGemm product(rows, inner, columns);
      const auto x = at::randn({members, rows, inner}), w = at::randn({members, columns, inner}),
                 bias = at::randn({members, columns}), packed = product.pack(w);
      const double bound = 2e-6 * static_cast<double>(inner);
      const auto difference = [](const at::Tensor& y, const at::Tensor& wanted) {
        return (y.to(at::kDouble) - wanted).abs().max().item<double>();
      };
      EXPECT_LT(difference(product.run(x, packed, {}), expected(x, w, {})), bound);
      EXPECT_LT(difference(product.run(x, packed, bias), expected(x, w, bias)), bound);
      EXPECT_LT(difference(product.run(x, packed, bias, {row_function("tanh")}), expected(x, w, bias).tanh()),
                bound);
      const auto other = at::randn({members, rows, columns}), one = other.narrow(0, 0, 1).contiguous();
      using With = Epilogue::With;
      EXPECT_LT(difference(product.run(x, packed, bias, {nullptr, With::kAdd, other}),
                           expected(x, w, bias) + other),
                bound);
      EXPECT_LT(difference(product.run(x, packed, bias, {row_function("tanh"), With::kMultiply, one}),
                           expected(x, w, bias).tanh() * one),
                bound);
      const auto shared = x.narrow(0, 0, 1).contiguous();
      EXPECT_LT(difference(product.run(shared, packed, bias), expected(shared, w, bias)), bound);
    }
  }
}

TEST(PackedGemm, OddNumbersStayInTheirRow) {
  if (!PackedGemm::refusal(70, 40, 70).empty()) GTEST_SKIP() << "libxsmm generates no code here";
  const PackedGemm product(70, 40, 70);
  auto x = at::rand({2, 70, 40});
  x[1][66][39] = std::numeric_limits<double>::quiet_NaN();
  const auto y = product.run(x, product.pack(at::rand({2, 70, 40})), {});
  EXPECT_EQ(y.isnan().sum().item<std::int64_t>(), 70);
  EXPECT_TRUE(y[1][66].isnan().all().item<bool>());
}

// Beyond 2^126 ATen's own gelu overflows, in some orders of memory and not in others.
TEST(Activate, IsAtensOverTheWholeRange) {
  const auto small = at::linspace(-12, 12, 20001, at::kFloat);
  const auto wide = at::exp2(at::linspace(-149, 126, 4001, at::kDouble)).to(at::kFloat);
  const auto x =
      at::cat({small, wide, -wide,
               at::tensor({std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN(), 0.0F, -0.0F})});
  for (const auto* name : {"relu", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "relu6", "hardswish",
                           "hardsigmoid", "leaky_relu 0.01", "leaky_relu 0.1", "leaky_relu 0.2"}) {
    SCOPED_TRACE(name);
    const auto y = apply(row_function(name), x), atens = activation(name).apply(x);
    EXPECT_TRUE(at::equal(y.isnan(), atens.isnan()));
    EXPECT_TRUE(at::equal(y.isinf(), atens.isinf()));
    const auto exact = activation(name).apply(x.to(at::kDouble));
    const auto scale = at::maximum(exact.abs(), at::full({}, 1.0, at::kDouble));
    const auto error = ((y.to(at::kDouble) - exact) / scale).nan_to_num(0, 0, 0).abs().max().item<double>();
    EXPECT_LT(error, 6e-7);
  }
}

// Where the value is tiny, too. Of gelu's exp(-x² / 2) the exponent is rounded, by up to half a unit in the
// last place (6e-8) of x² / 2. The others have an exponent that is exact.
TEST(Activate, TailsOfGeluAndSigmoidAreExactToTheirOwnSize) {
  const auto x = at::linspace(-12.5, -0.1, 20001, at::kFloat), twice = x.to(at::kDouble);
  for (const auto* name : {"gelu", "sigmoid", "silu"}) {
    const bool gelu = std::string_view(name) == "gelu";
    // ATen's gelu takes erf from 1, of which nothing is left there.
    const auto exact = gelu ? twice * at::erfc(-twice / std::sqrt(2.0)) / 2 : activation(name).apply(twice);
    const auto error = (apply(row_function(name), x).to(at::kDouble) - exact) / exact;
    const auto bound = 4e-7 + (gelu ? 6e-8 : 0.0) * twice.square() / 2;
    EXPECT_TRUE((error.abs() < bound).all().item<bool>())
        << name << ": " << (error.abs() / bound).max().item<double>() << " of the bound";
  }
}

// To compute them takes denormal numbers, for which processors are many times slower.
TEST(Activate, TailsOfGeluTooSmallForAnyoneAreZero) {
  const auto y = apply(row_function("gelu"), -at::exp2(at::linspace(3.7, 120, 4001, at::kFloat)));
  EXPECT_EQ(y.count_nonzero().item<std::int64_t>(), 0);
}

}  // namespace
}  // namespace wide::kernels
