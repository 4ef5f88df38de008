// Every strategy of every primitive that takes integers, on integers below and beyond what the sample has: it
// must refuse exactly what ATen refuses of a member alone, and give what ATen gives where it does not. Knows
// no primitive.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "core/eager/operators.h"
#include "core/strategy/sequential.h"
#include "primitives/cases.h"

namespace wide {
namespace {

using namespace test;

constexpr std::array<std::int64_t, 12> kValues = {-1000, -10, -9, -7, -5, -1, 4, 5, 7, 9, 10, 1000};

// What each member gives alone; nothing where ATen refuses one.
std::optional<std::vector<Tensors>> alone(const Case& made) {
  std::vector<Tensors> all;
  try {
    for (std::int64_t i = 0; i < made.call.members; ++i)
      all.push_back(run_member(made.call, made.operands, i));
  } catch (const c10::Error&) {
    return std::nullopt;
  }
  return all;
}

void expect_results(const Case& made, const Offer& offer, const Tensors& results,
                    const std::vector<Tensors>& expected) {
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (made.call.node.results[k] < 0) continue;
    for (std::int64_t i = 0; i < made.call.members; ++i) {
      const auto own = member_view(results[k], offer.results[k], made.call.results[k], i, made.call.members);
      EXPECT_TRUE(at::allclose(own.to(at::kDouble), expected[static_cast<std::size_t>(i)][k].to(at::kDouble),
                               1e-4, 1e-5, /*equal_nan=*/true))
          << "member " << i << ", result " << k;
    }
  }
}

// How many strategies refused.
int expect_as_alone(const Primitive& primitive, const Case& made) {
  const auto expected = alone(made);
  int refused = 0;
  for (const auto& strategy : primitive.strategies) {
    if (strategy.on_request) continue;
    for (const auto& offer : strategy.ask(made.call).offers) {
      SCOPED_TRACE(std::string(strategy.name) + ", " + layouts_of(offer));
      try {
        const auto results = run_kernel(made.call, made.operands, strategy, offer);
        EXPECT_TRUE(expected) << "a member alone is refused";
        if (expected) expect_results(made, offer, results, *expected);
      } catch (const c10::Error& error) {
        EXPECT_FALSE(expected) << "no member alone is refused: " << error.what_without_backtrace();
        ++refused;
      }
    }
  }
  return refused;
}

TEST(Bounds, RefusesWhatIsRefusedAlone) {
  const c10::InferenceMode guard;
  int refused = 0;
  for (const auto& primitive : primitives()) {
    for (const auto& sample : primitive.samples(kMembers)) {
      const auto made = make_case(sample, at::kFloat, kMembers);
      if (draws_random(made.call.node)) continue;
      for (std::size_t k = 0; k < made.operands.size(); ++k) {
        const auto& operand = made.call.operands[k];
        if (operand.type.dtype != at::kLong && operand.type.dtype != at::kInt) continue;
        // Bags that begin before the first id are undefined alone, and not always refused; wide they are.
        if (primitive.name == "embedding_bag" && k == 2) continue;
        for (const auto value : kValues) {
          SCOPED_TRACE(std::string(primitive.name) + ": " + sample.name + ", " + std::to_string(value) +
                       " in operand " + std::to_string(k));
          auto changed = made;
          changed.operands[k] = made.operands[k].clone();
          (operand.mapped ? changed.operands[k].select(0, 1) : changed.operands[k]).view(-1)[-1].fill_(value);
          refused += expect_as_alone(primitive, changed);
        }
      }
    }
  }
  EXPECT_GT(refused, 100) << "the values must reach beyond the bounds";
}

}  // namespace
}  // namespace wide
