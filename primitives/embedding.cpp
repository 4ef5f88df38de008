// Wide embedding: member n's rows lie at n·V in one stacked [N·V, D] table.
//   table [N, V, D] or [V, D]; ids [N, …] or […]; y [N, …, D]
// Arguments: table, ids, padding_idx, scale_grad_by_freq, sparse. padding_idx only matters to gradients.
#include <ATen/ATen.h>

#include "primitives/kernels/embedding.h"
#include "primitives/support.h"

namespace wide::embedding_primitive {
namespace {

enum { kTable, kIds };

Answer ask_indexed(const Call& call) {
  if (!is_mapped(call, kTable)) return refuse("the table is shared: plain lookup of all ids is cheaper");
  auto one = uniform_offer(call, Layout::kFront);
  one.operands[*call.operand_of(kTable)] = Layout::kFolded;
  one.cost =
      kernel_cost(2.0 * static_cast<double>(call.results[0].bytes() * call.members)) + kNanosecondsPerCall;
  return offer(std::move(one));
}

// On a GPU its own check of indices, of each table alone, costs nothing and waits for nothing.
Kernel prepare_gathered(const Call& call) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const auto table = *call.operand_of(kTable), index = *call.operand_of(kIds);
  const auto given = is_mapped(call, kIds) ? call.members : 1;
  return [=, members = call.members](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto rows = in[table].unflatten(0, {members, -1});
    const auto ids = in[index].to(at::kLong).reshape({given, -1, 1});
    out[0] = at::gather(rows, 1, ids.expand({members, ids.size(1), rows.size(2)})).reshape(shape);
  };
}

Kernel prepare_indexed(const Call& call, const Offer&) {
  if (!call.device.is_cpu()) return prepare_gathered(call);
  const auto rows = call.operand_at(kTable)->type.shape[0];
  const auto& ids = call.operand_at(kIds)->type;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(ids.rank()) + 1, 1);
  shape[0] = call.members;
  const auto offsets =
      (at::arange(call.members, at::TensorOptions(call.device).dtype(at::kLong)) * rows).reshape(shape);
  const auto table = *call.operand_of(kTable), index = *call.operand_of(kIds);
  return [offsets, table, index, rows](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    check_indices(in[index], 0, rows, "rows of embedding");
    out[0] = at::embedding(in[table], in[index] + offsets);
  };
}

Answer ask_shared_table(const Call& call) {
  if (is_mapped(call, kTable)) return refuse("the table differs per member");
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(2.0 * static_cast<double>(call.results[0].bytes() * call.members));
  return offer(std::move(one));
}

Kernel prepare_shared_table(const Call& call, const Offer&) {
  return boxed(call, call.node);
}

// ids are shared: one index_select along the rows of all tables.
Answer ask_gather(const Call& call) {
  if (is_mapped(call, kIds)) return refuse("the ids differ per member");
  if (!is_mapped(call, kTable)) return refuse("the table is shared");
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(2.0 * static_cast<double>(call.results[0].bytes() * call.members));
  return offer(std::move(one));
}

Kernel prepare_gather(const Call& call, const Offer&) {
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const auto table = *call.operand_of(kTable), index = *call.operand_of(kIds);
  return [shape, table, index](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    out[0] = at::index_select(in[table], 1, in[index].flatten()).reshape(shape);
  };
}

// By a kernel of our own, from where the members' tables lie.
Answer ask_rows(const Call& call) {
  if (!call.operand_of(kTable) || !call.operand_of(kIds)) return refuse("an operand is a constant");
  const auto& table = call.operand_at(kTable)->type;
  if (!at::isFloatingType(table.dtype)) return refuse("only tables of floats have such a kernel");
  if (call.results[0].elements() == 0) return refuse("there is nothing to look up");
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(2.0 * static_cast<double>(call.results[0].bytes() * call.members));
  return offer(std::move(one));
}

Kernel prepare_rows(const Call& call, const Offer&) {
  const auto table = *call.operand_of(kTable), ids = *call.operand_of(kIds);
  const auto all = [](const Call& of, std::size_t index, const at::Tensor& tensor) {
    return of.operands[index].mapped ? tensor : tensor.unsqueeze(0);
  };
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    out[0] = kernels::embedding(all(call, table, in[table]).resolve_neg().contiguous(),
                                all(call, ids, in[ids]), call.members);
  };
}

std::vector<Sample> samples(std::int64_t members) {
  const std::vector<Argument> arguments{{ValueRef{0}}, {ValueRef{1}}, {std::int64_t{-1}}, {false}, {false}};
  const auto ids = [](std::vector<std::int64_t> shape, bool mapped) {
    return SampleOperand{std::move(shape), mapped, at::kLong, 9};
  };
  const std::string op = "aten.embedding.default";
  return {
      {"all mapped", op, arguments, {{{9, 4}}, ids({5, 7}, true)}},
      {"shared ids", op, arguments, {{{9, 4}}, ids({5, 7}, false)}},
      {"shared table", op, arguments, {{{9, 4}, false}, ids({5, 7}, true)}},
      {"one id", op, arguments, {{{9, 4}}, ids({}, true)}},
      {"B equals N", op, arguments, {{{9, 4}}, ids({members}, true)}},
      {"32-bit ids", op, arguments, {{{9, 4}}, {{5, 7}, true, at::kInt, 9}}},
  };
}

}  // namespace

Primitive embedding() {
  return {"embedding",
          {"aten.embedding.default"},
          nullptr,
          {{"gather", ask_gather, prepare_gather},
           {"folded", ask_shared_table, prepare_shared_table},
           {"indexed", ask_indexed, prepare_indexed},
           own_kernel("rows", ask_rows, prepare_rows)},
          nullptr,
          samples};
}

}  // namespace wide::embedding_primitive
