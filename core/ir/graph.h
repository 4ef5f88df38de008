#pragma once
// The graph: SSA over tensors and symbolic scalars, nodes are plain data named by their ATen operator.

#include <ATen/core/Tensor.h>

#include <complex>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "formats/exported_program.h"

namespace wide {

using ValueId = std::int32_t;

/// A use of a value.
struct ValueRef {
  ValueId id;
  bool operator==(const ValueRef&) const = default;
};

/// A constant, a use of a value, or a list of those. std::monostate is None.
struct Argument {
  using List = std::vector<Argument>;
  std::variant<std::monostate, ValueRef, bool, std::int64_t, double, std::complex<double>, std::string,
               at::ScalarType, at::MemoryFormat, at::Layout, at::Device, List>
      value;

  bool is_none() const { return std::holds_alternative<std::monostate>(value); }
  const ValueRef* ref() const { return std::get_if<ValueRef>(&value); }
  const List* list() const { return std::get_if<List>(&value); }
  /// An integer or a real number.
  std::optional<double> number() const {
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
    const auto* real = std::get_if<double>(&value);
    return real ? std::optional(*real) : std::nullopt;
  }
  bool operator==(const Argument&) const = default;
};

/// Element type and sizes of a tensor. Sizes may hold symbols until the graph is specialized.
struct TensorType {
  at::ScalarType dtype = at::kFloat;
  std::vector<formats::SymbolicInt> sizes;
  bool varies = false;  ///< the sizes depend on numbers in tensors: those here are one member's in one pass
};

/// Element type and concrete sizes.
struct ConcreteType {
  at::ScalarType dtype = at::kFloat;
  std::vector<std::int64_t> shape;
  bool varies = false;  ///< as TensorType::varies
  std::int64_t rank() const { return static_cast<std::int64_t>(shape.size()); }
  std::int64_t elements() const;
  /// Bytes of one member's tensor.
  std::int64_t bytes() const;
  bool operator==(const ConcreteType&) const = default;
};

/// A value of the graph. Its id is its index in Graph::values.
struct Value {
  std::string name;                ///< unique, as in the file
  bool tensor = true;              ///< false: an int, float or bool
  std::optional<TensorType> type;  ///< absent when the source does not say; of a number only once specialized
};

struct Graph;

struct Node {
  std::string op;                   ///< "aten.linear.default"; "sym.mul" for arithmetic on sizes
  std::vector<Argument> arguments;  ///< in schema order, defaults filled in
  std::vector<ValueId> results;     ///< -1 for a result that nobody uses
  std::string module_path;          ///< where in the model it comes from, "" at the root
  std::vector<std::shared_ptr<const Graph>> bodies = {};  ///< of a higher-order operator, see higher_order.h
};

enum class InputKind : std::uint8_t { kUser, kParameter, kBuffer, kConstant };
enum class OutputKind : std::uint8_t { kUser, kBufferMutation };

/// How a tensor lies in memory.
struct InMemory {
  std::vector<std::int64_t> axes;      ///< side by side in this order, from the largest stride on
  std::optional<std::int64_t> offset;  ///< of its storage; absent where it does not count
};

struct GraphInput {
  ValueId value = -1;
  InputKind kind = InputKind::kUser;
  std::string target;      ///< fqn of a parameter, buffer or constant; the argument's name for user inputs
  bool persistent = true;  ///< buffers: kept in checkpoints
  /// kUser: its number among all that the model is called with, constants included; -1: the file does not
  /// say.
  std::int64_t place = -1;
  at::Tensor sample = {};  ///< kUser: what the exporter called the model with; undefined where not known
  /// kUser: its memory is read as it was at the export, and has to lie so in each run; absent: its values
  /// are.
  std::optional<InMemory> in_memory = {};
};

struct GraphOutput {
  Argument value;  ///< a value, or a constant the model returns as it is
  OutputKind kind = OutputKind::kUser;
  std::string target;  ///< kUser: pytree path, may be empty; kBufferMutation: fqn of the buffer
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<GraphInput> inputs;
  std::vector<Node> nodes;
  std::vector<GraphOutput> outputs;
  std::map<std::string, formats::Range> ranges;  ///< what the exporter promised of each symbol
  std::vector<std::string> guards;               ///< conditions on symbols, as formats/guard.h reads them
  at::Device device = at::kCPU;                  ///< where its tensors lie and its operators run
  std::vector<ValueId> in_order;  ///< captured: contiguous in each run, as as_strided reads them

  ValueId add_value(std::string value_name, bool tensor, std::optional<TensorType> type = std::nullopt);
  /// A name not used yet, made from `stem`.
  std::string unique_name(std::string_view stem) const;
  /// Whether a run changes what the input holds: one of the outputs is its new content.
  bool writes(const GraphInput& input) const;
};

/// A node whose uses are numbered 0, 1, … in order of appearance, and the values they stand for.
struct LocalNode {
  Node node;                      ///< ValueRef{k} means operands[k]
  std::vector<ValueId> operands;  ///< one entry per use; a value used twice stands twice
};
LocalNode localize(const Node& node);

/// Calls `visit` for every value used in `argument`, in order.
void for_each_use(const Argument& argument, const std::function<void(ValueId)>& visit);
void for_each_use(const Node& node, const std::function<void(ValueId)>& visit);
/// Replaces each used value by what `map` gives for it.
void map_uses(Argument& argument, const std::function<Argument(ValueId)>& map);

/// Who makes and who reads the values of a graph, which must outlive it; by value.
struct Connections {
  explicit Connections(const Graph& graph);
  std::vector<const Node*> maker;   ///< nullptr: an input
  std::vector<const Node*> reader;  ///< the last node that reads it; nullptr: none
  std::vector<int> reads;           ///< how often nodes and outputs read it
};

/// Its size is known only when the model runs, or it is a number read out of a tensor: such values are kept
/// member by member, and no strategy but `sequential` sees them.
bool depends_on_data(const Value& value);
/// Some operand or result of the node does.
bool depends_on_data(const Graph& graph, const Node& node);

/// The type with all sizes known. Throws wide::Error when a symbol is left or no type is recorded.
ConcreteType concrete(const Value& value);
TensorType as_type(const ConcreteType& type);

/// Where a node is, for messages: "%7 aten.linear.default (encoder.layer1)".
std::string describe(const Graph& graph, const Node& node);

}  // namespace wide
