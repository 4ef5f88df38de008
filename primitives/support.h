#pragma once
// What rules share: adapted operands, rewritten arguments, costs.

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "core/strategy/cost.h"
#include "core/strategy/primitive.h"

namespace wide {

/// Bytes that one wide run reads and writes: mapped tensors N times, shared ones once.
double total_bytes(const Call& call);

/// An offer with every mapped operand in `layout`, shared operands as they are, results in `layout`.
Offer uniform_offer(const Call& call, Layout layout);

/// Views `tensor` ([N, …] of logical type `type`) with ones after N so that it broadcasts with logical rank
/// `rank`.
at::Tensor align_front(const at::Tensor& tensor, const ConcreteType& type, std::int64_t rank);

/// Runs `wide` (operands numbered as in `call`) through the dispatcher; `adapt`, when given, changes an
/// operand first. Results are cast to the call's dtypes where type promotion saw another rank.
using Adapt = std::function<at::Tensor(std::size_t operand, const at::Tensor& tensor)>;
Kernel boxed(const Call& call, Node wide, Adapt adapt = {});

/// The node unchanged, in the layouts of `offer`: results promised with channels innermost are made so.
Kernel boxed_as_offered(const Call& call, const Offer& offer, Adapt adapt = {});

/// Results of `kernel` promised with channels innermost are copied into that order where they are not in it.
Kernel keep_promises(const Call& call, const Offer& offer, Kernel kernel);

/// A strategy whose kernel is of our own, for the CPU, and that autograd cannot see into.
inline Strategy own_kernel(std::string_view name, Answer (*ask)(const Call& call),
                           Kernel (*prepare)(const Call& call, const Offer& offer)) {
  return {.name = name, .ask = ask, .prepare = prepare, .differentiable = false, .cpu_only = true};
}

/// One that packs constants.
inline Strategy packing_kernel(std::string_view name, Answer (*ask)(const Call& call),
                               Kernel (*prepare)(const Call& call, const Offer& offer),
                               std::vector<std::size_t> (*packs)(const Call& call)) {
  auto strategy = own_kernel(name, ask, prepare);
  strategy.packs = packs;
  return strategy;
}

/// Autograd watches: kernels of our own must leave the work to ATen.
bool wants_gradients(std::span<const at::Tensor> operands);

/// How an elementwise operation runs in `layout` (not front): the layout of each operand, or nothing where
/// axes would not line up.
std::optional<Offer> elementwise_offer(const Call& call, Layout layout);

/// A norm of the mapped operand of argument 0 in one pass by kernels/rows.h, members in front; or why not.
Answer ask_one_pass_norm(const Call& call);
/// Every operand has the first result's.
bool has_one_dtype(const Call& call);

/// Throws c10::Error with the text `complaint` unless `holds`, one bool, is true. On a GPU nobody waits for
/// that, so that a pass can be recorded: as with PyTorch's own lookups there, a later call that waits throws.
void check(const at::Tensor& holds, const std::string& complaint);

/// Throws c10::IndexError unless every index lies in [least, extent): strategies that put the members' axes
/// end to end would take a neighbour's element. `what` says whose extent that is. On a GPU as check().
void check_indices(const at::Tensor& index, std::int64_t least, std::int64_t extent, const char* what);

/// Integers as an argument.
Argument ints_argument(const std::vector<std::int64_t>& values);

/// `node` with `by` added to every dimension in argument `index` (an integer or a list of them).
Node shift_dims(Node node, std::size_t index, std::int64_t by = 1);

/// True when all dimensions in argument `index` are at least `least`; None or an empty list is not.
bool dims_at_least(const Call& call, std::size_t index, std::int64_t least);

/// The tensor operand of argument `index`, mapped or not.
inline bool is_mapped(const Call& call, std::size_t index) {
  const auto* operand = call.operand_at(index);
  return operand && operand->mapped;
}

/// `tensor` of operand `index` with the model axis in front, [N, …]; an undefined tensor when the argument is
/// None.
at::Tensor front_or_none(const Call& call, std::size_t index, std::span<const at::Tensor> operands);

/// Whether a tensor on the CPU holds neither NaN nor infinities; true on other devices, which are not waited
/// for.
bool all_finite(const at::Tensor& tensor);
/// `y` [N, …] where that is finite. Members of which it is not get what `exact` makes of them; it gives all.
at::Tensor finite_or(const at::Tensor& y, const std::function<at::Tensor()>& exact);

/// [N, …, K] as [N, rows, K]; all between is counted, so that K may be 0.
at::Tensor with_rows(const at::Tensor& tensor);

}  // namespace wide
