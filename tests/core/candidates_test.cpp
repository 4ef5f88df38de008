// What is offered for a node where packed weights may not take all the memory they like.
#include "core/strategy/candidates.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "core/eager/operators.h"
#include "presets/zoo/builder.h"
#include "tests/core/support.h"

namespace wide::test {
namespace {

using zoo::ref;

// Strategies offered for each convolution of 16, 32 and 16 channels; the one in the middle has the most
// weights.
std::vector<std::set<std::string_view>> offered(const StrategyChoice& choice) {
  zoo::Builder b("three");
  const auto x = b.input("x", normal({2, 16, 8, 8}));
  const auto first = b.conv2d("first", x, 16, 32, 3, 1, 1),
             second = b.conv2d("second", first, 32, 64, 3, 1, 1);
  b.output(b.conv2d("third", second, 64, 16, 3, 1, 1));
  const auto graph = specialized(b.take());
  std::vector<ValueState> inputs;
  for (const auto& input : graph.inputs)
    inputs.push_back({true, input.kind != InputKind::kUser, Layout::kFront});
  std::vector<std::set<std::string_view>> all;
  for (const auto& node : ask_strategies(graph, spread_states(graph, inputs), kMembers, choice)) {
    all.emplace_back();
    for (const auto& one : node.candidates) all.back().insert(one.strategy->name);
  }
  return all;
}

TEST(Candidates, TransformedWeightsTakeNoMoreThanThereIsToSpare) {
  constexpr std::string_view kGrows = "winograd_2x2";
  constexpr std::int64_t kBytes = 9 * 4, kFirst = 16 * 32 * kBytes,
                         kThird = 64 * 16 * kBytes;  // of one member
  StrategyChoice choice{.mode = Mode::kDefault};
  const auto free = offered(choice);
  if (!free[0].contains(kGrows)) GTEST_SKIP() << "libxsmm generates no code here";
  EXPECT_TRUE(free[1].contains(kGrows) && free[2].contains(kGrows));
  choice.spare = (kFirst + kThird) * 7 / 9;
  const auto within = offered(choice);
  EXPECT_TRUE(within[0].contains(kGrows));
  EXPECT_FALSE(within[1].contains(kGrows));
  EXPECT_TRUE(within[2].contains(kGrows));
  EXPECT_TRUE(within[1].contains("prepacked") || within[1].contains("sequential"));
  choice.spare = 0;
  for (const auto& one : offered(choice)) EXPECT_FALSE(one.contains(kGrows));
  add_choice(choice, "%conv2d_1=winograd_2x2");
  EXPECT_TRUE(offered(choice)[1].contains(kGrows)) << "who names a strategy has it";
}

}  // namespace
}  // namespace wide::test
