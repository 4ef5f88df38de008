#pragma once
// The body of a group as the steps of a TileProgram.

#include <algorithm>
#include <cstdint>
#include <variant>
#include <vector>

#include "core/strategy/group.h"
#include "primitives/kernels/activate.h"
#include "primitives/kernels/tile_program.h"

namespace wide::group_primitive {

inline kernels::TileProgram::Source source_of(const Graph& body, const Argument& operand) {
  using Program = kernels::TileProgram;
  if (const auto* real = std::get_if<double>(&operand.value)) return static_cast<float>(*real);
  if (const auto* whole = std::get_if<std::int64_t>(&operand.value)) return static_cast<float>(*whole);
  const auto id = operand.ref()->id;
  const auto input = std::ranges::find(body.inputs, id, &GraphInput::value);
  if (input != body.inputs.end())
    return Program::Input{static_cast<std::size_t>(input - body.inputs.begin())};
  const auto maker = std::ranges::find(body.nodes, id, [](const Node& node) { return node.results[0]; });
  return Program::Result{static_cast<std::size_t>(maker - body.nodes.begin())};
}

/// In the order of the body's nodes, each of which must have a step (group_step()).
inline std::vector<kernels::TileProgram::Step> steps_of(const Graph& body) {
  std::vector<kernels::TileProgram::Step> steps;
  for (const auto& node : body.nodes) {
    const auto step = group_step(body, node);
    steps.push_back({step->function, {}});
    for (const auto& operand : step->operands) steps.back().operands.push_back(source_of(body, operand));
    if (step->function == "gelu") steps.back().operands.emplace_back(kernels::gelu_of_infinity());
  }
  return steps;
}

}  // namespace wide::group_primitive
