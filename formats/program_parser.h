#pragma once
// The parts of the .pt2 reader. Internal to this folder; the entry is exported_program.h.

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "formats/archive.h"
#include "formats/exported_program.h"
#include "formats/json.h"

namespace wide::formats {

/// What is known while one file is parsed. Limits count over the whole file.
struct ProgramParsing {
  std::string versions;    ///< e.g. "schema 8.17 of torch 2.11.0", for messages
  std::size_t nodes = 0;   ///< so far, nested graphs included
  std::size_t values = 0;  ///< so far: entries of tensor_values and of sym_*_values
};

// program_tensor.cpp
Dtype parse_dtype(const Json& code, const ProgramParsing& parsing);
SymbolicInt parse_symbolic_int(const Json& json);
TensorMeta parse_tensor_meta(const Json& json, const ProgramParsing& parsing);

// program_argument.cpp, program_graph.cpp. `depth` counts the graphs around this one.
Argument parse_argument(const Json& json, ProgramParsing& parsing, int depth);
Subgraph parse_graph(const Json& json, ProgramParsing& parsing, int depth);

// program_signature.cpp. Specs in the order of the graph's inputs and outputs, checked to name the same
// values.
std::vector<InputSpec> parse_input_specs(const Json& signature, const Subgraph& graph,
                                         ProgramParsing& parsing);
std::vector<OutputSpec> parse_output_specs(const Json& signature, const Subgraph& graph,
                                           ProgramParsing& parsing);

/// program_tokens.cpp. The program without effect tokens, its graph's order says the same.
void take_out_tokens(ExportedProgram& program);

/// program_weights.cpp. The tensors of `<root>/data/<folder>/<config>`, their members read and verified.
std::map<std::string, StoredTensor> read_stored_tensors(const Archive& archive, const std::string& folder,
                                                        const std::string& config,
                                                        const ProgramParsing& parsing);

/// Throws Fault where the tensor reaches beyond its storage or is a broadcast beyond all measure.
void check_bounds(const StoredTensor& tensor);
/// Throws Fault where the storage of a bool tensor holds a byte that is neither 0 nor 1.
void check_bools(const StoredTensor& tensor);

/// program_samples.cpp. Fills ExportedProgram::samples from the member `place`, which need not be there; what
/// cannot be read without running code is a warning.
void read_samples(const Archive& archive, const std::string& place, ExportedProgram& program);

/// program_guards.cpp. Fills ExportedProgram::guards; a condition that cannot be read is a warning.
void parse_guards(const Json& json, ExportedProgram& program);

/// program_pytree.cpp. Paths of the leaves of the program's output, or a Fault when it does not have `count`
/// leaves.
std::vector<std::string> parse_output_names(const Json& graph_module, std::size_t count);

/// program_layout.cpp. Throws Fault saying what the file is when it is something else than a zip archive, or
/// an archive of another kind: TorchScript, a pickled checkpoint, torch.export of torch 2.8 and older,
/// AOTInductor.
void refuse_other_kinds(std::span<const std::byte> file);

}  // namespace wide::formats
