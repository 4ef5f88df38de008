// Wide lstm, gru, rnn_tanh, rnn_relu over whole sequences, of any number of layers and directions.
//   x [N, T, B, I] or [N, B, T, I]; states [N, L·D, B, H]; weights [N, G·H, …]; y [N, T, B, D·H] as x
// Per layer and direction the input of all time steps is one batched product; each step is one more over all
// members, and the cell's arithmetic. Arguments: x, states, weights, has_biases, layers, dropout, train,
// bidirectional, batch_first.
#include <ATen/ATen.h>

#include <algorithm>

#include "core/strategy/shared_constants.h"
#include "primitives/kernels/packed_gemm.h"
#include "primitives/kernels/recurrence.h"
#include "primitives/recurrent.h"
#include "primitives/support.h"

namespace wide::rnn_primitive {
namespace {

using recurrent::Cell;
enum { kX, kStates, kWeights, kBiases, kLayers, kDropout, kTrain, kBidirectional, kBatchFirst };

std::vector<std::size_t> operands_of(const Call& call, std::size_t argument) {
  std::vector<std::size_t> operands;
  for_each_use(call.node.arguments[argument],
               [&](ValueId id) { operands.push_back(static_cast<std::size_t>(id)); });
  return operands;
}

// What does not change from run to run.
struct Shape {
  Cell cell;
  std::int64_t members, layers, directions, time_axis, steps;
  std::size_t weights;  ///< tensors per layer and direction
  bool biases, projected;
};

Shape shape_of(const Call& call) {
  Shape shape{recurrent::cell_of(call.node.op),
              call.members,
              call.integer(kLayers),
              call.flag(kBidirectional) ? 2 : 1,
              call.flag(kBatchFirst) ? 2 : 1,
              0,
              2,
              call.flag(kBiases),
              false};
  shape.steps = call.operand_at(kX)->type.shape[static_cast<std::size_t>(shape.time_axis) - 1];
  if (shape.biases) shape.weights += 2;
  const auto states = operands_of(call, kStates);
  shape.projected =
      states.size() == 2 && call.operands[states[0]].type.shape[2] != call.operands[states[1]].type.shape[2];
  if (shape.projected) ++shape.weights;
  return shape;
}

double flops(const Call& call) {
  double weights = 0;
  for (const auto operand : operands_of(call, kWeights)) {
    if (call.operands[operand].type.rank() == 2)
      weights += static_cast<double>(call.operands[operand].type.elements());
  }
  const auto& x = call.operand_at(kX)->type;
  return 2.0 * weights * static_cast<double>(x.shape[0] * x.shape[1] * call.members);
}

// ATen runs an LSTM on the CPU as oneDNN primitives, the other cells as a product and the cell's arithmetic
// per step. Measured on two cores with AVX-512: 60 µs per chain, 5 µs per step, and products four times as
// fast as small ones.
double alone(const Call& call) {
  const auto shape = shape_of(call);
  const auto chains = static_cast<double>(shape.layers * shape.directions),
             steps = static_cast<double>(shape.steps);
  const auto arithmetic = flops(call) / static_cast<double>(call.members) * kNanosecondsPerFlop;
  const auto dtype = call.operand_at(kX)->type.dtype;
  if (shape.cell == Cell::kLstm && !shape.projected && (dtype == at::kFloat || dtype == at::kBFloat16)) {
    return chains * (60'000 + 5'000 * steps) + 0.25 * arithmetic;
  }
  return chains * (6 + (2 + recurrent::kernels_per_step(shape.cell)) * steps) * kNanosecondsPerCall +
         arithmetic;
}

// Every step reads the recurrent weights of all members again, and three nanoseconds go into each gate.
double together(const Call& call) {
  const auto shape = shape_of(call);
  const auto chains = static_cast<double>(shape.layers * shape.directions),
             steps = static_cast<double>(shape.steps);
  const auto& x = call.operand_at(kX)->type;
  double weights = 0, gates = 0;
  for (const auto operand : operands_of(call, kWeights)) {
    const auto& type = call.operands[operand].type;
    if (type.rank() != 2) continue;
    weights += static_cast<double>(type.bytes());
    gates += 0.5 * static_cast<double>(type.shape[0] * x.shape[0] * x.shape[1]);
  }
  const auto members = static_cast<double>(call.members);
  const auto launches = chains * (steps * recurrent::kernels_per_step(shape.cell) + 6) * kNanosecondsPerCall;
  return launches + kernel_cost(0.5 * weights * steps * members, flops(call)) + 3 * gates * members;
}

Answer ask(const Call& call) {
  if (!call.operand_of(kX)) return refuse("the input is a constant");
  if (call.operand_at(kX)->type.rank() != 3) return refuse("the input has no batch axis");
  if (call.flag(kTrain) && call.real(kDropout) != 0.0) return refuse("dropout draws its own mask per member");
  const auto shape = shape_of(call);
  if (shape.steps == 0) return refuse("the sequence is empty");
  if (operands_of(call, kWeights).size() !=
      shape.weights * static_cast<std::size_t>(shape.layers * shape.directions)) {
    return refuse("the number of weights is not what layers and directions say");
  }
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = together(call);
  return offer(std::move(one));
}

// One layer in one direction.
struct Chain {
  at::Tensor w_ih, w_hh, b_ih, b_hh, w_hr;
};

class Sequence {
 public:
  Sequence(const Shape& shape, std::vector<at::Tensor> weights) : shape_(shape) {
    for (std::size_t i = 0; i < weights.size(); i += shape.weights) {
      Chain chain{weights[i], weights[i + 1], {}, {}, {}};
      if (shape.biases) {
        chain.b_ih = weights[i + 2].unsqueeze(1);
        chain.b_hh = weights[i + 3].unsqueeze(1);
        if (shape.cell != Cell::kGru) chain.b_ih = chain.b_ih + chain.b_hh;
      }
      if (shape.projected) chain.w_hr = weights[i + shape.weights - 1];
      chains_.push_back(std::move(chain));
    }
  }

  /// x [N, T, B, I], or [N, B, T, I] when time is axis 2; h0, c0 [N, L·D, B, H].
  void run(at::Tensor x, const at::Tensor& h0, const at::Tensor& c0, std::span<at::Tensor> out) const {
    std::vector<at::Tensor> h, c;
    for (std::size_t layer = 0; layer < static_cast<std::size_t>(shape_.layers); ++layer) {
      std::vector<at::Tensor> directions;
      for (std::size_t direction = 0; direction < static_cast<std::size_t>(shape_.directions); ++direction) {
        const auto index = layer * static_cast<std::size_t>(shape_.directions) + direction;
        const auto at = static_cast<std::int64_t>(index);
        recurrent::State state{h0.select(1, at), c0.defined() ? c0.select(1, at) : at::Tensor()};
        directions.push_back(walk(chains_[index], x, direction == 1, state));
        h.push_back(state.h);
        c.push_back(state.c);
      }
      x = directions.size() == 1 ? directions[0] : at::cat(directions, -1);
    }
    out[0] = x;
    out[1] = at::stack(h, 1);
    if (shape_.cell == Cell::kLstm) out[2] = at::stack(c, 1);
  }

 private:
  at::Tensor walk(const Chain& chain, const at::Tensor& x, bool backwards, recurrent::State& state) const {
    const auto rows = with_rows(x);
    const auto inputs = recurrent::product(rows, chain.w_ih, chain.b_ih).unflatten(1, {x.size(1), x.size(2)});
    std::vector<at::Tensor> outputs(static_cast<std::size_t>(shape_.steps));
    for (std::int64_t i = 0; i < shape_.steps; ++i) {
      const auto time = backwards ? shape_.steps - 1 - i : i;
      state =
          recurrent::step(shape_.cell, inputs.select(shape_.time_axis, time), state, chain.w_hh, chain.b_hh);
      if (chain.w_hr.defined()) state.h = recurrent::product(state.h, chain.w_hr, {});
      outputs[static_cast<std::size_t>(time)] = state.h;
    }
    return at::stack(outputs, shape_.time_axis);
  }

  Shape shape_;
  std::vector<Chain> chains_;
};

Kernel prepare(const Call& call, const Offer&) {
  const auto shape = shape_of(call);
  const auto x = *call.operand_of(kX);
  const auto states = operands_of(call, kStates), weights = operands_of(call, kWeights);
  return [=, operands = call.operands](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto front = [&](std::size_t i) {
      if (operands[i].mapped) return in[i];
      return convert(in[i], Layout::kShared, Layout::kFront, operands[i].type, shape.members);
    };
    std::vector<at::Tensor> all;
    for (const auto weight : weights) all.push_back(front(weight));
    Sequence(shape, std::move(all))
        .run(front(x), front(states[0]), states.size() > 1 ? front(states[1]) : at::Tensor(), out);
  };
}

kernels::Gates gates_of(Cell cell) {
  switch (cell) {
    case Cell::kTanh:
      return kernels::Gates::kTanh;
    case Cell::kRelu:
      return kernels::Gates::kRelu;
    case Cell::kGru:
      return kernels::Gates::kGru;
    default:
      return kernels::Gates::kLstm;
  }
}

std::int64_t hidden_of(const Call& call) {
  return call.operands[operands_of(call, kStates)[0]].type.shape[2];
}

std::int64_t batch_of(const Call& call) {
  const auto& x = call.operand_at(kX)->type.shape;
  return call.flag(kBatchFirst) ? x[0] : x[1];
}

// A member's whole sequence on one thread, by a kernel of our own.
Answer ask_by_member(const Call& call) {
  auto answer = ask(call);
  if (answer.offers.empty()) return answer;
  const auto shape = shape_of(call);
  if (shape.projected) return refuse("no kernel for projected states");
  const auto is_float = [](const Operand& one) { return one.type.dtype == at::kFloat; };
  if (!std::all_of(call.operands.begin(), call.operands.end(), is_float))
    return refuse("only float32 has such a kernel");
  auto reason = kernels::Recurrence::refusal(gates_of(shape.cell), batch_of(call), hidden_of(call));
  if (!reason.empty()) return refuse(std::move(reason));
  if (call.operand_at(kX)->type.elements() == 0) return refuse("the sequence is empty");
  answer.offers[0].cost = kernel_cost(total_bytes(call), flops(call));
  return answer;
}

// The weights of one layer in one direction, as the kernel wants them.
struct PackedChain {
  at::Tensor w_ih, w_hh;           ///< as PackedGemm::pack() and Recurrence::pack() give them
  at::Tensor bias, hidden;         ///< [N, G·H] of the inputs and of a GRU's hidden part, or undefined
  kernels::PackedGemm contribute;  ///< of all of x to the gates
};

// `rows`: steps of all of the batch.
std::vector<PackedChain> packed(const Shape& shape, const kernels::Recurrence& layer, std::int64_t rows,
                                const std::vector<ConstantPart>& weights) {
  std::vector<PackedChain> chains;
  for (std::size_t i = 0; i < weights.size(); i += shape.weights) {
    const auto& w = weights[i];
    const auto sizes = w.sizes();  // [N, G·H, I]
    const kernels::PackedGemm contribute(rows, sizes[2], sizes[1]);
    PackedChain chain{
        shared_constant(w, "panels", [&](const at::Tensor& all) { return contribute.pack(all); }),
        shared_constant(weights[i + 1], "recurrence", [&](const at::Tensor& all) { return layer.pack(all); }),
        {},
        {},
        contribute};
    if (shape.biases) {
      const auto b_ih = weights[i + 2].tensor(), b_hh = weights[i + 3].tensor();
      chain.bias = (shape.cell == Cell::kGru ? b_ih : b_ih + b_hh).contiguous();
      if (shape.cell == Cell::kGru) chain.hidden = b_hh.contiguous();
    }
    chains.push_back(std::move(chain));
  }
  return chains;
}

// Weights that never change are packed once; all or none.
bool are_known(const Call& call) {
  return std::ranges::all_of(operands_of(call, kWeights), [&](std::size_t i) {
    const auto& one = call.operands[i];
    return one.constant.defined() ? !one.constant.requires_grad() : one.fixed;
  });
}

std::vector<std::size_t> packed_weights(const Call& call) {
  return are_known(call) ? operands_of(call, kWeights) : std::vector<std::size_t>();
}

Kernel prepare_by_member(const Call& call, const Offer&) {
  const auto shape = shape_of(call);
  const auto x_at = *call.operand_of(kX);
  const auto states = operands_of(call, kStates), weights = operands_of(call, kWeights);
  const kernels::Recurrence layer(gates_of(shape.cell), batch_of(call), hidden_of(call));
  const auto& x_type = call.operands[x_at].type;
  const auto rows = x_type.shape[0] * x_type.shape[1];
  std::vector<bool> mapped;
  std::vector<ConcreteType> types;
  for (const auto& operand : call.operands) mapped.push_back(operand.mapped), types.push_back(operand.type);
  const auto front = [=, members = call.members](std::size_t i, const at::Tensor& tensor) {
    return mapped[i] ? tensor : convert(tensor, Layout::kShared, Layout::kFront, types[i], members);
  };
  const bool known = are_known(call);
  std::vector<ConstantPart> constants;
  for (const auto i : weights) {
    const auto& constant = call.operands[i].constant;
    if (known) constants.push_back(mapped[i] ? constant : front(i, constant.tensor()));
  }
  return [=, chains = packed(shape, layer, rows, constants)](std::span<const at::Tensor> in,
                                                             std::span<at::Tensor> out) {
    auto current = chains;
    if (!known) {
      std::vector<ConstantPart> all;
      for (const auto i : weights) all.emplace_back(front(i, in[i]));
      current = packed(shape, layer, rows, all);
    }
    const auto state = [&](std::size_t k, std::int64_t at) {
      return front(states[k], in[states[k]]).select(1, at);
    };
    auto x = front(x_at, in[x_at]);
    std::vector<at::Tensor> h, c;
    for (std::int64_t i = 0; i < shape.layers; ++i) {
      std::vector<at::Tensor> directions;
      for (std::int64_t direction = 0; direction < shape.directions; ++direction) {
        const auto at = i * shape.directions + direction;
        const auto& chain = current[static_cast<std::size_t>(at)];
        const auto inputs = chain.contribute.run(with_rows(x).contiguous(), chain.w_ih, chain.bias);
        kernels::Recurrence::State own{state(0, at), states.size() > 1 ? state(1, at) : at::Tensor()};
        directions.push_back(layer.run(inputs.unflatten(1, {x.size(1), x.size(2)}), chain.w_hh, chain.hidden,
                                       shape.time_axis, direction == 1, own));
        h.push_back(own.h);
        c.push_back(own.c);
      }
      x = directions.size() == 1 ? directions[0] : at::cat(directions, -1);
    }
    out[0] = x;
    out[1] = at::stack(h, 1);
    if (shape.cell == Cell::kLstm) out[2] = at::stack(c, 1);
  };
}

struct SampleShape {
  std::string name, op;
  std::int64_t layers = 1;
  bool biases = true, bidirectional = false, batch_first = false, shared_states = false;
  std::int64_t batch = 2, projection = 0;
};

Sample sample(const SampleShape& wanted) {
  constexpr std::int64_t kTime = 5, kInput = 7, kHidden = 4;
  const auto cell = recurrent::cell_of(wanted.op);
  const std::int64_t gates = cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1;
  const std::int64_t directions = wanted.bidirectional ? 2 : 1;
  const auto output = wanted.projection ? wanted.projection : kHidden;
  Sample made{wanted.name, wanted.op, {}, {}};
  const auto add = [&](std::vector<std::int64_t> shape, bool mapped = true) {
    made.operands.push_back({std::move(shape), mapped});
    return Argument{ValueRef{static_cast<ValueId>(made.operands.size() - 1)}};
  };
  made.arguments.push_back(wanted.batch_first ? add({wanted.batch, kTime, kInput})
                                              : add({kTime, wanted.batch, kInput}));
  const auto state = [&](std::int64_t units) {
    return add({wanted.layers * directions, wanted.batch, units}, !wanted.shared_states);
  };
  Argument::List states{state(output)};
  if (cell == Cell::kLstm) states.push_back(state(kHidden));
  made.arguments.push_back(cell == Cell::kLstm ? Argument{std::move(states)} : states[0]);
  Argument::List weights;
  for (std::int64_t i = 0; i < wanted.layers * directions; ++i) {
    weights.push_back(add({gates * kHidden, i < directions ? kInput : directions * output}));
    weights.push_back(add({gates * kHidden, output}));
    for (int bias = 0; wanted.biases && bias < 2; ++bias) weights.push_back(add({gates * kHidden}));
    if (wanted.projection) weights.push_back(add({output, kHidden}));
  }
  made.arguments.push_back({std::move(weights)});
  for (const Argument& rest :
       {Argument{wanted.biases}, Argument{wanted.layers}, Argument{0.0}, Argument{false},
        Argument{wanted.bidirectional}, Argument{wanted.batch_first}}) {
    made.arguments.push_back(rest);
  }
  return made;
}

std::vector<Sample> samples(std::int64_t members) {
  const std::string lstm = "aten.lstm.input", gru = "aten.gru.input";
  return {
      sample({.name = "lstm", .op = lstm}),
      sample({.name = "lstm, batch first", .op = lstm, .batch_first = true}),
      sample({.name = "lstm, two layers, both directions",
              .op = lstm,
              .layers = 2,
              .bidirectional = true,
              .batch_first = true}),
      sample({.name = "lstm, no biases", .op = lstm, .layers = 2, .biases = false}),
      sample({.name = "lstm, projected", .op = lstm, .layers = 2, .projection = 3}),
      sample({.name = "lstm, shared states", .op = lstm, .shared_states = true}),
      sample({.name = "gru", .op = gru, .layers = 2}),
      sample({.name = "gru, both directions", .op = gru, .bidirectional = true, .batch_first = true}),
      sample({.name = "gru, no biases", .op = gru, .biases = false}),
      sample({.name = "tanh", .op = "aten.rnn_tanh.input", .layers = 2, .bidirectional = true}),
      sample({.name = "relu", .op = "aten.rnn_relu.input", .batch_first = true}),
      sample({.name = "B equals N", .op = gru, .batch = members}),
  };
}

}  // namespace

Primitive rnn() {
  return {"rnn",
          {"aten.lstm.input", "aten.gru.input", "aten.rnn_tanh.input", "aten.rnn_relu.input"},
          nullptr,
          {{"fused", ask, prepare},
           packing_kernel("by_member", ask_by_member, prepare_by_member, packed_weights)},
          flops,
          samples,
          alone};
}

}  // namespace wide::rnn_primitive
