#pragma once
// Operators that run graphs of their own: control flow as torch.export writes it, and a graph called as one
// node.
//
//   higher_order.cond(pred, [operands…]) {if true} {if false}
//   higher_order.while_loop([carried…], [others…]) {goes on} {step}
//   higher_order.while_loop_stack_output([carried…], [others…]) {goes on} {step}
//   higher_order.map_impl([xs…], [others…]) {of one row}
//   higher_order.scan([carried…], [xs…], [others…]) {step}
//   higher_order.autocast(dtype, [operands…]) {under autocast of where they lie}
//   wide.call([operands…]) {in place of a node that ATen has no pure operator for}
//   wide.group([operands…]) {pointwise operators, run together}

#include <ATen/core/ivalue.h>

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"

namespace wide {

class Interpreter;

inline constexpr std::string_view kCond = "higher_order.cond", kWhileLoop = "higher_order.while_loop",
                                  kWhileLoopStacked = "higher_order.while_loop_stack_output",
                                  kMap = "higher_order.map_impl", kScan = "higher_order.scan",
                                  kAutocast = "higher_order.autocast", kCall = "wide.call",
                                  kGroup = "wide.group";

/// The node runs graphs of its own.
inline bool is_higher_order(const Node& node) {
  return !node.bodies.empty();
}
/// How many graphs the operator has, how many lists of operands follow its other arguments; nothing for an
/// operator that is none of these.
struct HigherOrderForm {
  std::string_view op;
  std::size_t bodies, arguments;
};
const HigherOrderForm* higher_order_form(std::string_view op);

/// Runs such a node for one member, its graphs node by node.
class HigherOrderCall {
 public:
  /// `node` uses operand indices as value ids. Throws wide::Error ("capture") for an operator, or a number of
  /// graphs, arguments or inputs, that is not as above.
  explicit HigherOrderCall(const Node& node);
  ~HigherOrderCall();

  /// Results never share memory with operands.
  void run(std::span<const c10::IValue> operands, std::vector<c10::IValue>& results) const;

 private:
  using Values = std::vector<c10::IValue>;
  Values values(std::size_t argument, std::span<const c10::IValue> operands) const;
  Values step(std::size_t body, std::initializer_list<std::span<const c10::IValue>> inputs) const;
  Values while_loop(Values carried, const Values& others) const;
  Values while_loop_stacked(Values carried, const Values& others) const;
  Values over_rows(Values carried, const Values& rows, const Values& others) const;

  Node node_;
  std::vector<std::unique_ptr<Interpreter>> bodies_;
};

}  // namespace wide
