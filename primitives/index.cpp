// Wide indexing: x[i, j, :, …] and its writing twins, with indices that are shared or each member's own.
// Indices of a member's own become one more index: the member's number, so that every bound is checked as it
// is alone.
//   x [N, …] or […];  an index [N, S…] or [S…];  y [N, …]
#include <ATen/ATen.h>

#include <algorithm>
#include <numeric>

#include "primitives/support.h"

namespace wide::index_primitive {
namespace {

enum { kX, kIndices, kValues, kAccumulate };

// Which operand indexes which axis of x.
struct Places {
  std::vector<std::optional<std::size_t>> operands;  ///< by axis; nothing: the whole axis
  std::int64_t rank = 0;                             ///< S: of the indices broadcast together
  std::int64_t first = 0;                            ///< the first indexed axis
  std::int64_t count = 0;                            ///< indices given
  bool adjacent = true;                              ///< no whole axis between two indices
  bool mapped = false, mask = false;
};

Places places(const Call& call) {
  Places found;
  std::int64_t last = -1;
  const auto add = [&](std::size_t operand) {
    const auto& index = call.operands[operand];
    const auto axis = static_cast<std::int64_t>(found.operands.size());
    found.operands.emplace_back(operand);
    found.rank = std::max(found.rank, index.type.rank());
    found.mapped |= index.mapped;
    found.mask |= index.type.dtype == at::kBool || index.type.dtype == at::kByte;
    if (found.count++ == 0) found.first = axis;
    if (last >= 0 && last + 1 != axis) found.adjacent = false;
    last = axis;
  };
  if (call.node.op == "aten.index_select.default") {
    found.operands.resize(static_cast<std::size_t>(call.integer(1)));
    add(*call.operand_of(2));
    found.rank = 1;
    return found;
  }
  for (const auto& item : *call.node.arguments[kIndices].list()) {
    if (const auto* ref = item.ref()) {
      add(static_cast<std::size_t>(ref->id));
    } else {
      found.operands.emplace_back();
    }
  }
  return found;
}

using Indices = c10::List<std::optional<at::Tensor>>;

// The member's number, to stand beside indices of `rank` axes.
at::Tensor member_numbers(const Call& call, std::int64_t rank) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rank) + 1, 1);
  shape[0] = call.members;
  return at::arange(call.members, at::TensorOptions(call.device).dtype(at::kLong)).reshape(shape);
}

void add_indices(const Call& call, const Places& at_, std::span<const at::Tensor> in, Indices& indices) {
  for (const auto& operand : at_.operands) {
    if (!operand) {
      indices.push_back(std::nullopt);
      continue;
    }
    const auto& index = call.operands[*operand];
    indices.push_back(index.mapped ? align_front(in[*operand], index.type, at_.rank) : in[*operand]);
  }
}

// The axes of the indices, 1 … S of `tensor`, to or from behind the `first` whole axes before them.
at::Tensor move_indexed(const at::Tensor& tensor, const Places& at_, bool back) {
  std::vector<std::int64_t> front(static_cast<std::size_t>(at_.rank)), behind(front.size());
  std::iota(front.begin(), front.end(), 1);
  std::iota(behind.begin(), behind.end(), 1 + at_.first);
  return back ? tensor.movedim(front, behind) : tensor.movedim(behind, front);
}

double gathered_bytes(const Call& call) {
  return 2.0 * static_cast<double>(call.results[0].bytes() * call.members);
}

Answer ask_gather(const Call& call) {
  if (!call.operand_of(kX)) return refuse("the input is a constant");
  if (call.operand_at(kX)->type.rank() == 0) return refuse("the input is a number");
  const auto at_ = places(call);
  if (at_.mask && at_.mapped)
    return refuse("a mask of each member's own selects another number of elements for each");
  if (at_.mask && at_.count > 1) return refuse("a mask stands beside another index");
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(gathered_bytes(call)) + kNanosecondsPerCall;
  return offer(std::move(one));
}

Kernel prepare_gather(const Call& call, const Offer&) {
  const auto at_ = places(call);
  const bool own = is_mapped(call, kX);
  const auto numbers = member_numbers(call, at_.rank);
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const bool selects = call.node.op == "aten.index_select.default";
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    const auto& x = in[*call.operand_of(kX)];
    if (selects) {  // takes nothing negative
      const auto& index = in[*at_.operands.back()];
      const auto dim = at_.first + (own ? 1 : 0);
      if (!at_.mapped) {
        out[0] = at::index_select(x, dim, index).reshape(shape);
        return;
      }
      check_indices(index, 0, x.size(dim), "an axis");
    }
    Indices indices;
    if (own) indices.push_back(at_.mapped ? std::optional(numbers) : std::nullopt);
    add_indices(call, at_, in, indices);
    auto y = at::index(x, indices);
    if (!at_.mapped) {
      if (!at_.adjacent) y = y.movedim(at_.rank, 0);
    } else if (!own) {
      if (at_.adjacent) y = y.movedim(at_.first, 0);
    } else if (at_.adjacent && at_.first > 0) {
      y = move_indexed(y, at_, true);
    }
    out[0] = y.sizes() == at::IntArrayRef(shape) ? y : y.reshape(shape);
  };
}

bool is_put(const Call& call) {
  return call.node.op.find("index_put") != std::string::npos;
}

Answer ask_put(const Call& call) {
  if (!call.operand_of(kX) || !call.operand_of(kValues)) return refuse("an operand is a constant");
  const auto at_ = places(call);
  if (at_.mask && at_.count > 1) return refuse("a mask stands beside another index");
  if (at_.mask && call.operand_at(kValues)->type.elements() != 1)
    return refuse("a mask writes more than one value");
  auto one = uniform_offer(call, Layout::kFront);
  one.operands[*call.operand_of(kX)] = Layout::kFront;
  one.cost = kernel_cost(2.0 * total_bytes(call)) + 2 * kNanosecondsPerCall;
  return offer(std::move(one));
}

// [N, …] or, of what is shared, [1, …], with `rank` axes behind.
at::Tensor beside(const Call& call, std::size_t operand, std::span<const at::Tensor> in, std::int64_t rank) {
  const auto& known = call.operands[operand];
  return align_front(known.mapped ? in[operand] : in[operand].unsqueeze(0), known.type, rank);
}

Kernel prepare_put(const Call& call, const Offer&) {
  const auto at_ = places(call);
  const auto numbers = member_numbers(call, at_.rank);
  const bool accumulate = call.flag(kAccumulate);
  const auto values = *call.operand_of(kValues);
  const auto rank = call.operand_at(kX)->type.rank();
  if (at_.mask) {
    const auto mask = *at_.operands[static_cast<std::size_t>(at_.first)];
    return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
      const auto& x = in[*call.operand_of(kX)];
      auto where = beside(call, mask, in, 0).to(at::kBool);
      for (std::int64_t i = 0; i < at_.first; ++i) where = where.unsqueeze(1);
      while (where.dim() <= rank) where = where.unsqueeze(-1);
      const auto value = beside(call, values, in, rank);
      out[0] = at::where(where, accumulate ? x + value : value, x);
    };
  }
  const auto selected = at_.rank + rank - at_.count;
  return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    Indices indices;
    indices.push_back(numbers);
    add_indices(call, at_, in, indices);
    auto value = beside(call, values, in, selected);
    if (at_.adjacent && at_.first > 0) value = move_indexed(value, at_, false);
    out[0] = at::index_put(in[*call.operand_of(kX)], indices, value, accumulate);
  };
}

Answer ask(const Call& call) {
  return is_put(call) ? ask_put(call) : ask_gather(call);
}
Kernel prepare(const Call& call, const Offer& offer) {
  return is_put(call) ? prepare_put(call, offer) : prepare_gather(call, offer);
}

std::vector<Sample> samples(std::int64_t members) {
  const Argument x{ValueRef{0}}, i{ValueRef{1}}, j{ValueRef{2}}, one{std::int64_t{1}};
  const auto list = [](std::vector<Argument> items) { return Argument{Argument::List(std::move(items))}; };
  const auto ids = [](std::vector<std::int64_t> shape, bool mapped) {
    return SampleOperand{std::move(shape), mapped, at::kLong, 4};
  };
  const std::string op = "aten.index.Tensor", put = "aten.index_put.default";
  return {
      {"rows", op, {x, list({i})}, {{{5, 7}}, ids({3}, true)}},
      {"rows, shared index", op, {x, list({i})}, {{{5, 7}}, ids({3}, false)}},
      {"rows, shared input", op, {x, list({i})}, {{{5, 7}, false}, ids({2, 3}, true)}},
      {"columns", op, {x, list({{}, i})}, {{{5, 7}}, ids({2, 3}, true)}},
      {"columns, shared index", op, {x, list({{}, i})}, {{{5, 7}}, ids({2, 3}, false)}},
      {"columns, shared input", op, {x, list({{}, i})}, {{{5, 7}, false}, ids({2, 3}, true)}},
      {"two indices", op, {x, list({i, j})}, {{{5, 7, 4}}, ids({3}, true), ids({2, 1}, true)}},
      {"one index of two is shared",
       op,
       {x, list({i, j})},
       {{{5, 7, 4}}, ids({3}, true), ids({2, 3}, false)}},
      {"later axes", op, {x, list({{}, i, j})}, {{{5, 7, 4, 6}}, ids({3}, true), ids({3}, true)}},
      {"apart", op, {x, list({i, {}, j})}, {{{5, 7, 4, 6}}, ids({3}, true), ids({3}, true)}},
      {"apart, shared index", op, {x, list({i, {}, j})}, {{{5, 7, 4, 6}}, ids({3}, false), ids({3}, false)}},
      {"apart, shared input",
       op,
       {x, list({i, {}, j})},
       {{{5, 7, 4, 6}, false}, ids({3}, true), ids({3}, false)}},
      {"index_select", "aten.index_select.default", {x, one, i}, {{{5, 7}}, ids({3}, true)}},
      {"index_select, shared index", "aten.index_select.default", {x, one, i}, {{{5, 7}}, ids({3}, false)}},
      {"put", put, {x, list({i}), j, {false}}, {{{5, 7}}, ids({1}, true), {{1, 7}}}},
      {"put, accumulated", put, {x, list({{}, i}), j, {true}}, {{{5, 7}}, ids({3}, true), {{5, 3}}}},
      {"put, shared index", put, {x, list({{}, i}), j, {true}}, {{{5, 7, 2}}, ids({3}, false), {{3, 2}}}},
      {"put, shared input", put, {x, list({i}), j, {true}}, {{{5, 7}, false}, ids({3}, true), {{7}, false}}},
      {"put by mask", put, {x, list({i}), j, {false}}, {{{5, 7}}, {{5, 7}, true, at::kBool, 2}, {{}, false}}},
      {"put by mask of rows", put, {x, list({i}), j, {false}}, {{{5, 7}}, {{5}, false, at::kBool, 2}, {{}}}},
      {"B equals N", op, {x, list({i})}, {{{members + 4, members}}, ids({members}, true)}},
  };
}

}  // namespace

Primitive index() {
  return {"index",
          {"aten.index.Tensor", "aten._unsafe_index.Tensor", "aten.index_select.default",
           "aten.index_put.default", "aten._unsafe_index_put.default"},
          nullptr,
          {{"gather", ask, prepare}},
          nullptr,
          samples};
}

}  // namespace wide::index_primitive
