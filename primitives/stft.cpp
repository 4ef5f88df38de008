// Wide stft and istft: the signals of all members are a batch; the window is everybody's.
//   stft: x [N·B, T] or [N, T] -> [N·B, F, frames]; istft: x [N·B, F, frames] or [N, F, frames] -> [N·B, T]
#include <algorithm>

#include "primitives/support.h"

namespace wide::stft_primitive {
namespace {

// Axes of one member's signal without a batch.
std::int64_t signal_axes(const Call& call) {
  return call.node.op == "aten.istft.default" ? 2 : 1;
}

bool is_batched(const Call& call) {
  return call.operand_at(0)->type.rank() > signal_axes(call);
}

Answer ask(const Call& call) {
  if (!is_mapped(call, 0)) return refuse("the signal is shared");
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    if (i != *call.operand_of(0) && call.operands[i].mapped) return refuse("the window differs per member");
  }
  // Without a batch axis the members are the batch.
  return offer(uniform_offer(call, is_batched(call) ? Layout::kFolded : Layout::kFront));
}

Kernel prepare(const Call& call, const Offer&) {
  return boxed(call, call.node);
}

std::vector<Sample> samples(std::int64_t members) {
  const std::int64_t frame = 8, hop = 3;
  const auto arguments = [&](Argument window) {
    // x, n_fft, hop, window's length, window, centred, mode, normalised, one-sided, complex, align
    return std::vector<Argument>{
        {ValueRef{0}}, {frame}, {hop},  {}, std::move(window), {true}, {std::string("reflect")},
        {false},       {true},  {true}, {}};
  };
  const SampleOperand window{{8}, false, at::kFloat, 10, true};
  const std::string op = "aten.stft.center";
  return {
      {"batch", op, arguments({ValueRef{1}}), {{{2, 25}}, window}},
      {"one signal", op, arguments({ValueRef{1}}), {{{25}}, window}},
      {"B equals N", op, arguments({ValueRef{1}}), {{{members, 25}}, window}},
  };
}

}  // namespace

Primitive stft() {
  return {"stft",  {"aten.stft.default", "aten.stft.center", "aten.istft.default"},
          nullptr, {{"batched", ask, prepare}},
          nullptr, samples};
}

}  // namespace wide::stft_primitive
