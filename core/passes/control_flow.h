#pragma once
// Nodes over graphs (see higher_order.h) written out as nodes of the graph around them, where that is known
// to give the same.

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/ir/graph.h"

namespace wide {

/// How a node over graphs can be written out.
struct Expansion {
  enum class Kind : std::uint8_t {
    kBranch,  ///< body `count` of a cond whose predicate no member can change
    kSelect,  ///< both bodies of a cond, and a selection: legal where neither can fail or draw random numbers
    kSteps,   ///< `count` steps of a while_loop whose predicate no member can change
    kRows,    ///< the body of a map or scan for each of `count` rows
    kCasts,   ///< the body of an autocast behind casts of its operands
  };
  Kind kind;
  std::int64_t count = 0;
  std::vector<std::optional<at::ScalarType>> casts = {};
};

/// The expansion of `node` as it was run on `operands` (one per use), or nothing: it is then run as it is.
/// `from_data` says whether a value depends on numbers in tensors of a member.
std::optional<Expansion> find_expansion(const Node& node, std::span<const c10::IValue> operands,
                                        const std::function<bool(ValueId)>& from_data);

/// `graph` with these nodes, by index, written out.
Graph expand(const Graph& graph, const std::map<std::size_t, Expansion>& expansions);

}  // namespace wide
