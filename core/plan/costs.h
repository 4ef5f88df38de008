#pragma once
// What planning asks for the costs of what it may choose. Who answers, by measuring or not, lies above.

#include <cstdint>
#include <vector>

#include "core/ir/layout.h"
#include "core/strategy/candidates.h"

namespace wide {

class Costs {
 public:
  virtual ~Costs() = default;
  /// Drops candidates that cannot be best by far, and gives the others the costs that are known best.
  virtual void settle(NodeCandidates& node, const std::vector<ValueState>& states) = 0;
  /// Nanoseconds of changing a layout once.
  virtual double conversion(const ConcreteType& type, Layout from, Layout to, std::int64_t members) = 0;
};

}  // namespace wide
