#pragma once
// Layouts of a whole graph: which candidate each node takes, so that operators and conversions together cost
// least.

#include <functional>
#include <vector>

#include "core/strategy/candidates.h"

namespace wide {

/// Nanoseconds of changing a value's layout once in a pass.
using ConversionCost = std::function<double(const ConcreteType& type, Layout from, Layout to)>;

/// A value that must change its layout before a node uses it.
struct Conversion {
  ValueId value = -1;
  Layout from = Layout::kShared, to = Layout::kShared;
  bool copies = false;   ///< false: a view
  double cost = 0;       ///< nanoseconds, as the search counted them
  std::size_t node = 0;  ///< the first node that needs it; Graph::nodes.size() for the model's outputs
};

struct LayoutChoice {
  std::vector<std::size_t> candidates;  ///< by node, into NodeCandidates::candidates; 0 where there is none
  std::vector<Layout> layouts;          ///< by value: in which it is made
  std::vector<Conversion> conversions;  ///< in the order of their need; those of constants are not counted
  double cost = 0;                      ///< nanoseconds of a pass
  bool exact = true;                    ///< no state had to be dropped: nothing cheaper exists
};

/// Dynamic programming along the nodes: a state says in which layouts each live value is at hand. Exact while
/// no step has more than `width` states; beyond, the cheapest are kept (a beam search).
LayoutChoice search_layouts(const Graph& graph, const std::vector<ValueState>& states,
                            const std::vector<NodeCandidates>& nodes, const ConversionCost& conversion,
                            std::size_t width = 1024);

/// The layouts and conversions that follow from given candidates.
LayoutChoice follow(const Graph& graph, const std::vector<ValueState>& states,
                    const std::vector<NodeCandidates>& nodes, const ConversionCost& conversion,
                    std::vector<std::size_t> candidates);

}  // namespace wide
