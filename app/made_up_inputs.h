#pragma once
// Inputs for a model when the user gives none.

#include <cstdint>
#include <string>
#include <vector>

#include "core/wide_model.h"

namespace wide::app {

/// Distinct inputs per member, of the shapes and dtypes that the graph says; symbolic sizes take the
/// exporter's hint or a small number in range. Floats are normal; integers are drawn from {0, 1}, which every
/// table and index has. Throws wide::Error ("run") when the graph does not say an input's type.
std::vector<ModelInput> made_up_inputs(const WideModel& model, std::uint64_t seed);

/// From `file` when it is given (see tensor_files.h), else made up.
std::vector<ModelInput> inputs_for(const WideModel& model, const std::string& file, std::uint64_t seed);

}  // namespace wide::app
