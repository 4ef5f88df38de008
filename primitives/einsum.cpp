// Wide einsum: a letter for the model axis is put before every mapped operand and the output.
#include <algorithm>
#include <map>
#include <optional>

#include "primitives/support.h"

namespace wide::einsum_primitive {
namespace {

struct Equation {
  std::vector<std::string> operands;
  std::string output;
};

// "ij,jk" -> operands and the output that einsum implies: letters that stand once, in order, after "...".
std::optional<Equation> parse(std::string text) {
  std::erase(text, ' ');
  Equation equation;
  const auto arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  for (std::size_t start = 0; start <= left.size();) {
    const auto comma = std::min(left.find(',', start), left.size());
    equation.operands.push_back(left.substr(start, comma - start));
    start = comma + 1;
  }
  if (arrow != std::string::npos) {
    equation.output = text.substr(arrow + 2);
    return equation;
  }
  std::map<char, int> counts;
  bool ellipsis = false;
  for (const auto& operand : equation.operands) {
    ellipsis |= operand.find("...") != std::string::npos;
    for (const char c : operand) counts[c] += c != '.';
  }
  if (ellipsis) equation.output = "...";
  for (const auto& [letter, count] : counts) {
    if (count == 1) equation.output += letter;
  }
  return equation;
}

std::optional<char> unused_letter(const std::string& text) {
  for (const std::string_view range : {"nmNMzyxwvutsrqpolkjihgfedcba", "ZYXWVUTSRQPOLKJIHGFEDCBA"}) {
    for (const char c : range) {
      if (text.find(c) == std::string::npos) return c;
    }
  }
  return std::nullopt;
}

// "aten.einsum.default"(equation, tensors, path)
std::optional<std::string> widen(const Call& call) {
  const auto* text = std::get_if<std::string>(&call.node.arguments[0].value);
  if (!text) return std::nullopt;
  const auto equation = parse(*text);
  const auto letter = unused_letter(*text);
  if (!equation || !letter || equation->operands.size() != call.operands.size()) return std::nullopt;
  std::string wide;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    if (i) wide += ',';
    if (call.operands[i].mapped) wide += *letter;
    wide += equation->operands[i];
  }
  return wide + "->" + *letter + equation->output;
}

Answer ask(const Call& call) {
  if (!widen(call)) return refuse("the equation cannot take one more letter");
  return offer(uniform_offer(call, Layout::kFront));
}

Kernel prepare(const Call& call, const Offer&) {
  auto wide = call.node;
  wide.arguments[0] = {*widen(call)};
  wide.arguments[2] = {};  // a contraction path was chosen for other sizes
  return boxed(call, std::move(wide));
}

std::vector<Sample> samples(std::int64_t members) {
  const auto arguments = [](std::string equation, int operands) {
    Argument::List list;
    for (int i = 0; i < operands; ++i) list.push_back({ValueRef{i}});
    return std::vector<Argument>{{std::move(equation)}, {std::move(list)}, {}};
  };
  const std::string op = "aten.einsum.default";
  return {
      {"matrix product", op, arguments("ij,jk->ik", 2), {{{5, 7}}, {{7, 4}}}},
      {"implied output", op, arguments("ij, jk", 2), {{{5, 7}}, {{7, 4}}}},
      {"shared operand", op, arguments("bnd,dk->bnk", 2), {{{2, 5, 7}}, {{7, 4}, false}}},
      {"ellipsis", op, arguments("...i,...j->...ij", 2), {{{5, 7}}, {{5, 4}}}},
      {"one operand", op, arguments("ij->ji", 1), {{{5, 7}}}},
      {"B equals N", op, arguments("bi,bj->bij", 2), {{{members, 7}}, {{members, 4}}}},
  };
}

}  // namespace

Primitive einsum() {
  return {"einsum", {"aten.einsum.default"}, nullptr, {{"batched", ask, prepare}}, nullptr, samples};
}

}  // namespace wide::einsum_primitive
