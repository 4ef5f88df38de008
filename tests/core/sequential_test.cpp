// Operators that run member by member: what ATen's kernels are given.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "core/support.h"

namespace wide::test {
namespace {

using zoo::ref;

// The same numbers with gaps between them.
at::Tensor with_gaps(const at::Tensor& tensor) {
  return at::stack({tensor, tensor + 1}, -1).select(-1, 0);
}

// The same numbers, the last two axes the other way round in memory.
at::Tensor turned(const at::Tensor& tensor) {
  return tensor.transpose(-1, -2).contiguous().transpose(-1, -2);
}

// isin() fails on operands with gaps, kron() on turned ones, and the gradient of a weight norm takes what
// lies in the gaps: alone, none ever gets any.
TEST(Sequential, OperandsLieInTheOrderOfTheirAxes) {
  zoo::Builder b("dense");
  const auto x = b.input("x", normal({3, 4})), v = b.input("v", normal({3, 4})),
             g = b.input("g", normal({3, 1}));
  b.output(b.op("aten.isin.Tensor_Tensor", {ref(x), ref(v), {false}, {false}}));
  const auto norm = b.op("aten.linalg_vector_norm.default",
                         {ref(v), {2.0}, {Argument::List{Argument{std::int64_t{1}}}}, {true}, {}});
  b.output(b.op("aten._weight_norm_interface_backward.default",
                {ref(x), ref(v), ref(g), ref(norm), {std::int64_t{0}}}));
  b.output(b.op("aten.kron.default", {ref(x), ref(v)}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  auto inputs = wide_inputs(architecture, kMembers);
  const auto expected = model.forward(inputs);
  for (const auto& lay : {with_gaps, turned}) {
    auto others = inputs;
    for (auto& input : others) input.tensor = lay(input.tensor);
    const auto got = model.forward(others);
    for (std::size_t k = 0; k < expected.size(); ++k)
      EXPECT_TRUE(got[k].stacked().equal(expected[k].stacked())) << "output " << k;
    for (auto& input : others) input = {lay(input.member(0).clone()), false};  // the same for all
    const auto shared = model.forward(others);
    for (std::size_t k = 0; k < expected.size(); ++k)
      EXPECT_TRUE(shared[k].member(0).equal(expected[k].member(0))) << "shared, output " << k;
  }
}

// Strides go by memory: of one tensor for all members, too, and of a part of another one.
TEST(Sequential, StridesAreThoseOfTheOrderOfTheAxes) {
  zoo::Builder b("strided");
  const auto x = b.input("x", normal({3, 4}));
  b.output(
      b.op("aten.as_strided.default", {ref(x), zoo::ints({2, 3}), zoo::ints({3, 1}), {std::int64_t{1}}}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  const auto one = at::arange(12, at::kFloat).view({3, 4});
  const auto expected = one.as_strided({2, 3}, {3, 1}, 1).clone();
  const auto part = at::stack({one + 100, one}).select(0, 1);
  for (const auto& given : {one, part, with_gaps(one), turned(one)}) {
    for (const bool mapped : {false, true}) {
      const std::vector<ModelInput> inputs{{mapped ? at::stack({one + 50, given, one - 50}) : given, mapped}};
      EXPECT_TRUE(model.forward(inputs)[0].member(1).equal(expected)) << mapped;
    }
  }
}

// Numbers near each other, in an image of one place whose strides say that its channels lie side by side:
// ATen has another formula for those, whose error is a thousand times the usual one here.
void expect_exact_group_norm(bool then_relu) {
  zoo::Builder b("norm");
  const auto x = b.input("x", normal({1, 2, 1, 1}));
  const auto norm = b.op("aten.group_norm.default", {ref(x), {std::int64_t{1}}, {}, {}, {1e-5}, {false}});
  b.output(then_relu ? b.op("aten.relu.default", {ref(norm)}) : norm);
  const auto architecture = b.take();
  const auto image = at::tensor({1.6453399658203125F, 1.6875361204147339F}).view({1, 2, 1, 1});
  const auto norm_alone = at::group_norm(image.to(at::kDouble), 1);
  const auto exact = then_relu ? norm_alone.relu() : norm_alone;
  for (const auto* strategy : {"sequential", "fused", "front", "one_pass"}) {
    BuildOptions options;
    options.strategies.by_kind["group_norm"] = strategy;
    auto model = wide_model(architecture, kMembers, options);
    const auto all = at::stack({image, image, image});
    const std::vector<ModelInput> inputs{{all.as_strided(all.sizes(), {2, 2, 1, 2, 2}), true}};
    const at::Tensor got = model.forward(inputs)[0].member(1).to(at::kDouble);
    EXPECT_TRUE(at::allclose(got, exact, 0, 1e-5)) << strategy;
  }
}
TEST(Sequential, GroupNormsAreExactWhateverTheStrides) {
  for (const bool then_relu : {false, true}) expect_exact_group_norm(then_relu);
}

}  // namespace
}  // namespace wide::test
