#include "core/frontend/strided.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/eager/operators.h"
#include "core/frontend/by_strides.h"
#include "core/frontend/refuse.h"

namespace wide {

bool is_strided(std::string_view op) {
  return op == "aten.as_strided.default" || op == "aten.as_strided_scatter.default";
}

namespace {

// einsum of one operand, such as "ii->i", gives a view of it where nothing is summed.
bool is_view_by_einsum(const Node& node) {
  if (node.op != "aten.einsum.default") return false;
  const auto* equation = std::get_if<std::string>(&node.arguments[0].value);
  const auto* operands = node.arguments[1].list();
  if (!equation || !operands || operands->size() != 1) return false;
  const auto arrow = equation->find("->");
  if (arrow == std::string::npos) return false;
  const auto taken = equation->substr(0, arrow), given = equation->substr(arrow + 2);
  return std::ranges::all_of(taken, [&](char axis) { return given.find(axis) != std::string::npos; });
}

// The operand that a node gives a view of, or null.
const ValueRef* viewed(const Node& node) {
  const auto op = find_operator(node.op);
  if (!op || op->schema().is_mutable() || is_no_plain_view(node.op) || node.arguments.empty()) return nullptr;
  if (is_view_by_einsum(node)) return (*node.arguments[1].list())[0].ref();
  return op->schema().returns()[0].alias_info() ? node.arguments[0].ref() : nullptr;
}

// The tensor that `id` is a view of, as far back as the graph says so for certain.
ValueId owner_of(const Graph& graph, ValueId id) {
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (std::ranges::find(node->results, id) == node->results.end()) continue;
    const auto* from = viewed(*node);
    const auto dtype = [&](ValueId value) {
      const auto& type = graph.values[static_cast<std::size_t>(value)].type;
      return type ? std::optional(type->dtype) : std::nullopt;
    };
    if (!from || dtype(from->id) != dtype(id)) return id;
    id = from->id;
  }
  return id;
}

// Where as_strided begins in the tensor that its operand is a view of, and that tensor; nothing where that
// does not lie side by side, and where the operand is read from its own beginning.
struct Beginning {
  ValueId owner;
  std::int64_t offset;
};
std::optional<Beginning> beginning_of(const Graph& graph, const Node& strided, const MetaOf& meta_of) {
  const auto* from = strided.arguments[0].ref();
  const auto& offset = strided.arguments[3];
  if (strided.op != "aten.as_strided.default" || !from) return std::nullopt;
  const auto owner = owner_of(graph, from->id);
  if (owner == from->id && offset.is_none()) return std::nullopt;
  const auto *view = meta_of(from->id), *whole = meta_of(owner);
  if (!view || !whole || !memory_order(whole).contiguous()) return std::nullopt;
  const auto* own = std::get_if<std::int64_t>(&view->storage_offset);
  const auto* given = offset.is_none() ? own : std::get_if<std::int64_t>(&offset.value);
  const auto* first = std::get_if<std::int64_t>(&whole->storage_offset);
  if (!first || !given || *given < *first) return std::nullopt;
  return Beginning{owner, *given - *first};
}

// Offsets count from the beginning of a storage, which members may share: the strides go over what follows
// the beginning.
void read_from(const Beginning& beginning, Graph& graph, Node strided, const NewValue& new_value) {
  const auto name = graph.values[static_cast<std::size_t>(beginning.owner)].name;
  const auto flat = new_value(name + "_flat", std::nullopt), rest = new_value(name + "_rest", std::nullopt);
  const Argument zero{std::int64_t{0}}, one{std::int64_t{1}}, end{std::numeric_limits<std::int64_t>::max()};
  graph.nodes.push_back({"aten.reshape.default",
                         {{ValueRef{beginning.owner}}, {Argument::List{{std::int64_t{-1}}}}},
                         {flat},
                         strided.module_path});
  graph.nodes.push_back({"aten.slice.Tensor",
                         {{ValueRef{flat}}, zero, {beginning.offset}, end, one},
                         {rest},
                         strided.module_path});
  strided.arguments[0] = {ValueRef{rest}};
  strided.arguments[3] = {};
  graph.nodes.push_back(std::move(strided));
}

// The offset in a storage as one from where the tensor of `meta` begins; none where that lies behind.
Argument from_its_own_beginning(const Argument& offset, const formats::TensorMeta* meta) {
  const auto* given = std::get_if<std::int64_t>(&offset.value);
  const auto* first = meta ? std::get_if<std::int64_t>(&meta->storage_offset) : nullptr;
  if (!given || !first) return offset;
  return *given < *first ? Argument{} : Argument{*given - *first};
}

// Whose memory is read: each run's has to lie as that did.
void note(Graph& graph, ValueId owner, const MetaOf& meta_of, bool by_offset) {
  const auto input = std::ranges::find(graph.inputs, owner, &GraphInput::value);
  const auto* meta = meta_of(owner);
  if (input == graph.inputs.end() || input->kind != InputKind::kUser || !meta) return;
  if (!input->in_memory) input->in_memory = InMemory{memory_order(meta).axes, std::nullopt};
  if (const auto* offset = std::get_if<std::int64_t>(&meta->storage_offset); by_offset && offset)
    input->in_memory->offset = *offset;
}

}  // namespace

std::optional<std::string> add_strided(Graph& graph, Node strided, const MetaOf& meta_of,
                                       const NewValue& new_value, const std::function<bool()>& may_copy) {
  if (const auto beginning = beginning_of(graph, strided, meta_of)) {
    note(graph, beginning->owner, meta_of, !strided.arguments[3].is_none());
    graph.in_order.push_back(beginning->owner);
    read_from(*beginning, graph, std::move(strided), new_value);
    return std::nullopt;
  }
  const auto* from = strided.arguments[0].ref();
  const auto order = memory_order(from ? meta_of(from->id) : nullptr);
  auto& offset = strided.arguments[strided.op == "aten.as_strided.default" ? 3 : 4];
  const bool by_offset = !offset.is_none();
  if (by_offset) offset = from_its_own_beginning(offset, from ? meta_of(from->id) : nullptr);
  if (order.gaps || (by_offset && offset.is_none()))
    return "it reads memory around its tensor's own; give it a .contiguous() tensor";
  if (order.turned && !may_copy())
    return "its tensor lies in another order than its axes', and is written later; give it a .contiguous() "
           "tensor";
  if (from) note(graph, owner_of(graph, from->id), meta_of, by_offset);
  if (!order.turned) {
    if (from) graph.in_order.push_back(from->id);
    graph.nodes.push_back(std::move(strided));
    return std::nullopt;
  }
  const auto name = graph.values[static_cast<std::size_t>(from->id)].name;
  const auto permuted = new_value(name + "_memory", std::nullopt);
  const auto copy = new_value(name + "_copy", std::nullopt);
  permute(graph, from->id, order.axes, permuted, strided.module_path);
  graph.in_order.push_back(permuted);
  graph.nodes.push_back({"aten.clone.default",
                         {{ValueRef{permuted}}, {at::MemoryFormat::Contiguous}},
                         {copy},
                         strided.module_path});
  strided.arguments[0] = {ValueRef{copy}};
  if (strided.op == "aten.as_strided.default") {
    graph.nodes.push_back(std::move(strided));
    return std::nullopt;
  }
  // What it gives lies as its operand does.
  const auto result = strided.results[0];
  const auto written = new_value(name + "_written", std::nullopt);
  strided.results[0] = written;
  const auto path = strided.module_path;
  graph.nodes.push_back(std::move(strided));
  permute(graph, written, inverse(order.axes), result, path);
  return std::nullopt;
}

namespace {

const formats::TensorName* tensor_of(const formats::Argument& argument) {
  const auto* list = std::get_if<std::vector<formats::Argument>>(&argument.value);
  return std::get_if<formats::TensorName>(list && !list->empty() ? &(*list)[0].value : &argument.value);
}

std::string_view op_of(const formats::ProgramNode& node) {
  return std::string_view(node.target).substr(node.target.starts_with(kOpsPrefix) ? kOpsPrefix.size() : 0);
}

bool gives(const formats::ProgramNode& node, const std::string& name) {
  const auto is_it = [&](const formats::Argument& one) {
    const auto* tensor = std::get_if<formats::TensorName>(&one.value);
    return tensor && tensor->name == name;
  };
  return std::ranges::any_of(node.outputs, [&](const formats::Argument& output) {
    const auto* list = std::get_if<std::vector<formats::Argument>>(&output.value);
    return list ? std::ranges::any_of(*list, is_it) : is_it(output);
  });
}

bool may_be_view(std::string_view name, const c10::OperatorHandle& op) {
  return is_no_plain_view(name) || name == "aten.einsum.default" ||
         std::ranges::any_of(op.schema().returns(),
                             [](const auto& one) { return one.alias_info() != nullptr; });
}

// The tensor in whose memory `name` may be, as far back as that goes.
std::string root_of(const formats::Subgraph& scope, std::string name) {
  for (auto node = scope.nodes.rbegin(); node != scope.nodes.rend(); ++node) {
    if (node->inputs.empty() || !gives(*node, name)) continue;
    const auto op = find_operator(op_of(*node));
    const auto* from = tensor_of(node->inputs[0].value);
    if (!op || !from || !may_be_view(op_of(*node), *op)) return name;
    name = from->name;
  }
  return name;
}

}  // namespace

bool may_be_written_after(const formats::Subgraph& scope, std::size_t place, const std::string& name) {
  const auto root = root_of(scope, name);
  return std::any_of(scope.nodes.begin() + static_cast<std::ptrdiff_t>(place) + 1, scope.nodes.end(),
                     [&](const formats::ProgramNode& node) {
                       const auto op = find_operator(op_of(node));
                       if (!op || !op->schema().is_mutable()) return false;
                       return std::ranges::any_of(node.inputs, [&](const formats::NamedArgument& input) {
                         const auto index = op->schema().argumentIndexWithName(input.name);
                         const auto* info =
                             index ? op->schema().arguments()[static_cast<std::size_t>(*index)].alias_info()
                                   : nullptr;
                         const auto* tensor = tensor_of(input.value);
                         return info && info->isWrite() && tensor && root_of(scope, tensor->name) == root;
                       });
                     });
}

}  // namespace wide
