// What each input and output of the graph stands for.

#include "formats/fault.h"
#include "formats/program_parser.h"

namespace wide::formats {
namespace {

std::string value_name(const Argument& argument) {
  if (const auto* tensor = std::get_if<TensorName>(&argument.value)) return tensor->name;
  if (const auto* symbol = std::get_if<SymbolName>(&argument.value)) return symbol->name;
  return {};
}

Argument tensor_of(const Json& spec) {
  return {{TensorName{as_text(member(member(spec, "arg"), "name"), "the name of a tensor")}}};
}

std::string target_of(const Json& spec, const char* key) {
  return as_text(member(spec, key), key);
}

[[noreturn]] void refuse_kind(const std::string& tag, const char* what) {
  throw Fault(std::string(what) + " of kind " + quote(tag) +
              " is not supported; export the model for inference, from plain parameters and buffers");
}

InputSpec parse_input_spec(const Json& json, ProgramParsing& parsing) {
  using Kind = InputSpec::Kind;
  const auto [tag, spec] = as_tagged(json, "an input_spec");
  if (tag == "user_input") return {Kind::kUserInput, parse_argument(member(spec, "arg"), parsing, 0), ""};
  if (tag == "parameter") return {Kind::kParameter, tensor_of(spec), target_of(spec, "parameter_name")};
  if (tag == "buffer")
    return {Kind::kBuffer, tensor_of(spec), target_of(spec, "buffer_name"),
            as_boolean(member(spec, "persistent"), "persistent")};
  if (tag == "tensor_constant")
    return {Kind::kTensorConstant, tensor_of(spec), target_of(spec, "tensor_constant_name")};
  if (tag == "constant_input")
    return {Kind::kConstantInput, parse_argument(member(spec, "value"), parsing, 0), target_of(spec, "name")};
  if (tag == "token") return {Kind::kToken, tensor_of(spec), ""};
  refuse_kind(tag, "an input");
}

OutputSpec parse_output_spec(const Json& json, ProgramParsing& parsing) {
  using Kind = OutputSpec::Kind;
  const auto [tag, spec] = as_tagged(json, "an output_spec");
  if (tag == "user_output") return {Kind::kUserOutput, parse_argument(member(spec, "arg"), parsing, 0), ""};
  if (tag == "buffer_mutation")
    return {Kind::kBufferMutation, tensor_of(spec), target_of(spec, "buffer_name")};
  if (tag == "parameter_mutation")
    return {Kind::kBufferMutation, tensor_of(spec), target_of(spec, "parameter_name")};
  if (tag == "user_input_mutation")
    return {Kind::kUserInputMutation, tensor_of(spec), target_of(spec, "user_input_name")};
  if (tag == "loss_output") return {Kind::kLoss, tensor_of(spec), ""};
  if (tag == "gradient_to_parameter")
    return {Kind::kParameterGradient, tensor_of(spec), target_of(spec, "parameter_name")};
  if (tag == "gradient_to_user_input")
    return {Kind::kUserInputGradient, tensor_of(spec), target_of(spec, "user_input_name")};
  if (tag == "token") return {Kind::kToken, tensor_of(spec), ""};
  refuse_kind(tag, "an output");
}

/// Both lists describe the same values in the same order; a reader that trusted one of them could be led
/// astray.
template <class Spec>
void check_order(const std::vector<Spec>& specs, const std::vector<Argument>& values, const char* what) {
  if (specs.size() != values.size())
    throw Fault("the signature has " + std::to_string(specs.size()) + " " + what + "s, the graph " +
                std::to_string(values.size()) + "; export the model again");
  for (std::size_t i = 0; i < specs.size(); ++i)
    if (value_name(specs[i].argument) != value_name(values[i]))
      throw Fault(std::string(what) + " " + std::to_string(i) + " is " +
                  quote(value_name(specs[i].argument)) + " in the signature but " +
                  quote(value_name(values[i])) + " in the graph; export the model again");
}

}  // namespace

std::vector<InputSpec> parse_input_specs(const Json& signature, const Subgraph& graph,
                                         ProgramParsing& parsing) {
  const auto& list = as_array(member(signature, "input_specs"), "input_specs");
  std::vector<InputSpec> specs;
  for (std::size_t i = 0; i < list.size(); ++i)
    specs.push_back(within([&] { return "input_spec " + std::to_string(i); },
                           [&] { return parse_input_spec(list[i], parsing); }));
  check_order(specs, graph.inputs, "input");
  return specs;
}

std::vector<OutputSpec> parse_output_specs(const Json& signature, const Subgraph& graph,
                                           ProgramParsing& parsing) {
  const auto& list = as_array(member(signature, "output_specs"), "output_specs");
  std::vector<OutputSpec> specs;
  for (std::size_t i = 0; i < list.size(); ++i)
    specs.push_back(within([&] { return "output_spec " + std::to_string(i); },
                           [&] { return parse_output_spec(list[i], parsing); }));
  check_order(specs, graph.outputs, "output");
  return specs;
}

}  // namespace wide::formats
