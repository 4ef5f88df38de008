#pragma once
// Inputs, outputs and golden files of `widebench run`, by the keys of the command line's contract.

#include <filesystem>
#include <string>
#include <vector>

#include "core/ir/compare.h"
#include "core/model/wide_model.h"
#include "core/prove/prove.h"
#include "formats/safetensors.h"

namespace wide::app {

/// The K of `input.K` for user input `k` of `model`: its place among all that the model is called with.
/// Constants given at export count too, as they do among outputs.
std::int64_t input_number(const WideModel& model, std::size_t k);

/// Reads `input.K` (shared by all members) or `MEMBER.input.K` for every user input of `model`, K as
/// input_number() says, or, where the file does not have all of those, as its place among the tensors. A
/// second copy of a file ("seed0#2") reads the keys of the first. Throws wide::Error ("run") naming the file
/// and the missing key.
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
  std::string precision;  ///< what the tolerance goes by: "float32", "bfloat16 of %linear on the way"
};

/// Compares every output with `MEMBER.output.K` of `file`. Given bounds replace the ones derived from
/// `graph`, the canonical one that was run. Throws wide::Error ("expect") naming the file and the missing
/// key.
std::vector<Expectation> compare_outputs(const std::filesystem::path& file, const WideModel& model,
                                         const std::vector<ModelOutput>& outputs, const Graph& graph,
                                         std::optional<double> rtol, std::optional<double> atol);

/// Members that `file` has outputs of and `model` lacks, in the file's order.
std::vector<std::string> members_only_expected(const std::filesystem::path& file, const WideModel& model);

/// The model's outputs on `inputs` against those of `file`, by another program: a fault of reading the model
/// shows there only, as members alone are run from the same graph. The model is reset.
ProofCheck check_expected(const std::filesystem::path& file, WideModel& model,
                          std::span<const ModelInput> inputs);

}  // namespace wide::app
