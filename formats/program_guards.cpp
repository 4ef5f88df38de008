// Conditions on the inputs' sizes. torch.export names a size by its way from the arguments,
// L['x'].size()[0] or L['batch']['ids'][1].size()[0]; here it becomes the symbol that stands there in the
// graph.

#include <algorithm>
#include <charconv>

#include "formats/fault.h"
#include "formats/guard.h"
#include "formats/program_parser.h"

namespace wide::formats {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;  // of all conditions
constexpr std::size_t kMostDimensions = 64;

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/// Reads what one source names, from behind its "L".
class Source {
 public:
  Source(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  /// The keys of the way, joined as torch.export joins them for the name of an input: batch_ids_1.
  std::string name() {
    std::string joined;
    while (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '.')) {
      if (text_.substr(at_).starts_with(".size()")) break;
      const bool item = text_[at_] == '[';
      const auto end = text_.find_first_of(item ? "]" : ".[ )", at_ + 1);
      auto key = text_.substr(at_ + 1, end == std::string_view::npos ? end : end - at_ - 1);
      at_ = end == std::string_view::npos ? text_.size() : end + item;
      if (key.size() >= 2 && (key.front() == '\'' || key.front() == '"')) key = key.substr(1, key.size() - 2);
      if (!joined.empty()) joined += '_';
      for (const char c : key) joined += is_word(c) ? c : '_';
    }
    return joined;
  }

  /// Of .size()[2]; nothing where the source is a number itself.
  std::optional<std::size_t> dimension() {
    static constexpr std::string_view kSize = ".size()[";
    if (!text_.substr(at_).starts_with(kSize)) return {};
    const auto begin = at_ + kSize.size(), end = std::min(text_.find(']', begin), text_.size());
    at_ = end + 1;
    std::size_t result = kMostDimensions;  // what is no number is no dimension either
    const auto [rest, error] = std::from_chars(text_.data() + begin, text_.data() + end, result);
    return error == std::errc() && rest == text_.data() + end ? result : kMostDimensions;
  }

  std::size_t end() const { return std::min(at_, text_.size()); }

 private:
  std::string_view text_;
  std::size_t at_;
};

using Inputs = std::map<std::string, const Argument*, std::less<>>;

// Under their own names, and as leaves of all arguments: flat_args_2.
Inputs inputs_by_name(const ExportedProgram& program) {
  Inputs inputs;
  std::size_t leaf = 0;
  for (const auto& input : program.inputs) {
    const bool user = input.kind == InputSpec::Kind::kUserInput;
    if (!user && input.kind != InputSpec::Kind::kConstantInput) continue;
    const auto place = "flat_args_" + std::to_string(leaf++);
    if (!user) continue;
    inputs.emplace(place, &input.argument);
    if (const auto* tensor = std::get_if<TensorName>(&input.argument.value))
      inputs.emplace(tensor->name, &input.argument);
    if (const auto* symbol = std::get_if<SymbolName>(&input.argument.value))
      inputs.emplace(symbol->name, &input.argument);
  }
  return inputs;
}

std::string symbol_of(const ExportedProgram& program, const Inputs& inputs, Source& source) {
  const auto name = source.name();
  const auto dimension = source.dimension();
  const auto found = inputs.find(name);
  if (found == inputs.end()) throw Fault("speaks of " + quote(name) + ", which is no input");
  const auto* input = found->second;
  if (const auto* number = std::get_if<SymbolName>(&input->value); number && !dimension) return number->name;
  const auto* tensor = std::get_if<TensorName>(&input->value);
  const auto* meta = tensor ? &program.graph.tensors.at(tensor->name) : nullptr;
  if (!meta || !dimension || *dimension >= meta->sizes.size())
    throw Fault("speaks of " + quote(name) + " as if it were something else");
  const auto& size = meta->sizes[*dimension];
  if (const auto* number = std::get_if<std::int64_t>(&size)) return std::to_string(*number);
  const auto& expression = std::get<Expression>(size);
  if (expression.kind != Expression::Kind::kSymbol) throw Fault("speaks of a size that is computed");
  return expression.symbol;
}

std::string over_symbols(std::string_view text, const ExportedProgram& program, const Inputs& inputs,
                         std::map<std::string, std::int64_t>& symbols) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const bool source = text.substr(at).starts_with("L[") && (at == 0 || !is_word(text[at - 1]));
    if (!source) {
      result += text[at++];
      continue;
    }
    Source from(text, at + 1);
    const auto symbol = symbol_of(program, inputs, from);
    symbols.emplace(symbol, 2);
    result += symbol;
    at = from.end();
  }
  return result;
}

}  // namespace

void parse_guards(const Json& json, ExportedProgram& program) {
  const Json* guards = optional_member(json, "guards_code");
  if (!guards) return;
  const auto inputs = inputs_by_name(program);
  std::size_t bytes = 0, unread = 0;
  std::string first;
  for (const auto& one : as_array(*guards, "guards_code")) {
    const auto& text = as_text(one, "an entry of guards_code");
    try {
      if ((bytes += text.size()) > kMostBytes) throw Fault("the file has more than 1 MiB of them");
      std::map<std::string, std::int64_t> symbols;
      auto guard = over_symbols(text, program, inputs, symbols);
      (void)guard_holds(guard, symbols);  // refuses what cannot be read
      if (std::ranges::find(program.guards, guard) == program.guards.end())
        program.guards.push_back(std::move(guard));
    } catch (const Fault& fault) {
      if (unread++ == 0) first = quote(text) + ": " + fault.what();
    }
  }
  if (unread > 0)
    program.warnings.push_back("sizes are not checked against " + std::to_string(unread) +
                               " conditions of the export, the first is " + first);
}

}  // namespace wide::formats
