#pragma once
// Inputs, outputs and golden files of `widebench run`, by the keys of the command line's contract.

#include <filesystem>
#include <string>
#include <vector>

#include "core/compare.h"
#include "core/wide_model.h"
#include "formats/safetensors.h"

namespace wide::app {

/// Reads `input.K` (shared by all members) or `MEMBER.input.K` for every user input K of `model`. A second
/// copy of a file ("seed0#2") reads the keys of the first. Throws wide::Error ("run") naming the file and the
/// missing key.
std::vector<ModelInput> read_inputs(const std::filesystem::path& file, const WideModel& model);

/// Writes `MEMBER.output.K` for every tensor output, numbers as scalars; None is left out.
void write_outputs(const std::filesystem::path& file, const WideModel& model,
                   const std::vector<ModelOutput>& outputs);

/// Writes `MEMBER.buffer.FQN` for every buffer that the pass wrote.
void write_buffers(const std::filesystem::path& file, const WideModel& model);

/// One comparison with a golden file.
struct Expectation {
  std::string member;
  std::size_t output = 0;
  Difference difference;
  Tolerance tolerance;
};

/// Compares every output with `MEMBER.output.K` of `file`. Given bounds replace the ones derived from dtype
/// and depth. Throws wide::Error ("expect") naming the file and the missing key.
std::vector<Expectation> compare_outputs(const std::filesystem::path& file, const WideModel& model,
                                         const std::vector<ModelOutput>& outputs, std::int64_t depth,
                                         std::optional<double> rtol, std::optional<double> atol);

}  // namespace wide::app
