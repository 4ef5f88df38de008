// What parity cannot know of max_unpool: a member's place that is out of range fails, and is no neighbour's
// number.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "primitives/cases.h"

namespace wide {
namespace {

using namespace test;

TEST(MaxUnpool, APlaceOutOfRangeFails) {
  const auto& primitive = *find_primitive("aten.max_unpool2d.default");
  const auto& strategy = primitive.strategies.at(0);
  auto made = make_case(primitive.samples(kMembers)[0], at::kFloat, kMembers);
  const auto kernel = strategy.prepare(made.call, strategy.ask(made.call).offers.at(0));
  Tensors operands, results(1);
  for (const auto& operand : made.operands) operands.push_back(operand.flatten(0, 1));  // front to folded
  kernel(operands, results);
  operands[1].select(0, 0).fill_(6);  // a plane has 2 x 3 places
  EXPECT_THROW(kernel(operands, results), std::exception);
}

}  // namespace
}  // namespace wide
