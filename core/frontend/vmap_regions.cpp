#include "core/frontend/vmap_regions.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "core/eager/operators.h"
#include "core/frontend/refuse.h"

namespace wide {
namespace {

using FileArgument = formats::Argument;
using FileNode = formats::ProgramNode;

using FileNodes = std::vector<FileNode>;

constexpr std::string_view kPredispatch = "torch._functorch.predispatch.";

bool is_call(const FileNode& node, std::string_view name) {
  return node.target.starts_with(kPredispatch) && node.target.substr(kPredispatch.size()) == name;
}

[[noreturn]] void refuse_region(const FileNode& node, const std::string& why) {
  refuse(node, why + "; export the model without torch.vmap here");
}

// Calls `visit` with the name of each tensor and number in it; a nested graph has names of its own.
template <typename Visit>
void for_each_name(const FileArgument& argument, const Visit& visit) {
  if (const auto* tensor = std::get_if<formats::TensorName>(&argument.value)) {
    visit(tensor->name, argument);
  } else if (const auto* symbol = std::get_if<formats::SymbolName>(&argument.value)) {
    visit(symbol->name, argument);
  } else if (const auto* list = std::get_if<std::vector<FileArgument>>(&argument.value)) {
    for (const auto& item : *list) for_each_name(item, visit);
  }
}

const std::string& tensor_at(const FileNode& node, std::size_t place) {
  const auto* tensor = place < node.inputs.size()
                           ? std::get_if<formats::TensorName>(&node.inputs[place].value.value)
                           : nullptr;
  if (!tensor) refuse_region(node, "wants a tensor as argument " + std::to_string(place));
  return tensor->name;
}

std::int64_t number_at(const FileNode& node, std::size_t place) {
  const auto* number =
      place < node.inputs.size() ? std::get_if<std::int64_t>(&node.inputs[place].value.value) : nullptr;
  if (!number) refuse_region(node, "wants a number as argument " + std::to_string(place));
  return *number;
}

const std::string& result_of(const FileNode& node) {
  const auto* tensor =
      node.outputs.size() == 1 ? std::get_if<formats::TensorName>(&node.outputs[0].value) : nullptr;
  if (!tensor) refuse_region(node, "has no tensor as result");
  return tensor->name;
}

FileArgument named_tensor(const std::string& name) {
  return {formats::TensorName{name}};
}

FileNode move_axis(const FileNode& around, const std::string& from, const std::string& to,
                   std::int64_t source, std::int64_t destination) {
  return {"torch.ops.aten.movedim.int",
          around.name,
          {{"self", named_tensor(from)}, {"source", {source}}, {"destination", {destination}}},
          {named_tensor(to)},
          around.module_path};
}

bool draws(const FileNode& node) {
  constexpr std::string_view kOps = "torch.ops.";
  if (!node.target.starts_with(kOps)) return false;
  const auto op = find_operator(node.target.substr(kOps.size()));
  const auto is_off = [](const formats::NamedArgument& input) {
    const auto* flag = std::get_if<bool>(&input.value.value);
    return (input.name == "train" || input.name == "training") && flag && !*flag;
  };
  return op && is_random(*op) && std::none_of(node.inputs.begin(), node.inputs.end(), is_off);
}

class VmapRegion {
 public:
  // `nodes` are those between its begin and its end, without regions.
  VmapRegion(const FileNode& begin, FileNodes nodes) : begin_(begin), nodes_(std::move(nodes)) {}

  // Appends what takes the region's place.
  void write(FileNodes& out) {
    for (auto& node : nodes_) sort(std::move(node), out);
    if (removed_.empty()) return;  // nobody reads what it computes
    if (added_.empty()) refuse_region(begin_, "no tensor has rows to go over");
    std::vector<FileArgument> rows, free;
    auto body = std::make_shared<formats::Subgraph>();
    for (const auto& node : added_) {
      auto from = tensor_at(node, 0);
      if (const auto axis = number_at(node, 1); axis != 0) {
        out.push_back(move_axis(node, from, result_of(node) + "_rows", axis, 0));
        from = result_of(node) + "_rows";
      }
      rows.push_back(named_tensor(from));
      body->inputs.push_back(named_tensor(result_of(node)));
    }
    for (const auto& name : free_names()) {
      free.push_back(name);
      body->inputs.push_back(name);
    }
    FileNode map{"torch.ops.higher_order.map_impl", begin_.name, {}, {}, begin_.module_path};
    FileNodes after;
    for (const auto& node : removed_) {
      body->outputs.push_back(named_tensor(tensor_at(node, 0)));
      auto to = result_of(node);
      if (const auto axis = number_at(node, 3); axis != 0) {
        after.push_back(move_axis(node, to + "_rows", to, 0, axis));
        to += "_rows";
      }
      map.outputs.push_back(named_tensor(to));
    }
    body->nodes = std::move(inside_);
    map.inputs = {{"f", {std::shared_ptr<const formats::Subgraph>(std::move(body))}},
                  {"xs", {std::move(rows)}},
                  {"pos_args", {std::move(free)}}};
    out.push_back(std::move(map));
    std::move(after.begin(), after.end(), std::back_inserter(out));
  }

 private:
  // What does not read a row is the same for all, and is done before.
  void sort(FileNode node, FileNodes& out) {
    if (is_call(node, "_add_batch_dim")) {
      batched_.insert(result_of(node));
      return added_.push_back(std::move(node));
    }
    if (is_call(node, "_remove_batch_dim")) return removed_.push_back(std::move(node));
    if (draws(node)) refuse_region(node, "draws random numbers for all rows at once");
    bool reads = false;
    for (const auto& input : node.inputs)
      for_each_name(input.value,
                    [&](const std::string& name, const auto&) { reads |= batched_.contains(name); });
    if (!reads) return out.push_back(std::move(node));
    for (const auto& output : node.outputs)
      for_each_name(output, [&](const std::string& name, const auto&) { batched_.insert(name); });
    inside_.push_back(std::move(node));
  }

  // What the nodes inside, and the results, take from outside; each once, in the order of use.
  std::vector<FileArgument> free_names() const {
    std::vector<FileArgument> names;
    std::set<std::string> seen;
    const auto use = [&](const std::string& name, const FileArgument& argument) {
      if (!batched_.contains(name) && seen.insert(name).second) names.push_back(argument);
    };
    for (const auto& node : inside_)
      for (const auto& input : node.inputs) for_each_name(input.value, use);
    for (const auto& node : removed_) for_each_name(node.inputs[0].value, use);
    return names;
  }

  const FileNode& begin_;
  FileNodes nodes_, added_, inside_, removed_;
  std::set<std::string> batched_;
};

// The nodes from `place` on to the end of the region that `begin` opens, or of the graph; `place` is behind
// it then.
FileNodes without_regions(const formats::Subgraph& graph, std::size_t& place, const FileNode* begin) {
  FileNodes nodes;
  while (place < graph.nodes.size()) {
    const auto& node = graph.nodes[place++];
    if (is_call(node, "_vmap_increment_nesting")) {
      VmapRegion(node, without_regions(graph, place, &node)).write(nodes);
    } else if (is_call(node, "_vmap_decrement_nesting")) {
      if (!begin) refuse_region(node, "ends a region that nothing begins");
      return nodes;
    } else {
      nodes.push_back(node);
    }
  }
  if (begin) refuse_region(*begin, "begins a region that nothing ends");
  return nodes;
}

}  // namespace

bool has_vmap_regions(const formats::Subgraph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const FileNode& node) { return is_call(node, "_vmap_increment_nesting"); });
}

formats::Subgraph with_maps(formats::Subgraph graph) {
  std::size_t place = 0;
  graph.nodes = without_regions(graph, place, nullptr);
  return graph;
}

}  // namespace wide
