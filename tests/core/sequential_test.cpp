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

// isin() fails on operands with gaps, and the gradient of a weight norm takes what lies in the gaps: alone,
// neither ever gets any.
TEST(Sequential, OperandsLieInTheOrderOfTheirAxes) {
  zoo::Builder b("dense");
  const auto x = b.input("x", normal({3, 4})), v = b.input("v", normal({3, 4})),
             g = b.input("g", normal({3, 1}));
  b.output(b.op("aten.isin.Tensor_Tensor", {ref(x), ref(v), {false}, {false}}));
  const auto norm = b.op("aten.linalg_vector_norm.default",
                         {ref(v), {2.0}, {Argument::List{Argument{std::int64_t{1}}}}, {true}, {}});
  b.output(b.op("aten._weight_norm_interface_backward.default",
                {ref(x), ref(v), ref(g), ref(norm), {std::int64_t{0}}}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  auto inputs = wide_inputs(architecture, kMembers);
  const auto expected = model.forward(inputs);
  for (auto& input : inputs) input.tensor = with_gaps(input.tensor);
  const auto got = model.forward(inputs);
  for (std::size_t k = 0; k < expected.size(); ++k)
    EXPECT_TRUE(got[k].stacked().equal(expected[k].stacked())) << "output " << k;
}

}  // namespace
}  // namespace wide::test
