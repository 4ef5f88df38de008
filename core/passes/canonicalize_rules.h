#pragma once
// The table of rewrites behind canonicalize().

#include <unordered_set>

#include "core/ir/graph.h"
#include "core/ir/rewriter.h"

namespace wide {

/// A node of the old graph about to be rewritten.
struct CanonicalContext {
  const Graph& old;
  const Node& node;
  Rewriter& rewriter;
  const std::unordered_set<ValueId>& wanted;       ///< values that the outputs depend on
  const std::unordered_set<ValueId>& overlapping;  ///< values whose copies must be made, see canonicalize()

  /// Somebody uses the node's result.
  bool is_wanted(std::size_t result) const { return wanted.contains(node.results[result]); }
  ConcreteType type(ValueId id) const { return concrete(old.values[static_cast<std::size_t>(id)]); }
  ConcreteType operand_type(std::size_t argument) const { return type(node.arguments[argument].ref()->id); }
  ConcreteType result_type() const { return type(node.results[0]); }
  std::int64_t integer(std::size_t argument) const;
  std::vector<std::int64_t> integers(std::size_t argument) const;
};

/// Rewrites the node and binds its results; false when no rule applies and the node is to be copied.
bool apply_canonical_rule(const CanonicalContext& context);
bool has_canonical_rule(std::string_view op);

/// The same for what decompositions and TorchScript leave of an operator (convolution, native_layer_norm, …).
bool apply_native_rule(const CanonicalContext& context);
bool has_native_rule(std::string_view op);

/// A list of integers as an argument.
Argument int_list(const std::vector<std::int64_t>& values);

}  // namespace wide
