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

}  // namespace
}  // namespace wide::test
