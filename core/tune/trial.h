#pragma once
// A candidate by itself, on made-up operands: what the tuner times.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "core/plan/costs.h"

namespace wide {

/// Bytes of a node's weights, all members'. Where they are more, each candidate packs a copy that shows.
inline constexpr std::int64_t kPackedMuch = 4LL << 20;
std::int64_t constant_bytes(const NodeCandidates& node, const std::vector<bool>& constant);

/// Made-up values of an operand in this layout: positive floats, and integers that are valid as indices of
/// anything.
at::Tensor operand_in(const Operand& operand, Layout layout, std::int64_t members, at::Device device);

/// Operands too large for any cache, by place and layout: all candidates may read the same memory. Where
/// weights are much, all operands but these: what packs them reads them no more.
using LargeOperands = std::map<std::pair<std::size_t, Layout>, at::Tensor>;

/// A candidate ready to run again and again. Throws what its strategy throws when it is prepared.
std::function<void()> runnable(const NodeCandidates& node, const Candidate& candidate,
                               const std::vector<bool>& constant, LargeOperands& large);

}  // namespace wide
