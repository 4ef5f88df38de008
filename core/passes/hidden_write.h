#pragma once
// What an operator writes without saying so in its schema.

#include <cstddef>
#include <string_view>

#include "core/ir/graph.h"

namespace wide {

/// batch_norm and instance_norm in training mode write their running statistics. Indices of arguments.
struct HiddenWrite {
  std::string_view op;
  std::size_t mean, variance, training;
};

/// Null where the node writes nothing unsaid.
const HiddenWrite* hidden_write(const Node& node);

}  // namespace wide
