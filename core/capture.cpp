#include "core/capture.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/operators.h"
#include "core/scalar_ops.h"
#include "core/torch_bridge.h"
#include "formats/error.h"

namespace wide {
namespace {

constexpr std::string_view kOpsPrefix = "torch.ops.";
constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";
constexpr int kMaxNesting = 16;

[[noreturn]] void refuse(const formats::ProgramNode& node, const std::string& why) {
  throw Error("capture", "node '" + node.name + "' " + node.target + ": " + why);
}

// The codes of torch/_export/serde/schema.py.
at::MemoryFormat memory_format(const formats::ProgramNode& node, int code) {
  switch (code) {
    case 1:
      return at::MemoryFormat::Contiguous;
    case 2:
      return at::MemoryFormat::ChannelsLast;
    case 3:
      return at::MemoryFormat::ChannelsLast3d;
    case 4:
      return at::MemoryFormat::Preserve;
    default:
      refuse(node, "unknown memory format " + std::to_string(code));
  }
}

class Capture {
 public:
  Capture(const formats::ExportedProgram& program, Graph& graph) : program_(program), graph_(graph) {}

  void run() {
    declare_inputs();
    for (const auto& node : program_.graph.nodes) add(program_.graph, node, names_, 0);
    for (const auto& output : program_.outputs) declare_output(output);
  }

 private:
  using Names = std::unordered_map<std::string, Argument>;

  Argument fresh(const formats::Subgraph& scope, const std::string& name, bool tensor) {
    std::optional<TensorType> type;
    if (tensor) {
      if (const auto meta = scope.tensors.find(name); meta != scope.tensors.end()) {
        type = TensorType{scalar_type(meta->second.dtype), meta->second.sizes};
      }
    }
    const auto unique = used_.insert(name).second ? name : graph_.unique_name(name);
    used_.insert(unique);
    return {ValueRef{graph_.add_value(unique, tensor, std::move(type))}};
  }

  void declare_inputs() {
    for (const auto& spec : program_.inputs) {
      GraphInput input;
      input.target = spec.target;
      input.persistent = spec.persistent;
      switch (spec.kind) {
        case formats::InputSpec::Kind::kUserInput:
          input.kind = InputKind::kUser;
          break;
        case formats::InputSpec::Kind::kParameter:
          input.kind = InputKind::kParameter;
          break;
        case formats::InputSpec::Kind::kBuffer:
          input.kind = InputKind::kBuffer;
          break;
        case formats::InputSpec::Kind::kTensorConstant:
          input.kind = InputKind::kConstant;
          break;
        case formats::InputSpec::Kind::kConstantInput:
          continue;  // already written into the nodes
      }
      if (const auto* tensor = std::get_if<formats::TensorName>(&spec.argument.value)) {
        names_[tensor->name] = fresh(program_.graph, tensor->name, true);
        input.value = names_[tensor->name].ref()->id;
        if (input.kind == InputKind::kUser) input.target = tensor->name;
      } else if (const auto* symbol = std::get_if<formats::SymbolName>(&spec.argument.value)) {
        names_[symbol->name] = fresh(program_.graph, symbol->name, false);
        input.value = names_[symbol->name].ref()->id;
        input.target = symbol->name;
      } else {
        continue;  // a constant given at export
      }
      graph_.inputs.push_back(std::move(input));
    }
  }

  void declare_output(const formats::OutputSpec& spec) {
    if (spec.kind == formats::OutputSpec::Kind::kUserInputMutation) return;  // See Note [Written inputs]
    GraphOutput output;
    output.value = resolve_output(spec.argument);
    output.target = spec.target;
    if (spec.kind == formats::OutputSpec::Kind::kBufferMutation) {
      output.kind = OutputKind::kBufferMutation;
    } else if (user_outputs_ < program_.output_names.size()) {
      output.target = program_.output_names[user_outputs_];
    }
    user_outputs_ += output.kind == OutputKind::kUser;
    graph_.outputs.push_back(std::move(output));
  }

  Argument resolve_output(const formats::Argument& argument) {
    formats::ProgramNode output_node;
    output_node.name = output_node.target = "output";
    return resolve(output_node, argument, names_);
  }

  static const Argument& lookup(const formats::ProgramNode& node, const std::string& name,
                                const Names& names) {
    const auto found = names.find(name);
    if (found == names.end()) refuse(node, "uses '" + name + "', which nothing defines before it");
    return found->second;
  }

  Argument resolve(const formats::ProgramNode& node, const formats::Argument& argument, const Names& names) {
    return std::visit(
        [&](const auto& value) -> Argument {
          using T = std::decay_t<decltype(value)>;
          if constexpr (std::is_same_v<T, formats::None>) {
            return {};
          } else if constexpr (std::is_same_v<T, formats::TensorName> ||
                               std::is_same_v<T, formats::SymbolName>) {
            return lookup(node, value.name, names);
          } else if constexpr (std::is_same_v<T, formats::Dtype>) {
            return {scalar_type(value)};
          } else if constexpr (std::is_same_v<T, formats::MemoryFormat>) {
            return {memory_format(node, value.code)};
          } else if constexpr (std::is_same_v<T, formats::TensorLayout>) {
            if (value.code != 7) refuse(node, "only strided tensors are supported");
            return {at::Layout::Strided};
          } else if constexpr (std::is_same_v<T, formats::DeviceName>) {
            // Placement is ours to choose: a model exported on a GPU runs where the wide model runs.
            return {at::Device(at::kCPU)};
          } else if constexpr (std::is_same_v<T, std::vector<formats::Argument>>) {
            Argument::List items;
            for (const auto& item : value) items.push_back(resolve(node, item, names));
            return {std::move(items)};
          } else if constexpr (std::is_same_v<T, formats::OperatorName>) {
            refuse(node, "takes an operator as argument, which is not supported");
          } else if constexpr (std::is_same_v<T, std::shared_ptr<const formats::Subgraph>>) {
            refuse(node, "takes a graph as argument, which is not supported for this operator");
          } else {
            return {value};
          }
        },
        argument.value);
  }

  void add(const formats::Subgraph& scope, const formats::ProgramNode& node, Names& names, int depth) {
    if (node.target.starts_with(kHigherOrder)) return inline_graph(node, names, depth);
    Node result;
    result.module_path = node.module_path;
    if (const auto scalar = scalar_op_name(node.target)) {
      result.op = *scalar;
      for (const auto& input : node.inputs) result.arguments.push_back(resolve(node, input.value, names));
    } else if (node.target.starts_with(kOpsPrefix)) {
      result.op = node.target.substr(kOpsPrefix.size());
      place_arguments(node, result, names);
    } else {
      refuse(node, "unknown operator; export the model with operators of ATen only");
    }
    for (const auto& output : node.outputs) declare_result(scope, node, output, result, names);
    graph_.nodes.push_back(std::move(result));
  }

  void place_arguments(const formats::ProgramNode& node, Node& result, const Names& names) {
    const auto op = find_operator(result.op);
    if (!op)
      refuse(node, "unknown operator, no library registers it; export the model with operators of ATen only");
    const auto& schema = op->schema();
    std::vector<bool> given(schema.arguments().size(), false);
    result.arguments.resize(schema.arguments().size());
    for (const auto& input : node.inputs) {
      const auto index = argument_index(schema, input.name);
      if (!index)
        refuse(node, "has an argument '" + input.name + "' that the operator's schema does not know");
      if (given[*index]) refuse(node, "gives the argument '" + input.name + "' twice");
      given[*index] = true;
      result.arguments[*index] = resolve(node, input.value, names);
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i]) continue;
      const auto& argument = schema.arguments()[i];
      if (!argument.default_value()) refuse(node, "lacks the argument '" + argument.name() + "'");
      result.arguments[i] = to_argument(*argument.default_value());
    }
  }

  void declare_result(const formats::Subgraph& scope, const formats::ProgramNode& node,
                      const formats::Argument& output, Node& result, Names& names) {
    if (const auto* list = std::get_if<std::vector<formats::Argument>>(&output.value)) {
      for (const auto& item : *list) declare_result(scope, node, item, result, names);
    } else if (const auto* tensor = std::get_if<formats::TensorName>(&output.value)) {
      names[tensor->name] = fresh(scope, tensor->name, true);
      result.results.push_back(names[tensor->name].ref()->id);
    } else if (const auto* symbol = std::get_if<formats::SymbolName>(&output.value)) {
      names[symbol->name] = fresh(scope, symbol->name, false);
      result.results.push_back(names[symbol->name].ref()->id);
    } else if (std::holds_alternative<formats::None>(output.value)) {
      result.results.push_back(-1);
    } else {
      refuse(node, "has a result that is neither a tensor nor a number");
    }
  }

  // The nested graph runs in place: its inputs are the node's operands, its outputs the node's results.
  void inline_graph(const formats::ProgramNode& node, Names& names, int depth) {
    const auto kind = std::string_view(node.target).substr(kHigherOrder.size());
    if (kind != "wrap_with_set_grad_enabled") {
      refuse(node, "this higher-order operator is not supported; export the model without it");
    }
    if (depth >= kMaxNesting) refuse(node, "graphs are nested too deeply");
    const formats::Subgraph* body = nullptr;
    std::vector<Argument> operands;
    for (const auto& input : node.inputs) {
      if (const auto* nested = std::get_if<std::shared_ptr<const formats::Subgraph>>(&input.value.value)) {
        if (body) refuse(node, "has two nested graphs");
        body = nested->get();
      } else if (body) {
        operands.push_back(resolve(node, input.value, names));
      }
    }
    if (!body) refuse(node, "has no nested graph");
    if (operands.size() != body->inputs.size())
      refuse(node, "its operands do not match the nested graph's inputs");
    Names inner;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (const auto* tensor = std::get_if<formats::TensorName>(&body->inputs[i].value)) {
        inner[tensor->name] = operands[i];
      } else if (const auto* symbol = std::get_if<formats::SymbolName>(&body->inputs[i].value)) {
        inner[symbol->name] = operands[i];
      }
    }
    for (const auto& nested : body->nodes) add(*body, nested, inner, depth + 1);
    std::vector<std::string> results;
    for (const auto& output : node.outputs) collect_names(output, results);
    std::vector<Argument> produced;
    for (const auto& output : body->outputs) produced.push_back(resolve(node, output, inner));
    if (results.size() != produced.size())
      refuse(node, "its results do not match the nested graph's outputs");
    for (std::size_t i = 0; i < results.size(); ++i) names[results[i]] = produced[i];
  }

  static void collect_names(const formats::Argument& output, std::vector<std::string>& names) {
    if (const auto* list = std::get_if<std::vector<formats::Argument>>(&output.value)) {
      for (const auto& item : *list) collect_names(item, names);
    } else if (const auto* tensor = std::get_if<formats::TensorName>(&output.value)) {
      names.push_back(tensor->name);
    } else if (const auto* symbol = std::get_if<formats::SymbolName>(&output.value)) {
      names.push_back(symbol->name);
    }
  }

  const formats::ExportedProgram& program_;
  Graph& graph_;
  Names names_;
  std::unordered_set<std::string> used_;
  std::size_t user_outputs_ = 0;
};

}  // namespace

// Note [Written inputs]
// A model may write into its user inputs (nn.ReLU(inplace=True) as first layer). Widebench never writes into
// a caller's tensors: the functional graph computes the same outputs and the write is not carried back. A
// write into a buffer is state of the member and is carried back.
Graph capture(const formats::ExportedProgram& program, std::string name) {
  Graph graph;
  graph.name = std::move(name);
  graph.ranges = program.ranges;
  Capture(program, graph).run();
  return graph;
}

}  // namespace wide
