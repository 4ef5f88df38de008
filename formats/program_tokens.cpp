// Effect tokens: how torch.export keeps operators in order that do something beside their results. A graph of
// ours keeps its order, so that an operator stands here without its token.

#include <algorithm>

#include "formats/fault.h"
#include "formats/program_parser.h"

namespace wide::formats {
namespace {

constexpr std::string_view kWithEffects = "torch.ops.higher_order.with_effects";

// with_effects(token, operator, arguments…) gives a token and the operator's results.
void unwrap(ProgramNode& node) {
  const auto* op = node.inputs.size() < 2 ? nullptr : std::get_if<OperatorName>(&node.inputs[1].value.value);
  if (!op || node.outputs.empty())
    throw Fault("node " + quote(node.name) +
                ": with_effects wants a token and an operator, and gives a token; export the model again");
  node.target = std::string(op->name);
  node.inputs.erase(node.inputs.begin(), node.inputs.begin() + 2);
  node.outputs.erase(node.outputs.begin());
  if (node.outputs.size() == 1 && std::holds_alternative<None>(node.outputs[0].value)) node.outputs.clear();
}

// Specs and values stand in the same order.
template <class Spec>
void drop_tokens(std::vector<Spec>& specs, std::vector<Argument>& values) {
  for (std::size_t i = specs.size(); i-- > 0;) {
    if (specs[i].kind != Spec::Kind::kToken) continue;
    specs.erase(specs.begin() + static_cast<std::ptrdiff_t>(i));
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace

void take_out_tokens(ExportedProgram& program) {
  drop_tokens(program.inputs, program.graph.inputs);
  drop_tokens(program.outputs, program.graph.outputs);
  for (auto& node : program.graph.nodes) {
    if (node.target == kWithEffects) unwrap(node);
  }
}

}  // namespace wide::formats
