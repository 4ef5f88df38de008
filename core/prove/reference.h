#pragma once
// One member computed in float64: what the error figures are measured against.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/model/wide_model.h"

namespace wide {

/// Runs member `i` with every floating tensor, constant and cast in float64 (complex in complex128). One
/// tensor per user output, undefined for constants; nothing when an operator of the graph has no float64
/// kernel. The process's generator is left as it was.
std::optional<std::vector<at::Tensor>> run_double(WideModel& model, std::int64_t i,
                                                  std::span<const ModelInput> inputs);

/// By user output of a graph in which nothing writes, whether it hangs on random numbers: float64 draws
/// others.
std::vector<bool> drawn_outputs(const Graph& graph);

}  // namespace wide
