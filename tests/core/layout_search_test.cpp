// Layouts chosen as a whole: never worse than trying everything.
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <random>

#include "core/plan/layout_search.h"
#include "core/strategy/sequential.h"
#include "core/support.h"

namespace wide::test {
namespace {

using zoo::ref;

ConversionCost any_conversion(double cost) {
  return [cost](const ConcreteType&, Layout from, Layout to) { return from == to ? 0 : cost; };
}

// x -> n operators, each on the results of one or two earlier ones; the last result leaves the model.
Graph random_graph(std::mt19937& random, int nodes) {
  zoo::Builder b("random");
  std::vector<ValueId> values{b.input("x", {{2, 4, 3, 3}})};
  for (int i = 0; i < nodes; ++i) {
    const auto pick = [&] { return ref(values[random() % values.size()]); };
    values.push_back(random() % 2 ? b.op("aten.relu.default", {pick()})
                                  : b.op("aten.maximum.default", {pick(), pick()}));
  }
  b.output(values.back());
  return specialized(b.take());
}

// Candidates with made-up costs that want and give random layouts.
std::vector<NodeCandidates> random_candidates(std::mt19937& random, const Graph& graph,
                                              const std::vector<ValueState>& states) {
  constexpr std::array kLayouts = {Layout::kFront, Layout::kFolded, Layout::kPacked};
  auto nodes = ask_strategies(graph, states, kMembers, {});
  for (auto& node : nodes) {
    node.candidates.clear();
    for (int i = 0; i < 3; ++i) {
      Offer offer;
      for (std::size_t k = 0; k < node.operands.size(); ++k) offer.operands.push_back(kLayouts[random() % 3]);
      offer.results.push_back(kLayouts[random() % 3]);
      offer.cost = static_cast<double>(random() % 100);
      node.candidates.push_back({&kSequential, offer});
    }
  }
  return nodes;
}

double best_of_all(const Graph& graph, const std::vector<ValueState>& states,
                   const std::vector<NodeCandidates>& nodes, const ConversionCost& conversion) {
  std::vector<std::size_t> choice(nodes.size());
  double best = std::numeric_limits<double>::infinity();
  while (true) {
    best = std::min(best, follow(graph, states, nodes, conversion, choice).cost);
    std::size_t i = 0;
    while (i < choice.size() && ++choice[i] == nodes[i].candidates.size()) choice[i++] = 0;
    if (i == choice.size()) return best;
  }
}

TEST(LayoutSearch, IsAsGoodAsTryingEverything) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto graph = random_graph(random, 6);
    const auto states = spread_states(graph, {{true, false}});
    const auto nodes = random_candidates(random, graph, states);
    const auto conversion = any_conversion(static_cast<double>(random() % 60));
    const auto found = search_layouts(graph, states, nodes, conversion);
    EXPECT_TRUE(found.exact);
    EXPECT_DOUBLE_EQ(found.cost, best_of_all(graph, states, nodes, conversion));
  }
}

TEST(LayoutSearch, ANarrowBeamSaysThatItIsNotExact) {
  std::mt19937 random(5);
  const auto graph = random_graph(random, 12);
  const auto states = spread_states(graph, {{true, false}});
  const auto nodes = random_candidates(random, graph, states);
  const auto narrow = search_layouts(graph, states, nodes, any_conversion(20), 1);
  const auto wide = search_layouts(graph, states, nodes, any_conversion(20));
  EXPECT_FALSE(narrow.exact);
  EXPECT_GE(narrow.cost, wide.cost);
}

TEST(LayoutSearch, AConversionThatTwoNodesNeedIsPaidOnce) {
  zoo::Builder b("fork");
  const auto x = b.input("x", {{2, 4, 3, 3}});
  const auto left = b.op("aten.relu.default", {ref(x)}), right = b.op("aten.neg.default", {ref(x)});
  b.output(b.op("aten.add.Tensor", {ref(left), ref(right)}));
  const auto graph = specialized(b.take());
  const auto states = spread_states(graph, {{true, false}});
  auto nodes = ask_strategies(graph, states, kMembers, {});
  for (auto& node : nodes) {
    node.candidates.resize(1);
    node.candidates[0].offer = {
        std::vector<Layout>(node.operands.size(), Layout::kPacked), {Layout::kPacked}, 1};
  }
  const auto found = search_layouts(graph, states, nodes, any_conversion(10));
  ASSERT_EQ(found.conversions.size(), 2u) << "the input once, the output once";
  EXPECT_EQ(found.conversions[0].value, graph.inputs[0].value);
  EXPECT_EQ(found.conversions[1].node, graph.nodes.size());
  EXPECT_DOUBLE_EQ(found.cost, 3 + 20);
}

}  // namespace
}  // namespace wide::test
