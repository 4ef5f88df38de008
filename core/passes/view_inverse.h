#pragma once
// What must be written into a view's parent when the view is written.

#include <optional>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace wide {

/// Stand-ins inside ViewInverse::arguments; what else they name are values that the view names.
inline constexpr ValueId kInverseParent = -2;  ///< the parent's current value
inline constexpr ValueId kInverseValue = -3;   ///< the new value of the view

/// A node that gives the parent's new value.
struct ViewInverse {
  std::string op;
  std::vector<Argument> arguments;
};

/// For result `result` of `view` taken of a parent of type `parent`; nothing when the view cannot be
/// inverted.
std::optional<ViewInverse> invert_view(const Node& view, std::size_t result, const ConcreteType& parent);

}  // namespace wide
