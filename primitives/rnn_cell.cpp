// Wide lstm_cell, gru_cell, rnn_tanh_cell, rnn_relu_cell: two batched products and one cell step for all
// members.
//   x [N, B, I]; h, c [N, B, H]; w_ih [N, G·H, I]; w_hh [N, G·H, H]; b_ih, b_hh [N, G·H] or none
#include "primitives/recurrent.h"
#include "primitives/support.h"

namespace wide::rnn_cell_primitive {
namespace {

using recurrent::Cell;
enum { kX, kState, kWIh, kWHh, kBIh, kBHh };

// h, and c of an LSTM, as operands.
std::vector<std::size_t> states(const Call& call) {
  std::vector<std::size_t> operands;
  for_each_use(call.node.arguments[kState],
               [&](ValueId id) { operands.push_back(static_cast<std::size_t>(id)); });
  return operands;
}

double flops(const Call& call) {
  const auto rows = call.operand_at(kX)->type.shape[0];
  const auto weights = call.operand_at(kWIh)->type.elements() + call.operand_at(kWHh)->type.elements();
  return 2.0 * static_cast<double>(rows * weights * call.members);
}

// Two products and the cell's arithmetic.
double alone(const Call& call) {
  const auto kernels = 1.0 + recurrent::kernels_per_step(recurrent::cell_of(call.node.op));
  return kernels * kNanosecondsPerCall +
         flops(call) / static_cast<double>(call.members) * kNanosecondsPerFlop;
}

Answer ask(const Call& call) {
  for (const auto index : {kX, kWIh, kWHh}) {
    if (!call.operand_of(index)) return refuse("an operand is a constant");
  }
  if (call.operand_at(kX)->type.rank() != 2) return refuse("the input has no batch axis");
  for (const auto state : states(call)) {
    if (call.operands[state].type.rank() != 2) return refuse("a state has no batch axis");
  }
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(total_bytes(call), flops(call)) +
             recurrent::kernels_per_step(recurrent::cell_of(call.node.op)) * kNanosecondsPerCall;
  return offer(std::move(one));
}

Kernel prepare(const Call& call, const Offer&) {
  const auto cell = recurrent::cell_of(call.node.op);
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto front = [&](std::size_t operand) {
      const auto& known = call.operands[operand];
      return known.mapped ? in[operand]
                          : convert(in[operand], Layout::kShared, Layout::kFront, known.type, call.members);
    };
    const auto hidden = states(call);
    const recurrent::State state{front(hidden[0]), cell == Cell::kLstm ? front(hidden[1]) : at::Tensor()};
    auto b_ih = front_or_none(call, kBIh, in), b_hh = front_or_none(call, kBHh, in);
    if (b_ih.defined()) b_ih = b_ih.unsqueeze(1);
    if (b_hh.defined()) b_hh = b_hh.unsqueeze(1);
    if (cell != Cell::kGru && b_hh.defined()) b_ih = b_ih.defined() ? b_ih + b_hh : b_hh;
    const auto input = recurrent::product(front_or_none(call, kX, in), front_or_none(call, kWIh, in), b_ih);
    const auto next = recurrent::step(cell, input, state, front_or_none(call, kWHh, in), b_hh);
    out[0] = next.h;
    if (cell == Cell::kLstm) out[1] = next.c;
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const auto arguments = [](bool lstm, bool biases) {
    const auto at = [](ValueId id) { return Argument{ValueRef{id}}; };
    const ValueId next = lstm ? 3 : 2;
    std::vector<Argument> list{at(0), lstm ? Argument{Argument::List{at(1), at(2)}} : at(1), at(next),
                               at(next + 1)};
    for (ValueId i = 2; i < 4; ++i) list.push_back(biases ? at(next + i) : Argument{});
    return list;
  };
  const SampleOperand x{{5, 7}}, h{{5, 4}}, shared{{5, 4}, false};
  const std::string lstm = "aten.lstm_cell.default", gru = "aten.gru_cell.default";
  return {
      {"lstm", lstm, arguments(true, true), {x, h, h, {{16, 7}}, {{16, 4}}, {{16}}, {{16}}}},
      {"lstm, no biases", lstm, arguments(true, false), {x, h, h, {{16, 7}}, {{16, 4}}}},
      {"lstm, shared states",
       lstm,
       arguments(true, true),
       {x, shared, shared, {{16, 7}}, {{16, 4}}, {{16}}, {{16}}}},
      {"gru", gru, arguments(false, true), {x, h, {{12, 7}}, {{12, 4}}, {{12}}, {{12}}}},
      {"gru, no biases", gru, arguments(false, false), {x, h, {{12, 7}}, {{12, 4}}}},
      {"tanh",
       "aten.rnn_tanh_cell.default",
       arguments(false, true),
       {x, h, {{4, 7}}, {{4, 4}}, {{4}}, {{4}}}},
      {"relu, shared weights",
       "aten.rnn_relu_cell.default",
       arguments(false, false),
       {x, h, {{4, 7}, false}, {{4, 4}, false}}},
      {"B equals N",
       gru,
       arguments(false, true),
       {{{members, 7}}, {{members, 4}}, {{12, 7}}, {{12, 4}}, {{12}}, {{12}}}},
  };
}

}  // namespace

Primitive rnn_cell() {
  return {"rnn_cell",
          {"aten.lstm_cell.default", "aten.gru_cell.default", "aten.rnn_tanh_cell.default",
           "aten.rnn_relu_cell.default"},
          nullptr,
          {{"fused", ask, prepare}},
          flops,
          samples,
          alone};
}

}  // namespace wide::rnn_cell_primitive
