#pragma once
// Inputs for a model when the user gives none.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model/wide_model.h"

namespace wide::app {

/// Distinct inputs per member. Where the file has what the exporter called the model with, they are like it:
/// rows in another order, and floats within the same range. Otherwise of the shapes and dtypes that the graph
/// says; symbolic sizes take the exporter's hint or a small number in range, floats are normal, and integers
/// are drawn from {0, 1}, which every table and index has. Throws wide::Error ("run") when the graph does not
/// say an input's type.
std::vector<ModelInput> made_up_inputs(const WideModel& model, std::uint64_t seed);

/// The stage of an error that says so of made-up inputs: the case is skipped, the model has not failed.
inline constexpr std::string_view kRefusedInputs = "inputs";

/// After a run on made-up inputs has thrown: throws wide::Error (kRefusedInputs), which asks for --inputs,
/// where some member alone refuses them too, so that nothing is known of the model.
void blame_made_up_inputs(const WideModel& model, std::span<const ModelInput> inputs);

/// The same where the model lies: no pass shall pay for moving its inputs.
std::vector<ModelInput> on_device(std::vector<ModelInput> inputs, at::Device device);

/// From `file` when it is given (see tensor_files.h), else made up.
std::vector<ModelInput> inputs_for(const WideModel& model, const std::string& file, std::uint64_t seed);

}  // namespace wide::app
