// Wide embedding_bag: member n's rows lie at n·V in one [N·V, D] table and its bags start at n·L in one list
// of ids.
//   table [N·V, D] or [V, D]; ids [N·L]; offsets [N·B]; weights of samples [N·L] or none; y [N, B, D]
// Arguments: table, ids, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last,
// padding_idx.
#include <ATen/ATen.h>

#include "primitives/kernels/embedding.h"
#include "primitives/support.h"

namespace wide::embedding_bag_primitive {
namespace {

enum { kTable, kIds, kOffsets, kScale, kMode, kSparse, kWeights, kIncludeLast, kPadding };
enum { kSum, kMean, kMax };

// The row left out of every bag, or nothing.
std::optional<std::int64_t> padding_row(const Call& call) {
  if (call.node.arguments.size() <= kPadding || call.is_none(kPadding)) return std::nullopt;
  const auto row = call.integer(kPadding);
  if (call.node.op != "aten.embedding_bag.padding_idx") return row < 0 ? std::nullopt : std::optional(row);
  return row < 0 ? row + call.operand_at(kTable)->type.shape[0] : row;
}

Answer ask(const Call& call) {
  for (const auto index : {kTable, kIds, kOffsets}) {
    if (!call.operand_of(index)) return refuse("an operand is a constant");
  }
  if (call.operand_at(kIds)->type.rank() != 1) return refuse("the ids are not one list");
  if (call.flag(kIncludeLast))
    return refuse("the end of the last bag is given, which need not be the end of the ids");
  if (call.operand_at(kOffsets)->type.shape[0] == 0) return refuse("there are no bags");
  for (std::size_t i = 1; i < call.node.results.size(); ++i) {
    if (call.node.results[i] >= 0) return refuse("more than the bags themselves is asked for");
  }
  auto one = uniform_offer(call, Layout::kFront);
  if (is_mapped(call, kTable)) one.operands[*call.operand_of(kTable)] = Layout::kFolded;
  const auto& ids = call.operand_at(kIds)->type;
  const auto row = call.operand_at(kTable)->type.bytes() /
                   std::max<std::int64_t>(call.operand_at(kTable)->type.shape[0], 1);
  const auto read = static_cast<double>(ids.elements() * row * call.members);
  one.cost = kernel_cost(read + static_cast<double>(call.results[0].bytes() * call.members)) +
             4 * kNanosecondsPerCall;
  return offer(std::move(one));
}

Kernel prepare(const Call& call, const Offer&) {
  const auto members = at::arange(call.members, at::TensorOptions(call.device).dtype(at::kLong)).unsqueeze(1);
  const auto rows = call.operand_at(kTable)->type.shape[0], count = call.operand_at(kIds)->type.shape[0];
  const auto padding = padding_row(call);
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const auto mode = call.integer(kMode);
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto& table = in[*call.operand_of(kTable)];
    const auto ids = front_or_none(call, kIds, in), starts = front_or_none(call, kOffsets, in);
    check_indices(ids, 0, rows, "rows of embedding_bag");
    check(starts.select(1, 0).eq(0).all(), "offsets[0] has to be 0");
    check_indices(starts, 0, count + 1, "offsets into ids");
    auto places = is_mapped(call, kTable) ? ids + members * rows : ids.to(at::kLong);
    // One row stands for the padding of all members: a bag leaves it out, whatever it holds.
    if (padding) places = at::where(ids.eq(*padding), *padding, places);
    auto weights = front_or_none(call, kWeights, in);
    if (weights.defined()) weights = weights.flatten();
    const auto y = std::get<0>(
        at::embedding_bag(table, places.flatten(), (starts + members * count).flatten(), false, mode, false,
                          weights.defined() ? std::optional(weights) : std::nullopt, false, padding));
    out[0] = y.reshape(shape);
  };
}

// By a kernel of our own, from where the members' tables lie.
Answer ask_by_bag(const Call& call) {
  auto answer = ask(call);
  if (answer.offers.empty()) return answer;
  if (call.results[0].dtype != at::kFloat) return refuse("only float32 has such a kernel");
  if (call.integer(kMode) == kMax) return refuse("only sums and means have such a kernel");
  if (padding_row(call)) return refuse("a row is left out of every bag");
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = answer.offers[0].cost - 3 * kNanosecondsPerCall;
  return offer(std::move(one));
}

Kernel prepare_by_bag(const Call& call, const Offer&) {
  return [call, mean = call.integer(kMode) == kMean](std::span<const at::Tensor> in,
                                                     std::span<at::Tensor> out) {
    // [N, …] of what is each member's own, [1, …] of what all have.
    const auto get = [&](std::size_t index) {
      const auto place = call.operand_of(index);
      if (!place) return at::Tensor();
      const auto& tensor = in[*place];
      return (call.operands[*place].mapped ? tensor : tensor.unsqueeze(0)).contiguous();
    };
    out[0] = kernels::embedding_bag(get(kTable), get(kIds), get(kOffsets), get(kWeights), mean, call.members);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const Argument table{ValueRef{0}}, ids{ValueRef{1}}, offsets{ValueRef{2}};
  const auto arguments = [&](std::int64_t mode, Argument weights, Argument padding) {
    return std::vector<Argument>{
        table, ids, offsets, {false}, {mode}, {false}, std::move(weights), {false}, std::move(padding)};
  };
  // All bags but the first start at 0 too: offsets drawn from [0, 1).
  const SampleOperand starts{{1}, true, at::kLong, 1}, list{{7}, true, at::kLong, 9};
  const std::string op = "aten.embedding_bag.padding_idx";
  std::vector<Sample> made{
      {"sum", op, arguments(kSum, {}, {}), {{{9, 4}}, list, starts}},
      {"mean", op, arguments(kMean, {}, {}), {{{9, 4}}, list, starts}},
      {"rows longer than a register takes", op, arguments(kMean, {}, {}), {{{9, 133}}, list, starts}},
      {"max", op, arguments(kMax, {}, {}), {{{9, 4}}, list, starts}},
      {"weighted", op, arguments(kSum, {ValueRef{3}}, {}), {{{9, 4}}, list, starts, {{7}}}},
      {"padding row",
       op,
       arguments(kMean, {}, {std::int64_t{0}}),
       {{{9, 4}}, {{7}, true, at::kLong, 2}, starts}},
      {"padding row left out of a maximum",
       op,
       arguments(kMax, {}, {std::int64_t{1}}),
       {{{9, 4}}, {{7}, true, at::kLong, 2}, starts}},
      {"shared ids",
       op,
       arguments(kMean, {}, {}),
       {{{9, 4}}, {{7}, false, at::kLong, 9}, {{2}, false, at::kLong, 1}}},
      {"shared table", op, arguments(kSum, {}, {}), {{{9, 4}, false}, list, starts}},
      {"B equals N",
       op,
       arguments(kSum, {}, {}),
       {{{9, 4}}, {{members}, true, at::kLong, 9}, {{members}, true, at::kLong, 1}}},
  };
  for (auto& sample : made) sample.results = 1;
  return made;
}

}  // namespace

Primitive embedding_bag() {
  return {"embedding_bag",
          {"aten.embedding_bag.padding_idx", "aten.embedding_bag.default",
           "aten._embedding_bag_forward_only.default", "aten._embedding_bag.default"},
          nullptr,
          {{"indexed", ask, prepare}, own_kernel("by_bag", ask_by_bag, prepare_by_bag)},
          nullptr,
          samples};
}

}  // namespace wide::embedding_bag_primitive
