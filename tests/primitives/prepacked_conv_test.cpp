// Weights packed member by member are what packing them all at once gives; epilogues are ATen's activations.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/strategy/activation.h"
#include "primitives/kernels/prepacked_conv.h"

namespace wide::kernels {
namespace {

struct Layer {
  std::string name;
  std::vector<std::int64_t> weight,
      input;  ///< of one member: [Co, Ci/g, …], transposed [Ci, Co/g, …]; [B, Ci, …]
  std::int64_t groups = 1;
  bool transposed = false;
  bool must = false;  ///< with AVX2 oneDNN has its members one behind the other
};

const std::vector<Layer> kLayers = {
    {"3x3", {64, 32, 3, 3}, {2, 32, 6, 5}, 1, false, true},
    {"1x1", {32, 48, 1, 1}, {1, 48, 7, 7}, 1, false, true},
    {"odd channels", {7, 5, 3, 3}, {2, 5, 9, 8}},
    {"images", {64, 3, 7, 7}, {1, 3, 16, 16}},
    {"groups", {32, 8, 3, 3}, {2, 32, 6, 6}, 4},
    {"depthwise", {16, 1, 3, 3}, {1, 16, 8, 8}, 16},
    {"volumes", {16, 16, 3, 3, 3}, {1, 16, 4, 5, 6}},
    {"transposed", {32, 16, 2, 2}, {1, 32, 5, 5}, 1, true},
    {"transposed, groups", {16, 4, 3, 3}, {2, 16, 4, 4}, 2, true},
};

TEST(PrepackedConv, MembersOneByOneAreTheWhole) {
  if (!prepacking_refusal(false).empty() || !prepacking_refusal(true).empty())
    GTEST_SKIP() << "this libtorch packs no weights";
  const c10::InferenceMode guard;
  for (const auto& layer : kLayers) {
    for (const std::int64_t members : {3, 8}) {
      SCOPED_TRACE(layer.name + ", " + std::to_string(members) + " members");
      const std::vector<std::int64_t> ones(layer.weight.size() - 2, 1);
      ConvolutionSizes sizes{ones, ones, ones, {}, layer.groups * members, layer.transposed};
      if (layer.transposed) sizes.output_padding.assign(ones.size(), 0);
      auto input = layer.input;
      input[1] *= members;
      std::vector<at::Tensor> each;
      for (std::int64_t i = 0; i < members; ++i) each.push_back(at::randn(layer.weight));
      each[1].fill_(std::numeric_limits<float>::quiet_NaN());
      const auto packed = prepack_members(
          sizes, members, [&](std::int64_t i) { return each[static_cast<std::size_t>(i)]; }, input);
      EXPECT_TRUE(packed.defined() || !layer.must || !__builtin_cpu_supports("avx2"));
      if (!packed.defined()) continue;
      const auto x = at::randn(input);
      const auto expected = prepacked_conv(sizes, x, prepack(sizes, at::cat(each), input), {});
      EXPECT_TRUE(at::allclose(prepacked_conv(sizes, x, packed, {}), expected, 0, 0, /*equal_nan=*/true));
    }
  }
}

// Those that are so only of finite numbers, as oneDNN's relu, say so.
TEST(PrepackedConv, AnEpilogueIsTheActivation) {
  if (!prepacking_refusal(false).empty() || !prepacking_refusal(true).empty())
    GTEST_SKIP() << "this libtorch packs no weights";
  const c10::InferenceMode guard;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto odd = at::tensor(
      {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity, 1e30F, -1e30F, 3e38F, 1e-40F, -0.0F});
  for (const auto& layer : kLayers) {
    const std::vector<std::int64_t> ones(layer.weight.size() - 2, 1);
    ConvolutionSizes sizes{ones, ones, ones, {}, layer.groups, layer.transposed};
    if (layer.transposed) sizes.output_padding.assign(ones.size(), 0);
    const auto packed = prepack(sizes, at::randn(layer.weight), layer.input);
    auto x = 8 * at::randn(layer.input);
    x.flatten().slice(0, 0, -1, x.numel() / odd.numel()).slice(0, 0, odd.numel()).copy_(odd);
    const auto y = prepacked_conv(sizes, x, packed, {});
    for (const auto* name : {"relu", "relu6", "gelu", "gelu_tanh", "silu", "sigmoid", "tanh", "hardswish",
                             "hardsigmoid", "leaky_relu 0.01", "leaky_relu 0.1", "leaky_relu 0.2"}) {
      SCOPED_TRACE(layer.name + ", " + name);
      const auto* epilogue = epilogue_of(name);
      const bool used = std::string_view(name).find("relu") != std::string_view::npos;  // and not with exp
      EXPECT_TRUE(epilogue != nullptr || !used || !__builtin_cpu_supports("avx2"));
      if (epilogue == nullptr) continue;
      const auto got = prepacked_conv(sizes, x, packed, {}, *epilogue);
      auto same = at::isclose(got, activation(name).apply(y), 1e-6, 1e-6, /*equal_nan=*/true);
      if (epilogue->far_from_overflow) same = same.logical_or((y.abs() < kFarFromOverflow).logical_not());
      EXPECT_TRUE(same.all().item<bool>());
    }
  }
}

}  // namespace
}  // namespace wide::kernels
