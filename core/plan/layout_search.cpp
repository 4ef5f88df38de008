#include "core/plan/layout_search.h"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

namespace wide {
namespace {

// The layouts in which a value is at hand, a bit each.
using Mask = char;

Mask bit(Layout layout) {
  return static_cast<Mask>(1 << static_cast<int>(layout));
}

constexpr int kLayouts = 8;

struct Cheapest {
  Layout from;
  double cost;
};

Cheapest cheapest_source(Mask at_hand, Layout to, const ConcreteType& type, const ConversionCost& cost) {
  Cheapest best{Layout::kShared, std::numeric_limits<double>::infinity()};
  for (int i = 0; i < kLayouts; ++i) {
    const auto from = static_cast<Layout>(i);
    if ((at_hand & bit(from)) == 0) continue;
    if (const double one = cost(type, from, to); one < best.cost) best = {from, one};
  }
  return best;
}

// What is done once, at build, costs next to nothing: it only tells plans apart that are equal else.
constexpr double kAtBuild = 1e-6;

// What stays of a graph for the search: values that live across nodes.
class Frame {
 public:
  Frame(const Graph& graph, const std::vector<ValueState>& states, const std::vector<NodeCandidates>& nodes,
        const ConversionCost& cost)
      : graph_(graph), states_(states), nodes_(nodes), cost_(cost), last_use_(graph.values.size(), kNever) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      for (const auto id : nodes[i].operands) last_use_[index(id)] = i;
    }
    is_output_.resize(graph.values.size());
    for (const auto& output : graph.outputs) {
      for_each_use(output.value, [&](ValueId id) { is_output_[index(id)] = true; });
    }
  }

  static constexpr std::size_t kNever = static_cast<std::size_t>(-1);

  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  const ValueState& state(ValueId id) const { return states_[index(id)]; }
  bool counts(ValueId id) const { return id >= 0 && !state(id).constant; }
  bool lives_after(ValueId id, std::size_t node) const {
    return last_use_[index(id)] != kNever && last_use_[index(id)] > node;
  }
  ConcreteType type(ValueId id) const { return concrete(graph_.values[index(id)]); }
  const Graph& graph() const { return graph_; }
  const NodeCandidates& node(std::size_t i) const { return nodes_[i]; }
  std::size_t size() const { return nodes_.size(); }

  /// Of running a node in a pass.
  double cost(std::size_t i, const Offer& offer) const {
    const auto& results = graph_.nodes[i].results;
    const bool in_passes =
        std::any_of(results.begin(), results.end(), [&](ValueId id) { return counts(id); });
    return in_passes ? offer.cost : kAtBuild * offer.cost;
  }

  // The layout that a model's output has to have.
  bool leaves_in_front(ValueId id) const { return is_output_[index(id)] && state(id).mapped; }
  Layout front(ValueId id) const { return state(id).mapped ? Layout::kFront : Layout::kShared; }

  /// Makes `value` available in `to`; reports what it took.
  template <typename Report>
  double reach(ValueId id, Mask& at_hand, Layout to, const Report& report) const {
    if ((at_hand & bit(to)) != 0) return 0;
    const auto source = cheapest_source(at_hand, to, type(id), cost_);
    at_hand = static_cast<Mask>(at_hand | bit(to));
    report(source.from, source.cost);
    return source.cost;
  }

 private:
  const Graph& graph_;
  const std::vector<ValueState>& states_;
  const std::vector<NodeCandidates>& nodes_;
  const ConversionCost& cost_;
  std::vector<std::size_t> last_use_;
  std::vector<bool> is_output_;
};

const Offer* offer_of(const NodeCandidates& node, std::size_t candidate) {
  return node.kind == NodeKind::kMapped ? &node.candidates[candidate].offer : nullptr;
}

// Candidates that are cheapest among those with the same layouts at both ends.
std::vector<std::size_t> distinct_candidates(const Frame& frame, std::size_t node) {
  const auto& one = frame.node(node);
  if (one.kind != NodeKind::kMapped) return {0};
  std::map<std::string, std::size_t> best;
  for (std::size_t c = 0; c < one.candidates.size(); ++c) {
    const auto& offer = one.candidates[c].offer;
    std::string key;
    for (std::size_t k = 0; k < one.operands.size(); ++k) {
      if (frame.counts(one.operands[k])) key += static_cast<char>('a' + static_cast<int>(offer.operands[k]));
    }
    for (const auto layout : offer.results) key += static_cast<char>('A' + static_cast<int>(layout));
    const auto [place, fresh] = best.emplace(key, c);
    if (!fresh && offer.cost < one.candidates[place->second].offer.cost) place->second = c;
  }
  std::vector<std::size_t> chosen;
  for (const auto& [key, candidate] : best) chosen.push_back(candidate);
  return chosen;
}

struct State {
  double cost = 0;
  std::size_t parent = 0, candidate = 0;
};

// One step's states; a state's key holds the mask of each live value, in the order of `live`.
struct Step {
  std::vector<ValueId> live;
  std::vector<std::string> keys;
  std::vector<State> states;
};

class Search {
 public:
  Search(const Frame& frame, std::size_t width) : frame_(frame), width_(width) {}

  std::vector<std::size_t> run(bool& exact) {
    steps_.push_back(first());
    for (std::size_t i = 0; i < frame_.size(); ++i) {
      steps_.push_back(advance(steps_.back(), i));
      exact = thin(steps_.back()) && exact;
    }
    return trace_back();
  }

 private:
  Step first() const {
    Step step;
    std::string key;
    for (const auto& input : frame_.graph().inputs) {
      if (!frame_.counts(input.value)) continue;
      step.live.push_back(input.value);
      key += bit(frame_.front(input.value));
    }
    step.keys.push_back(std::move(key));
    step.states.emplace_back();
    return step;
  }

  Step advance(const Step& from, std::size_t node) const {
    const auto& one = frame_.node(node);
    const auto options = distinct_candidates(frame_, node);
    Step to;
    std::vector<std::size_t> kept;  // places in from.live
    for (std::size_t k = 0; k < from.live.size(); ++k) {
      if (frame_.lives_after(from.live[k], node)) kept.push_back(k), to.live.push_back(from.live[k]);
    }
    std::vector<std::size_t> places;  // of the operands in from.live
    for (const auto id : one.operands) {
      const auto found = std::find(from.live.begin(), from.live.end(), id);
      places.push_back(static_cast<std::size_t>(found - from.live.begin()));
    }
    const auto& results = frame_.graph().nodes[node].results;
    for (const auto id : results) {
      if (frame_.counts(id) && frame_.lives_after(id, node)) to.live.push_back(id);
    }
    std::unordered_map<std::string, std::size_t> known;
    for (std::size_t s = 0; s < from.states.size(); ++s) {
      for (const auto candidate : options) {
        auto masks = from.keys[s];
        double cost = from.states[s].cost + enter(node, candidate, places, masks);
        std::string key;
        for (const auto place : kept) key += masks[place];
        cost += leave(node, candidate, key);
        const auto [entry, fresh] = known.emplace(std::move(key), to.states.size());
        if (fresh) {
          to.keys.push_back(entry->first);
          to.states.push_back({cost, s, candidate});
        } else if (cost < to.states[entry->second].cost) {
          to.states[entry->second] = {cost, s, candidate};
        }
      }
    }
    return to;
  }

  // The node itself, and its operands brought into the layouts it wants.
  double enter(std::size_t node, std::size_t candidate, const std::vector<std::size_t>& places,
               std::string& masks) const {
    const auto& one = frame_.node(node);
    const auto* offer = offer_of(one, candidate);
    if (!offer) return 0;
    double cost = frame_.cost(node, *offer);
    for (std::size_t k = 0; k < one.operands.size(); ++k) {
      if (!frame_.counts(one.operands[k])) continue;
      cost += frame_.reach(one.operands[k], masks[places[k]], offer->operands[k], [](Layout, double) {});
    }
    return cost;
  }

  // The results: in the layouts made, and in front where they leave the model.
  double leave(std::size_t node, std::size_t candidate, std::string& key) const {
    const auto* offer = offer_of(frame_.node(node), candidate);
    const auto& results = frame_.graph().nodes[node].results;
    double cost = 0;
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (!frame_.counts(results[k])) continue;
      Mask mask = bit(offer ? offer->results[k] : Layout::kShared);
      if (frame_.leaves_in_front(results[k]))
        cost += frame_.reach(results[k], mask, Layout::kFront, [](Layout, double) {});
      if (frame_.lives_after(results[k], node)) key += mask;
    }
    return cost;
  }

  bool thin(Step& step) const {
    if (step.states.size() <= width_) return true;
    std::vector<std::size_t> order(step.states.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto cheaper = [&](std::size_t a, std::size_t b) {
      return step.states[a].cost < step.states[b].cost;
    };
    std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(width_), order.end(),
                     cheaper);
    order.resize(width_);
    Step rest{step.live, {}, {}};
    for (const auto i : order) rest.keys.push_back(step.keys[i]), rest.states.push_back(step.states[i]);
    step = std::move(rest);
    return false;
  }

  std::vector<std::size_t> trace_back() const {
    std::vector<std::size_t> chosen(frame_.size());
    const auto& last = steps_.back().states;
    auto at = static_cast<std::size_t>(
        std::min_element(last.begin(), last.end(),
                         [](const State& a, const State& b) { return a.cost < b.cost; }) -
        last.begin());
    for (std::size_t i = frame_.size(); i-- > 0;) {
      const auto& state = steps_[i + 1].states[at];
      chosen[i] = state.candidate;
      at = state.parent;
    }
    return chosen;
  }

  const Frame& frame_;
  std::size_t width_;
  std::vector<Step> steps_;
};

}  // namespace

LayoutChoice follow(const Graph& graph, const std::vector<ValueState>& states,
                    const std::vector<NodeCandidates>& nodes, const ConversionCost& conversion,
                    std::vector<std::size_t> candidates) {
  const Frame frame(graph, states, nodes, conversion);
  LayoutChoice choice;
  choice.candidates = std::move(candidates);
  choice.layouts.resize(graph.values.size());
  std::vector<Mask> at_hand(graph.values.size());
  const auto make = [&](ValueId id, Layout layout) {
    choice.layouts[Frame::index(id)] = layout;
    at_hand[Frame::index(id)] = bit(layout);
  };
  const auto reach = [&](ValueId id, Layout to, std::size_t node) {
    if (!frame.counts(id)) return;
    choice.cost += frame.reach(id, at_hand[Frame::index(id)], to, [&](Layout from, double cost) {
      const auto members = nodes.empty() ? 1 : nodes[0].call.members;
      choice.conversions.push_back({id, from, to, !is_free(from, to, frame.type(id), members), cost, node});
    });
  };
  for (const auto& input : graph.inputs) make(input.value, frame.front(input.value));
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto* offer = offer_of(nodes[i], choice.candidates[i]);
    if (offer) {
      choice.cost += frame.cost(i, *offer);
      for (std::size_t k = 0; k < nodes[i].operands.size(); ++k)
        reach(nodes[i].operands[k], offer->operands[k], i);
    }
    const auto& results = graph.nodes[i].results;
    for (std::size_t k = 0; k < results.size(); ++k) {
      if (results[k] >= 0) make(results[k], offer ? offer->results[k] : Layout::kShared);
    }
  }
  for (const auto& output : graph.outputs) {
    for_each_use(output.value, [&](ValueId id) {
      if (frame.leaves_in_front(id)) reach(id, Layout::kFront, nodes.size());
    });
  }
  return choice;
}

LayoutChoice search_layouts(const Graph& graph, const std::vector<ValueState>& states,
                            const std::vector<NodeCandidates>& nodes, const ConversionCost& conversion,
                            std::size_t width) {
  const Frame frame(graph, states, nodes, conversion);
  bool exact = true;
  auto candidates = Search(frame, width).run(exact);
  auto choice = follow(graph, states, nodes, conversion, std::move(candidates));
  choice.exact = exact;
  return choice;
}

}  // namespace wide
