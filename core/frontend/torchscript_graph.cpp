#include "core/frontend/torchscript_graph.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/eager/operators.h"
#include "core/frontend/torchscript_item.h"
#include "formats/error.h"

namespace wide {
namespace {

namespace jit = torch::jit;
using torchscript::is_number;
using torchscript::is_tensor;
using torchscript::Item;
using torchscript::number_item;
using torchscript::plain;
using torchscript::refused;
using torchscript::scalar_operator;

class Converter {
 public:
  Converter(const jit::Module& module, const jit::Graph& source, Graph& graph,
            std::map<std::string, at::Tensor>& tensors)
      : source_(source), graph_(graph), tensors_(tensors) {
    for (const auto& parameter : module.named_parameters()) parameters_.insert(parameter.name);
    // A state dict holds all of these; TorchScript does not say which buffers are not persistent.
    for (const auto& parameter : module.named_parameters())
      tensors_.emplace(parameter.name, parameter.value.detach());
    for (const auto& buffer : module.named_buffers()) tensors_.emplace(buffer.name, buffer.value.detach());
    Item self;
    self.object = module._ivalue();
    items_.emplace(source.inputs()[0], std::move(self));
    declare_inputs(module);
  }

  void run() {
    for (const auto* node : source_.nodes()) add(*node);
    for (const auto* output : source_.outputs()) declare_output(item(output), "the result of the model");
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const std::string& why) const {
    throw Error("capture",
                graph_.name + ": " + what + " " + why + "; export the model with torch.export instead");
  }
  static std::string label(const jit::Node& node) {
    std::string text = node.kind().toQualString();
    if (!node.outputs().empty()) text.append(" (%").append(node.outputs()[0]->debugName()).append(")");
    return text;
  }

  // Names hold letters, digits and _, and do not begin with a digit.
  std::string fresh_name(const std::string& stem) {
    std::string name = stem.substr(0, stem.find('.'));
    for (auto& c : name) {
      if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
    }
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])))
      name = std::string("v").append(name);
    auto unique = name;
    for (int i = 1; !names_.insert(unique).second; ++i)
      unique = std::string(name).append("_").append(std::to_string(i));
    return unique;
  }

  void declare_inputs(const jit::Module& module) {
    const auto& arguments = module.get_method("forward").function().getSchema().arguments();
    for (std::size_t i = 1; i < source_.inputs().size(); ++i) {
      const auto* input = source_.inputs()[i];
      if (!is_tensor(input->type())) {
        const auto& otherwise = arguments[i].default_value();
        if (!otherwise) refuse("the input '" + arguments[i].name() + "'", "is not a tensor");
        items_.emplace(input, constant(*otherwise));
        continue;
      }
      GraphInput declared{graph_.add_value(fresh_name(input->debugName()), true), InputKind::kUser,
                          arguments[i].name(), true};
      items_.emplace(input, plain({ValueRef{declared.value}}));
      graph_.inputs.push_back(std::move(declared));
    }
  }

  void declare_output(const Item& output, const std::string& what) {
    if (output.items) {
      for (const auto& part : *output.items) declare_output(part, what);
    } else {
      graph_.outputs.push_back({argument(output, what), OutputKind::kUser, {}});
    }
  }

  const Item& item(const jit::Value* value) const { return items_.at(value); }

  Argument argument(const Item& from, const std::string& user) const {
    if (!from.refusal.empty()) refuse(user, "uses " + from.refusal);
    if (from.object) refuse(user, "uses a module as a value");
    if (from.shape_of) refuse(user, "uses the shape of a tensor of unknown rank");
    if (!from.items) return from.argument;
    Argument::List list;
    for (const auto& part : *from.items) list.push_back(argument(part, user));
    return {std::move(list)};
  }
  Argument argument(const jit::Node& node, std::size_t index) const {
    return argument(item(node.inputs()[index]), label(node));
  }

  // A tensor of the file as an input of the graph.
  Item stored(const std::string& fqn, const at::Tensor& tensor, InputKind kind) {
    if (const auto known = stored_.find(fqn); known != stored_.end()) return plain({ValueRef{known->second}});
    auto value = tensor.detach();
    GraphInput input;
    input.value =
        graph_.add_value(fresh_name(kind == InputKind::kConstant ? "constant" : "p_" + sanitized(fqn)), true,
                         as_type({value.scalar_type(), value.sizes().vec()}));
    input.kind = kind;
    input.target = fqn;
    tensors_[fqn] = std::move(value);
    stored_[fqn] = input.value;
    graph_.inputs.push_back(input);
    return plain({ValueRef{input.value}});
  }
  static std::string sanitized(std::string name) {
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
  }

  Item constant(const c10::IValue& value) {
    if (value.isTensor()) {
      const auto& tensor = value.toTensor();
      // Traces wrap sizes' partners into tensors too.
      if (tensor.dim() == 0 && tensor.scalar_type() == at::kLong)
        return number_item({tensor.item<std::int64_t>()});
      return stored("constant." + std::to_string(constants_++), tensor, InputKind::kConstant);
    }
    if (value.isDevice()) return plain({at::Device(at::kCPU)});  // wherever it was traced, it runs here
    if (value.isTuple() || (value.isList() && !value.isTensorList())) {
      Item list;
      list.items = std::make_shared<std::vector<Item>>();
      const auto parts = value.isTuple() ? value.toTupleRef().elements().vec() : value.toListRef().vec();
      for (const auto& part : parts) list.items->push_back(constant(part));
      return list;
    }
    if (value.isInt() || value.isDouble() || value.isBool()) return number_item(to_argument(value));
    if (value.isNone() || value.isString() || value.isComplexDouble()) return plain(to_argument(value));
    return refused("a constant of type " + value.tagKind());
  }

  void set(const jit::Node& node, Item made) { items_.insert_or_assign(node.outputs()[0], std::move(made)); }

  void get_attribute(const jit::Node& node) {
    const auto& owner = item(node.inputs()[0]);
    const auto& name = node.s(c10::attr::name);
    if (!owner.object) return set(node, refused("an attribute of what is not a module"));
    const auto value = owner.object->toObjectRef().getAttr(name);
    const auto path = owner.path.empty() ? name : owner.path + "." + name;
    if (value.isObject()) {
      Item module;
      module.object = value;
      module.path = path;
      return set(node, std::move(module));
    }
    if (!value.isTensor()) return set(node, constant(value));
    const auto kind = parameters_.contains(path) ? InputKind::kParameter : InputKind::kBuffer;
    set(node, stored(path, value.toTensor(), kind));
  }

  // One result that is a number.
  Item emit_number(std::string op, std::vector<Argument> arguments) {
    const auto result = graph_.add_value(fresh_name("size"), false);
    graph_.nodes.push_back({std::move(op), std::move(arguments), {result}, {}});
    return number_item({ValueRef{result}});
  }

  void size(const jit::Node& node) {
    const auto& of = item(node.inputs()[0]);
    const auto tensor = argument(of, label(node));
    if (!tensor.ref()) return set(node, refused("the size of a number"));
    if (node.inputs().size() == 2)
      return set(node, emit_number("aten.sym_size.int", {tensor, argument(node, 1)}));
    Item shape;
    shape.shape_of = tensor.ref()->id;
    set(node, std::move(shape));
  }

  Item element(const Item& list, std::int64_t index) {
    if (list.shape_of) return emit_number("aten.sym_size.int", {{ValueRef{*list.shape_of}}, {index}});
    if (!list.refusal.empty()) return list;
    if (!list.items) return refused("an element of what is not a list");
    const auto count = static_cast<std::int64_t>(list.items->size());
    if (index < 0) index += count;
    if (index < 0 || index >= count) return refused("an element out of range");
    return (*list.items)[static_cast<std::size_t>(index)];
  }

  void unpack(const jit::Node& node) {
    const auto list = item(node.inputs()[0]);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      items_.insert_or_assign(node.outputs()[i], element(list, static_cast<std::int64_t>(i)));
    }
  }

  void pack(const jit::Node& node) {
    Item list;
    list.items = std::make_shared<std::vector<Item>>();
    const bool dictionary = node.kind() == c10::prim::DictConstruct;  // key, value, key, value, …
    for (std::size_t i = dictionary ? 1 : 0; i < node.inputs().size(); i += dictionary ? 2 : 1) {
      list.items->push_back(item(node.inputs()[i]));
    }
    set(node, std::move(list));
  }

  void add_blocks(const jit::Block* block, const jit::Node& node) {
    for (const auto* nested : block->nodes()) add(*nested);
    for (std::size_t i = 0; i < node.outputs().size(); ++i) {
      items_.insert_or_assign(node.outputs()[i], item(block->outputs()[i]));
    }
  }

  // Taken at once where the condition is known; a branch that only raises an error is a check, and is left
  // out.
  void branch(const jit::Node& node) {
    const auto raises = [](const jit::Block* block) {
      return std::any_of(block->nodes().begin(), block->nodes().end(),
                         [](const jit::Node* one) { return one->kind() == c10::prim::RaiseException; });
    };
    const auto* yes = node.blocks()[0];
    const auto* no = node.blocks()[1];
    const auto& condition = item(node.inputs()[0]);
    if (const auto* known = std::get_if<bool>(&condition.argument.value);
        known && condition.refusal.empty()) {
      return add_blocks(*known ? yes : no, node);
    }
    if (raises(yes) != raises(no)) return add_blocks(raises(yes) ? no : yes, node);
    refuse(label(node), "decides at run time how the model runs");
  }

  // `x is None` and its negation, for what is known to be a tensor or None.
  void is_none(const jit::Node& node, bool negated) {
    const auto none = [&](std::size_t i) {
      const auto& one = item(node.inputs()[i]);
      return one.refusal.empty() && !one.items && !one.object && !one.shape_of && one.argument.is_none();
    };
    if (!none(0) && !none(1)) return set(node, refused("the identity of two objects"));
    set(node, number_item({(none(0) && none(1)) != negated}));
  }

  bool add_structure(const jit::Node& node) {
    const auto kind = node.kind();
    const std::string_view name = kind.toQualString();
    if (kind == c10::prim::Constant) {
      const auto value = jit::toIValue(node.output());
      set(node, value ? constant(*value) : refused("a constant without a value"));
    } else if (kind == c10::prim::GetAttr) {
      get_attribute(node);
    } else if (kind == c10::prim::ListConstruct || kind == c10::prim::TupleConstruct ||
               kind == c10::prim::DictConstruct) {
      pack(node);
    } else if (kind == c10::prim::ListUnpack || kind == c10::prim::TupleUnpack) {
      unpack(node);
    } else if (kind == c10::prim::TupleIndex ||
               (name == "aten::__getitem__" && !is_tensor(node.inputs()[0]->type()))) {
      const auto index = argument(node, 1);
      const auto* place = std::get_if<std::int64_t>(&index.value);
      set(node, place ? element(item(node.inputs()[0]), *place)
                      : refused("an element at a place not known in advance"));
    } else if (name == "aten::size") {
      size(node);
    } else if (name == "aten::append" && item(node.inputs()[0]).items) {
      item(node.inputs()[0]).items->push_back(item(node.inputs()[1]));
      set(node, item(node.inputs()[0]));
    } else if (name == "aten::numel") {
      set(node, emit_number("aten.sym_numel.default", {argument(node, 0)}));
    } else if (name == "aten::len" && item(node.inputs()[0]).items) {
      set(node, number_item({static_cast<std::int64_t>(item(node.inputs()[0]).items->size())}));
    } else if (kind == c10::prim::NumToTensor || kind == c10::prim::unchecked_cast ||
               kind == c10::prim::unchecked_unwrap_optional || name == "aten::_unwrap_optional") {
      set(node, item(node.inputs()[0]));
    } else if (name == "aten::Int" || name == "aten::ScalarImplicit" || name == "aten::IntImplicit") {
      const auto& from = item(node.inputs()[0]);
      set(node, from.number ? from : refused("a number read out of a tensor"));
    } else if (name == "aten::__is__" || name == "aten::__isnot__") {
      is_none(node, name == "aten::__isnot__");
    } else if (kind == c10::prim::If) {
      branch(node);
    } else if (kind == c10::prim::RaiseException || kind == c10::prim::Print || name == "aten::warn") {
      return true;  // checks and messages compute nothing
    } else {
      return false;
    }
    return true;
  }

  // Numbers from numbers.
  bool add_arithmetic(const jit::Node& node) {
    const auto op = scalar_operator(node.kind().toQualString());
    if (!op || node.outputs().size() != 1) return false;
    const std::size_t arity =
        *op == "sym.neg" || *op == "sym.not" || *op == "sym.sqrt" || *op == "sym.ceil" || *op == "sym.floor"
            ? 1
            : 2;
    if (node.inputs().size() < arity) return false;
    std::vector<Argument> arguments;
    for (std::size_t i = 0; i < arity; ++i) {
      if (!item(node.inputs()[i]).number) return false;
      arguments.push_back(argument(node, i));
    }
    // alpha of add and sub is one; a rounding mode of div says which division is meant.
    if (node.inputs().size() > arity) {
      const auto more = argument(node, arity);
      const auto* rounding = std::get_if<std::string>(&more.value);
      if (*op == "sym.truediv" && rounding && *rounding == "floor") {
        set(node, emit_number("sym.floordiv", std::move(arguments)));
        return true;
      }
      if (*op == "sym.truediv" && rounding && *rounding == "trunc") {
        set(node, emit_number("sym.int", {emit_number("sym.truediv", std::move(arguments)).argument}));
        return true;
      }
      if (more != Argument{std::int64_t{1}}) return false;
    }
    set(node, emit_number(*op, std::move(arguments)));
    return true;
  }

  // How many tensors of a list result are ever used.
  static std::size_t used_elements(const jit::Value* list) {
    std::size_t count = 0;
    for (const auto& use : list->uses()) {
      if (use.user->kind() == c10::prim::ListUnpack) count = std::max(count, use.user->outputs().size());
      if (std::string_view(use.user->kind().toQualString()) != "aten::__getitem__") continue;
      const auto index = jit::toIValue(use.user->inputs()[1]);
      if (index && index->isInt() && index->toInt() >= 0)
        count = std::max(count, static_cast<std::size_t>(index->toInt()) + 1);
    }
    return count;
  }

  // What writes, loops or has no result cannot be left out; of the rest only what is used matters.
  void refuse_later(const jit::Node& node) {
    const auto* schema = node.maybeSchema();
    if (node.outputs().empty() || !node.blocks().empty() || (schema && schema->is_mutable())) {
      refuse(label(node), "cannot be represented");
    }
    for (const auto* output : node.outputs()) items_.insert_or_assign(output, refused(label(node)));
  }

  void add_operator(const jit::Node& node) {
    const auto* schema = node.maybeSchema();
    const std::string kind = node.kind().toQualString();
    if (!schema || !kind.starts_with("aten::")) return refuse_later(node);
    Node made;
    made.op = std::string("aten.").append(kind.substr(6)).append(".");
    made.op.append(schema->overload_name().empty() ? "default" : schema->overload_name());
    if (!find_operator(made.op) && !made.op.starts_with("aten.to.prim_")) return refuse_later(node);
    for (std::size_t i = 0; i < node.inputs().size(); ++i) made.arguments.push_back(argument(node, i));
    // Only autograd sees what is unsafe about them.
    if (made.op == "aten.unsafe_chunk.default") made.op = "aten.chunk.default";
    if (made.op == "aten.unsafe_split.Tensor") made.op = "aten.split.Tensor";
    if (made.op == "aten.to.prim_dtype" || made.op == "aten.to.prim_Device") {
      const auto dtype = made.arguments[made.op == "aten.to.prim_dtype" ? 1 : 2];
      if (dtype.is_none()) return set(node, item(node.inputs()[0]));
      made = {"aten.to.dtype", {made.arguments[0], dtype, {false}, {false}, {}}, {}, {}};
    }
    const auto op = find_operator(made.op);
    if (!op || op->schema().arguments().size() != made.arguments.size()) return refuse_later(node);
    for (const auto* output : node.outputs()) declare_result(output, made);
    made.module_path = module_of(made);
    graph_.nodes.push_back(std::move(made));
  }

  void declare_result(const jit::Value* output, Node& made) {
    const auto stem = made.op.substr(5, made.op.find('.', 5) - 5);
    if (is_tensor(output->type())) {
      made.results.push_back(graph_.add_value(fresh_name(stem), true));
      items_.insert_or_assign(output, plain({ValueRef{made.results.back()}}));
    } else if (const auto list = output->type()->cast<c10::ListType>();
               list && is_tensor(list->getElementType())) {
      Item parts;
      parts.items = std::make_shared<std::vector<Item>>();
      for (std::size_t i = 0; i < used_elements(output); ++i) {
        made.results.push_back(graph_.add_value(fresh_name(stem), true));
        parts.items->push_back(plain({ValueRef{made.results.back()}}));
      }
      items_.insert_or_assign(output, std::move(parts));
    } else if (is_number(output->type())) {
      made.results.push_back(graph_.add_value(fresh_name(stem), false));
      items_.insert_or_assign(output, number_item({ValueRef{made.results.back()}}));
    } else {
      items_.insert_or_assign(output,
                              refused("a result of " + made.op + " that is neither a tensor nor a number"));
      made.results.push_back(-1);
    }
  }

  // The module that owns the node's weights, where it has any.
  std::string module_of(const Node& node) const {
    std::string path;
    for_each_use(node, [&](ValueId id) {
      for (const auto& input : graph_.inputs) {
        if (input.value != id || input.kind != InputKind::kParameter || !path.empty()) continue;
        path = input.target.substr(0, input.target.rfind('.'));
      }
    });
    return path;
  }

  void add(const jit::Node& node) {
    if (!add_structure(node) && !add_arithmetic(node)) add_operator(node);
  }

  const jit::Graph& source_;
  Graph& graph_;
  std::map<std::string, at::Tensor>& tensors_;
  std::unordered_map<const jit::Value*, Item> items_;
  std::unordered_map<std::string, ValueId> stored_;
  std::unordered_set<std::string> names_, parameters_;
  int constants_ = 0;
};

}  // namespace

Graph convert_torchscript(const jit::Module& module, const jit::Graph& source, std::string name,
                          std::map<std::string, at::Tensor>& tensors) {
  Graph graph;
  graph.name = std::move(name);
  Converter(module, source, graph, tensors).run();
  return graph;
}

}  // namespace wide
