#pragma once
// A torch.export program as plain data: what a .pt2 file says, checked, and nothing executed.

#include <complex>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/dtype.h"

namespace wide::formats {

/// A symbolic integer expression, parsed from sympy's srepr and never evaluated as code.
struct Expression {
  enum class Kind : std::uint8_t {
    kInteger,
    kSymbol,
    kAdd,
    kMul,
    kPow,
    kMax,
    kMin,
    kFloorDiv,
    kMod,
    kPythonMod,
    kCeilDiv,
    kCleanDiv,
  };
  Kind kind = Kind::kInteger;
  std::int64_t integer = 0;  ///< kInteger only
  std::string symbol;        ///< kSymbol only, e.g. "s77"
  std::vector<Expression> operands;

  friend bool operator==(const Expression&, const Expression&) = default;
};

/// A size that is a number, or an expression over the program's symbols.
using SymbolicInt = std::variant<std::int64_t, Expression>;

struct TensorMeta {
  Dtype dtype = Dtype::kFloat32;
  std::vector<SymbolicInt> sizes;
  std::vector<SymbolicInt> strides;
  SymbolicInt storage_offset = std::int64_t{0};
  bool requires_grad = false;
};

struct Subgraph;
struct None {};
/// Reference to a tensor value
struct TensorName {
  std::string name;
};
/// Reference to a symbolic int/bool/float value
struct SymbolName {
  std::string name;
};
struct DeviceName {
  std::string type;
  std::optional<int> index;
};
/// Serialized enum: 1 contiguous, 2 channels_last, 3 channels_last_3d, 4 preserve
struct MemoryFormat {
  int code;
};
/// Serialized enum: 7 strided
struct TensorLayout {
  int code;
};
struct OperatorName {
  std::string name;
};

/// One argument or result of a node. Lists of any kind are a vector<Argument>.
struct Argument {
  std::variant<None, TensorName, SymbolName, bool, std::int64_t, double, std::complex<double>, std::string,
               Dtype, MemoryFormat, TensorLayout, DeviceName, OperatorName, std::vector<Argument>,
               std::shared_ptr<const Subgraph>>
      value;
};

struct NamedArgument {
  std::string name;
  Argument value;
  bool keyword = false;
};

struct ProgramNode {
  std::string target;  ///< "torch.ops.aten.linear.default", "_operator.mul", …
  std::string name;
  std::vector<NamedArgument> inputs;  ///< arguments at their default are absent; without a name by place
  std::vector<Argument> outputs;      ///< TensorName, SymbolName, None, or a list of those
  std::string module_path;            ///< innermost module of nn_module_stack, "" at the root
};

/// One graph: the program's own, or one nested in a higher-order operator.
struct Subgraph {
  std::vector<Argument> inputs, outputs;
  std::vector<ProgramNode> nodes;
  std::map<std::string, TensorMeta> tensors;
  std::map<std::string, SymbolicInt> symbolic_ints;  ///< sym_int_values
};

struct InputSpec {
  enum class Kind : std::uint8_t {
    kUserInput,
    kParameter,
    kBuffer,
    kTensorConstant,
    kConstantInput,
    kToken,  ///< while a file is read; none is left in a program
  };
  Kind kind;
  Argument argument;       ///< TensorName or SymbolName in the graph; for kConstantInput the constant itself
  std::string target;      ///< fqn of the parameter, buffer or constant
  bool persistent = true;  ///< buffers only
};

struct OutputSpec {
  enum class Kind : std::uint8_t {
    kUserOutput,
    kBufferMutation,  ///< a parameter that is written, too
    kUserInputMutation,
    kLoss,  ///< of a training step, as the gradients are
    kParameterGradient,
    kUserInputGradient,
    kToken,  ///< as that of an input
  };
  Kind kind;
  Argument argument;
  std::string target;  ///< fqn of the buffer or parameter, name of the input; empty for kUserOutput and kLoss
};

struct Range {
  std::optional<std::int64_t> min, max;
};

/// A tensor as stored: a strided view of raw bytes that other tensors may share. Bounds already checked.
struct StoredTensor {
  std::shared_ptr<const std::vector<std::byte>> storage;
  std::string storage_name;  ///< archive member, for messages and to see sharing
  Dtype dtype = Dtype::kFloat32;
  std::vector<std::int64_t> sizes, strides;
  std::int64_t storage_offset = 0;  ///< in elements
};

/// A .pt2 file, read whole and checked.
struct ExportedProgram {
  Subgraph graph;
  std::vector<InputSpec> inputs;                  ///< in the order of graph.inputs
  std::vector<OutputSpec> outputs;                ///< in the order of graph.outputs
  std::map<std::string, Range> ranges;            ///< by symbol
  std::vector<std::string> guards;                ///< conditions on symbols, guard.h; all are to hold
  std::map<std::string, StoredTensor> weights;    ///< parameters and persistent buffers by fqn
  std::map<std::string, StoredTensor> constants;  ///< lifted constants and non-persistent buffers by fqn
  std::vector<std::string>
      output_names;  ///< pytree paths of the user outputs ("0", "logits", "aux.1"), may be empty
  /// What the exporter called the model with: the leaves of args, then of kwargs, one for each user input and
  /// constant input in order; nothing for a leaf that is no tensor. Empty where the file has none that can be
  /// read without running code; a warning then says why.
  std::vector<std::optional<StoredTensor>> samples;
  std::string torch_version;
  int schema_major = 0, schema_minor = 0;
  std::vector<std::string> warnings;  ///< e.g. a member without a checksum
};

/// Reads and checks `path`, verifying the checksum of every archive member used. Throws wide::Error ("load").
ExportedProgram read_exported_program(const std::filesystem::path& path);

/// The same for a file in memory; `name` stands in messages.
ExportedProgram parse_exported_program(std::vector<std::byte> file, std::string_view name);

}  // namespace wide::formats
