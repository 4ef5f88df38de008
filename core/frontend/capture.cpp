#include "core/frontend/capture.h"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "core/aten/torch_bridge.h"
#include "core/eager/higher_order.h"
#include "core/eager/operators.h"
#include "core/frontend/autocast.h"
#include "core/frontend/literal.h"
#include "core/frontend/memory_order.h"
#include "core/frontend/refuse.h"
#include "core/frontend/strided.h"
#include "core/frontend/vmap_regions.h"
#include "core/ir/scalar_ops.h"

namespace wide {
namespace {

constexpr std::string_view kHigherOrder = "torch.ops.higher_order.";
// Python that torch.export of 2.15 leaves before vmap and associative_scan.
constexpr std::string_view kLoadDecompositions = "torch._functorch.predispatch.lazy_load_decompositions";
// What torch.export of 2.15 makes of addcmul_ and its like; no library registers it.
constexpr std::string_view kFusedMultiplyAdd = "torch.ops.prims.fma.default";
// What torch.export leaves of casts in core ATen operators.
constexpr std::string_view kConvertElementType = "torch.ops.prims.convert_element_type.default";
constexpr std::string_view kScalarTensor = "torch.ops.prims.scalar_tensor.default";
constexpr int kMaxNesting = 16;

class Capture {
 public:
  Capture(const formats::ExportedProgram& program, Graph& graph) : program_(program), graph_(graph) {}

  void run() {
    declare_inputs();
    add_all(program_.graph, names_, 0);
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
    return {ValueRef{graph_.add_value(unused_name(name), tensor, std::move(type))}};
  }

  std::string unused_name(const std::string& name) {
    const auto unique = used_.insert(name).second ? name : graph_.unique_name(name);
    used_.insert(unique);
    return unique;
  }

  // What the exporter called the model with, where the file has as many of it as the model takes.
  at::Tensor sample_at(std::size_t place) const {
    using Kind = formats::InputSpec::Kind;
    const auto taken = std::count_if(program_.inputs.begin(), program_.inputs.end(), [](const auto& spec) {
      return spec.kind == Kind::kUserInput || spec.kind == Kind::kConstantInput;
    });
    if (std::ssize(program_.samples) != taken || !program_.samples[place]) return {};
    return to_tensor(*program_.samples[place]);
  }

  void declare_inputs() {
    std::int64_t place = 0;  // of the next user input or constant
    for (const auto& spec : program_.inputs) {
      GraphInput input;
      input.target = spec.target;
      input.persistent = spec.persistent;
      switch (spec.kind) {
        case formats::InputSpec::Kind::kUserInput:
          input.kind = InputKind::kUser;
          input.place = place++;
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
          ++place;
          continue;  // already written into the nodes
        case formats::InputSpec::Kind::kToken:
          continue;  // none is left
      }
      if (const auto* tensor = std::get_if<formats::TensorName>(&spec.argument.value)) {
        names_[tensor->name] = fresh(program_.graph, tensor->name, true);
        input.value = names_[tensor->name].ref()->id;
        if (input.kind == InputKind::kUser) {
          input.target = tensor->name;
          input.sample = sample_at(static_cast<std::size_t>(input.place));
        }
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
    using Kind = formats::OutputSpec::Kind;
    GraphOutput output;
    output.value = resolve_output(spec.argument);
    output.target = spec.target;
    if (spec.kind == Kind::kBufferMutation) {
      output.kind = OutputKind::kBufferMutation;
    } else if (spec.kind == Kind::kLoss) {
      output.target = "loss";
    } else if (spec.kind == Kind::kParameterGradient || spec.kind == Kind::kUserInputGradient) {
      output.target = "gradient of " + spec.target;
    } else if (user_outputs_++ < program_.output_names.size()) {
      output.target = program_.output_names[user_outputs_ - 1];
    }
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
    if (const auto* tensor = std::get_if<formats::TensorName>(&argument.value))
      return lookup(node, tensor->name, names);
    if (const auto* symbol = std::get_if<formats::SymbolName>(&argument.value))
      return lookup(node, symbol->name, names);
    const auto* list = std::get_if<std::vector<formats::Argument>>(&argument.value);
    if (!list) return literal(node, argument);
    Argument::List items;
    for (const auto& item : *list) items.push_back(resolve(node, item, names));
    return {std::move(items)};
  }

  void add_all(const formats::Subgraph& scope, Names& names, int depth) {
    if (has_vmap_regions(scope)) return add_all(with_maps(scope), names, depth);
    for (const auto& node : scope.nodes) add(scope, node, names, depth);
  }

  void add(const formats::Subgraph& scope, const formats::ProgramNode& node, Names& names, int depth) {
    if (node.target == kLoadDecompositions) return;  // computes nothing
    if (node.target.starts_with(kHigherOrder)) return add_higher_order(scope, node, names, depth);
    Node result;
    result.module_path = node.module_path;
    if (const auto scalar = scalar_op_name(node.target)) {
      result.op = *scalar;
      for (const auto& input : node.inputs) result.arguments.push_back(resolve(node, input.value, names));
    } else if (node.target == kFusedMultiplyAdd) {
      if (node.inputs.size() != 3) refuse(node, "takes three tensors");
      const auto operand = [&](std::size_t i) { return resolve(node, node.inputs[i].value, names); };
      result.op = "aten.addcmul.default";  // a * b + c
      result.arguments = {operand(2), operand(0), operand(1), {std::int64_t{1}}};
    } else if (node.target == kConvertElementType) {
      if (node.inputs.size() != 2) refuse(node, "takes a tensor and an element type");
      result.op = "aten.to.dtype";
      result.arguments = {resolve(node, node.inputs[0].value, names),
                          resolve(node, node.inputs[1].value, names),
                          {false},
                          {false},
                          {}};
    } else if (node.target.starts_with(kOpsPrefix)) {
      result.op =
          node.target == kScalarTensor ? "aten.scalar_tensor.default" : node.target.substr(kOpsPrefix.size());
      place_arguments(node, result, names);
    } else {
      refuse(node, "unknown operator; export the model with operators of ATen only");
    }
    for (const auto& output : node.outputs) declare_result(scope, node, output, result, names);
    const auto new_value = [this](const std::string& name, std::optional<TensorType> type) {
      return graph_.add_value(unused_name(name), true, std::move(type));
    };
    const MetaOf meta_of = [&](ValueId id) { return known_of(scope, names, id); };
    if (is_strided(result.op)) return add_strided_of(scope, node, std::move(result), meta_of, new_value);
    // Those of the graph itself are laid out when strides are seen: with_draws_in_turn().
    if (depth > 0 && !is_scalar_op(result.op) && draws_random(result))
      return add_draw(graph_, std::move(result), meta_of, new_value);
    if (autocast_) result = under_autocast(graph_, *autocast_, std::move(result));
    graph_.nodes.push_back(std::move(result));
  }

  // What the exporter knew of a tensor; null where it is none of the scope.
  static const formats::TensorMeta* known_of(const formats::Subgraph& scope, const Names& names, ValueId id) {
    for (const auto& [name, argument] : names) {
      if (!argument.ref() || argument.ref()->id != id) continue;
      if (const auto meta = scope.tensors.find(name); meta != scope.tensors.end()) return &meta->second;
    }
    return nullptr;
  }

  void add_strided_of(const formats::Subgraph& scope, const formats::ProgramNode& node, Node strided,
                      const MetaOf& meta_of, const NewValue& new_value) {
    const auto* tensor = std::get_if<formats::TensorName>(&node.inputs.at(0).value.value);
    const auto place = static_cast<std::size_t>(&node - scope.nodes.data());
    const auto may_copy = [&] { return tensor && !may_be_written_after(scope, place, tensor->name); };
    if (const auto reason = add_strided(graph_, std::move(strided), meta_of, new_value, may_copy))
      refuse(node, *reason);
  }

  void place_arguments(const formats::ProgramNode& node, Node& result, const Names& names) {
    const auto op = find_operator(result.op);
    if (!op)
      refuse(node, "unknown operator, no library registers it; export the model with operators of ATen only");
    const auto& schema = op->schema();
    std::vector<bool> given(schema.arguments().size(), false);
    result.arguments.resize(schema.arguments().size());
    for (std::size_t place = 0; place < node.inputs.size(); ++place) {
      const auto& input = node.inputs[place];
      const bool by_place = input.name.empty() && place < given.size();
      const auto index = by_place ? std::optional(place) : argument_index(schema, input.name);
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

  void add_higher_order(const formats::Subgraph& scope, const formats::ProgramNode& node, Names& names,
                        int depth) {
    const auto kind = std::string_view(node.target).substr(kHigherOrder.size());
    if (depth >= kMaxNesting) refuse(node, "graphs are nested too deeply");
    constexpr std::array<std::string_view, 6> kInPlace = {"wrap_with_set_grad_enabled",
                                                          "tag_activation_checkpoint",
                                                          "wrap",
                                                          "strict_mode",
                                                          "invoke_subgraph",
                                                          "hints_wrapper"};
    if (std::find(kInPlace.begin(), kInPlace.end(), kind) != kInPlace.end())
      return inline_graph(node, names, depth);
    if (kind == "wrap_with_autocast") return inline_autocast(node, names, depth);
    Node result;
    result.op = kind == "map" ? std::string(kMap) : "higher_order." + std::string(kind);
    result.module_path = node.module_path;
    const auto* form = higher_order_form(result.op);
    if (!form) refuse(node, "this higher-order operator is not supported; export the model without it");
    for (const auto& input : node.inputs) {
      if (const auto* nested = std::get_if<std::shared_ptr<const formats::Subgraph>>(&input.value.value)) {
        result.bodies.push_back(body_of(**nested, depth + 1));
      } else {
        result.arguments.push_back(resolve(node, input.value, names));
      }
    }
    if (result.bodies.size() != form->bodies || result.arguments.size() != form->arguments)
      refuse(node,
             "its graphs and operands are not as this operator's; export the model with torch 2.11 or newer");
    for (const auto& output : node.outputs) declare_result(scope, node, output, result, names);
    graph_.nodes.push_back(std::move(result));
  }

  // A graph of its own, with the graph's inputs in order.
  std::shared_ptr<const Graph> body_of(const formats::Subgraph& nested, int depth) {
    auto body = std::make_shared<Graph>();
    Capture inner(program_, *body);
    inner.autocast_ = autocast_;
    for (const auto& input : nested.inputs) {
      const auto* tensor = std::get_if<formats::TensorName>(&input.value);
      const auto* symbol = std::get_if<formats::SymbolName>(&input.value);
      const auto name = tensor ? tensor->name : symbol ? symbol->name : "unnamed";
      const auto value = inner.fresh(nested, name, tensor != nullptr);
      if (tensor || symbol) inner.names_[name] = value;
      body->inputs.push_back({value.ref()->id, InputKind::kUser, name});
    }
    inner.add_all(nested, inner.names_, depth);
    for (const auto& output : nested.outputs) body->outputs.push_back({inner.resolve_output(output)});
    return body;
  }

  // device, dtype, enabled, cache, graph, operands
  void inline_autocast(const formats::ProgramNode& node, Names& names, int depth) {
    const auto text = [&](std::size_t i) {
      return node.inputs.size() > 4 ? std::get_if<std::string>(&node.inputs[i].value.value) : nullptr;
    };
    const auto* device = text(0);
    if (!device) refuse(node, "names no device");
    const auto* enabled = std::get_if<bool>(&node.inputs[2].value.value);
    const auto* dtype = std::get_if<formats::Dtype>(&node.inputs[1].value.value);
    const auto outside = autocast_;
    // Tensors lie on a CPU: autocast of another device does not touch them.
    if (*device == "cpu") {
      autocast_.reset();
      if (!enabled || *enabled) autocast_ = dtype ? scalar_type(*dtype) : at::kBFloat16;
    }
    inline_graph(node, names, depth);
    autocast_ = outside;
  }

  void flatten(const formats::ProgramNode& node, const formats::Argument& argument, const Names& names,
               std::vector<Argument>& operands) {
    if (const auto* list = std::get_if<std::vector<formats::Argument>>(&argument.value)) {
      for (const auto& item : *list) flatten(node, item, names, operands);
    } else if (!std::holds_alternative<std::string>(argument.value)) {
      operands.push_back(resolve(node, argument, names));
    }
  }

  // The nested graph runs in place: its inputs are the node's operands, its outputs the node's results.
  void inline_graph(const formats::ProgramNode& node, Names& names, int depth) {
    if (depth >= kMaxNesting) refuse(node, "graphs are nested too deeply");
    const formats::Subgraph* body = nullptr;
    std::vector<Argument> operands;
    for (const auto& input : node.inputs) {
      if (const auto* nested = std::get_if<std::shared_ptr<const formats::Subgraph>>(&input.value.value)) {
        if (body) refuse(node, "has two nested graphs");
        body = nested->get();
      } else if (body) {
        flatten(node, input.value, names, operands);
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
    add_all(*body, inner, depth + 1);
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
    } else {
      names.emplace_back();  // nobody uses it
    }
  }

  const formats::ExportedProgram& program_;
  Graph& graph_;
  Names names_;
  std::unordered_set<std::string> used_;
  std::size_t user_outputs_ = 0;
  std::optional<at::ScalarType> autocast_;  ///< the dtype of the region around, where there is one
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
  graph.guards = program.guards;
  Capture(program, graph).run();
  return graph;
}

}  // namespace wide
