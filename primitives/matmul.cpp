// Wide matrix products: matmul, mm, bmm, mv, dot, addmm, baddbmm with the model axis as one more batch axis.
//   a [N, …, R, K] or […, R, K];  b [N, …, K, C] or […, K, C];  y [N, …, R, C]
// The batch axes of a and b broadcast; a vector is one row or one column.
#include <ATen/ATen.h>

#include <algorithm>

#include "primitives/kernels/small_gemm.h"
#include "primitives/support.h"

namespace wide::matmul_primitive {
namespace {

// addmm(c, a, b), baddbmm(c, a, b): beta·c + alpha·a·b.
enum { kC, kA, kB, kBeta, kAlpha };

bool is_addition(const Call& call) {
  return call.node.arguments.size() > 2;
}

// One factor of a product as matrices.
struct Factor {
  std::size_t operand = 0;
  std::vector<std::int64_t> shape;  ///< of one member, [batch…, rows, columns]
  bool mapped = false, vector = false;

  std::int64_t rows() const { return shape.end()[-2]; }
  std::int64_t columns() const { return shape.back(); }
  std::size_t batch_axes() const { return shape.size() - 2; }
  bool has_batch() const { return batch_axes() > 0; }
};

struct Product {
  Factor left, right;
  std::vector<std::int64_t> shape;  ///< of the wide result, [N, …]
  std::vector<std::int64_t> batch;  ///< of one member's result
};

Factor factor(const Call& call, std::size_t argument, bool left) {
  const auto operand = *call.operand_of(argument);
  Factor one{operand, call.operands[operand].type.shape, call.operands[operand].mapped, false};
  one.vector = one.shape.size() == 1;
  if (one.vector) one.shape.insert(left ? one.shape.begin() : one.shape.end(), 1);
  return one;
}

Product product(const Call& call) {
  const std::size_t first = is_addition(call) ? kA : 0;
  Product found{factor(call, first, true),
                factor(call, first + 1, false),
                physical_shape(call.results[0], Layout::kFront, call.members),
                {}};
  const auto& larger = found.left.shape.size() > found.right.shape.size() ? found.left : found.right;
  const auto axes = static_cast<std::ptrdiff_t>(larger.batch_axes());
  found.batch = call.results[0].shape;
  found.batch.resize(static_cast<std::size_t>(axes));
  return found;
}

std::string unfit(const Call& call) {
  const std::size_t first = is_addition(call) ? kC : 0, last = is_addition(call) ? kB : 1;
  for (auto index = first; index <= last; ++index) {
    if (!call.operand_of(index)) return "an operand is a constant";
  }
  if (is_addition(call) && !(call.is_real(kBeta) && call.is_real(kAlpha))) return "its factors are complex";
  return {};
}

// The same for strategies that add c by a kernel of its own.
std::string unfit_apart(const Call& call) {
  auto reason = unfit(call);
  if (reason.empty() && is_addition(call) && call.real(kBeta) == 0)
    return "beta is 0: c does not count, not even its NaN";
  return reason;
}

double flops(const Call& call) {
  if (!unfit(call).empty()) return 0;
  return 2.0 * static_cast<double>(call.results[0].elements() * product(call).left.columns() * call.members);
}

Offer front(const Call& call, double effort = 1) {
  auto one = uniform_offer(call, Layout::kFront);
  one.cost = kernel_cost(total_bytes(call), effort * flops(call));
  if (is_addition(call)) one.cost += kNanosecondsPerCall;
  return one;
}

// What a copy of `factor` for each of `times` costs.
double copy_cost(const Call& call, const Factor& factor, std::int64_t times) {
  return kernel_cost(2.0 * static_cast<double>(call.operands[factor.operand].type.bytes() * times));
}

// [N, batch…, rows, columns], or [batch…, rows, columns] where shared.
at::Tensor matrices(const Factor& factor, std::span<const at::Tensor> in, bool left) {
  const auto& tensor = in[factor.operand];
  return factor.vector ? tensor.unsqueeze(left ? -2 : -1) : tensor;
}

// The same with `axes` batch axes behind N, so that it broadcasts.
at::Tensor aligned(const Factor& factor, std::size_t axes, at::Tensor tensor) {
  for (auto i = factor.batch_axes(); factor.mapped && i < axes; ++i) tensor = tensor.unsqueeze(1);
  return tensor;
}

// [N, rows of all batches, columns]; of what is shared a view.
at::Tensor as_rows(const Factor& factor, const at::Tensor& tensor, std::int64_t members) {
  if (factor.mapped) return with_rows(tensor);
  const auto rows = with_rows(tensor.unsqueeze(0));
  return rows.expand({members, rows.size(1), rows.size(2)});
}

// The product's kernel finds y; addmm and baddbmm add c to it.
Kernel finished(const Call& call, const Product& about,
                std::function<at::Tensor(std::span<const at::Tensor>)> multiply) {
  const auto shape = about.shape;
  if (!is_addition(call)) {
    return [shape, multiply](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
      const auto y = multiply(in);
      out[0] = y.sizes() == at::IntArrayRef(shape) ? y : y.reshape(shape);
    };
  }
  const auto c = *call.operand_of(kC);
  const auto beta = call.real(kBeta), alpha = call.real(kAlpha);
  return [=, type = call.operands[c].type, mapped = call.operands[c].mapped](std::span<const at::Tensor> in,
                                                                             std::span<at::Tensor> out) {
    const auto rank = static_cast<std::int64_t>(shape.size()) - 1;
    auto y = multiply(in);
    if (y.sizes() != at::IntArrayRef(shape)) y = y.reshape(shape);
    if (alpha != 1) y = y * alpha;
    out[0] = at::add(y, mapped ? align_front(in[c], type, rank) : in[c], beta);
  };
}

// Nothing need be shared or line up: ATen's own broadcast over batch axes, which copies what is repeated.
Answer ask_batched(const Call& call) {
  if (auto reason = unfit(call); !reason.empty()) return refuse(std::move(reason));
  const auto [left, right, shape, batch] = product(call);
  auto one = front(call);
  if (is_addition(call)) one.cost -= kNanosecondsPerCall;  // c is added by the same kernel
  for (const auto* factor : {&left, &right}) {
    const auto& other = factor == &left ? right : left;
    const bool repeats = factor->mapped ? factor->batch_axes() < batch.size()
                                        : other.mapped && factor->has_batch() && !is_addition(call);
    if (!repeats) continue;
    std::int64_t times = factor->mapped ? 1 : call.members;
    for (const auto size : batch) times *= factor->mapped ? size : 1;
    one.cost += copy_cost(call, *factor, factor->mapped ? times * call.members : times);
  }
  return offer(std::move(one));
}

Kernel prepare_added(const Call& call) {
  const auto rank = call.results[0].rank();
  const auto shape = physical_shape(call.results[0], Layout::kFront, call.members);
  const auto beta = call.real(kBeta), alpha = call.real(kAlpha);
  return [call, rank, shape, beta, alpha](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    auto c = in[*call.operand_of(kC)];
    if (is_mapped(call, kC)) c = align_front(c, call.operand_at(kC)->type, rank);
    if (rank == 2) {
      out[0] = at::baddbmm(c, front_or_none(call, kA, in), front_or_none(call, kB, in), beta, alpha);
      return;
    }
    const auto fold = [&](std::size_t index) { return front_or_none(call, index, in).flatten(0, 1); };
    out[0] = at::baddbmm(c.expand(shape).flatten(0, 1), fold(kA), fold(kB), beta, alpha).reshape(shape);
  };
}

Kernel prepare_batched(const Call& call, const Offer&) {
  if (is_addition(call)) return prepare_added(call);
  const auto about = product(call);
  return finished(call, about, [about](std::span<const at::Tensor> in) {
    const auto axes = about.batch.size();
    return at::matmul(aligned(about.left, axes, matrices(about.left, in, true)),
                      aligned(about.right, axes, matrices(about.right, in, false)));
  });
}

// b is one matrix a member: all batches of a are more rows of one product.
Answer ask_rows(const Call& call) {
  if (auto reason = unfit_apart(call); !reason.empty()) return refuse(std::move(reason));
  const auto about = product(call);
  if (!about.left.has_batch()) return refuse("the left operand has no batch axes");
  if (about.right.has_batch()) return refuse("the right operand has batch axes");
  if (!about.right.mapped) return refuse("the right operand is shared: folding is cheaper");
  return offer(front(call));
}

Kernel prepare_rows(const Call& call, const Offer&) {
  const auto about = product(call);
  return finished(call, about, [about, members = call.members](std::span<const at::Tensor> in) {
    return at::bmm(as_rows(about.left, matrices(about.left, in, true), members),
                   matrices(about.right, in, false));
  });
}

// a is one matrix a member: all batches of b are more columns, which are the rows of the transposed product.
Answer ask_columns(const Call& call) {
  if (auto reason = unfit_apart(call); !reason.empty()) return refuse(std::move(reason));
  const auto about = product(call);
  if (!about.right.has_batch()) return refuse("the right operand has no batch axes");
  if (about.left.has_batch()) return refuse("the left operand has batch axes");
  if (!about.left.mapped) return refuse("the left operand is shared");
  auto one = front(call);
  one.cost += copy_cost(call, about.right, about.right.mapped ? call.members : 1);
  return offer(std::move(one));
}

Kernel prepare_columns(const Call& call, const Offer&) {
  const auto about = product(call);
  auto shape = about.batch;
  shape.insert(shape.begin(), call.members);
  shape.insert(shape.end(), {about.right.columns(), about.left.rows()});
  return finished(call, about, [about, shape, members = call.members](std::span<const at::Tensor> in) {
    const auto columns = as_rows(about.right, matrices(about.right, in, false).mT(), members);
    return at::bmm(columns, matrices(about.left, in, true).mT()).reshape(shape).mT();
  });
}

// a is shared: the members' columns side by side are one product, and a is read once.
Answer ask_stacked(const Call& call) {
  if (auto reason = unfit_apart(call); !reason.empty()) return refuse(std::move(reason));
  const auto about = product(call);
  if (about.left.mapped) return refuse("the left operand differs per member");
  if (!about.right.mapped) return refuse("the right operand is shared");
  if (!at::isFloatingType(call.results[0].dtype)) return refuse("only for floating-point numbers");
  auto one = front(call, 0.7);
  if (call.operands[about.right.operand].type.rank() == 2) {
    one.operands[about.right.operand] = Layout::kPacked;
  } else {
    one.cost += copy_cost(call, about.right, call.members);
  }
  return offer(std::move(one));
}

Kernel prepare_stacked(const Call& call, const Offer& offer) {
  const auto about = product(call);
  const bool packed = offer.operands[about.right.operand] == Layout::kPacked;
  return finished(call, about, [about, packed, members = call.members](std::span<const at::Tensor> in) {
    auto right = packed ? in[about.right.operand] : matrices(about.right, in, false);
    if (!packed) right = right.movedim(0, -2).flatten(-2);  // [N, …, K, C] -> […, K, N·C]
    const auto y = at::matmul(matrices(about.left, in, true), right);
    return y.unflatten(-1, {members, about.right.columns()}).movedim(-2, 0);
  });
}

// b is shared: the members are more rows.
Answer ask_folded(const Call& call) {
  if (auto reason = unfit_apart(call); !reason.empty()) return refuse(std::move(reason));
  const auto about = product(call);
  if (!about.left.mapped) return refuse("the left operand is shared");
  if (about.right.mapped) return refuse("the right operand differs per member");
  if (!at::isFloatingType(call.results[0].dtype)) return refuse("only for floating-point numbers");
  auto one = front(call, 0.9);
  if (about.left.has_batch() && about.right.has_batch())
    one.cost += copy_cost(call, about.left, call.members);
  return offer(std::move(one));
}

Kernel prepare_folded(const Call& call, const Offer&) {
  const auto about = product(call);
  if (is_addition(call) && !is_mapped(call, kC) && call.results[0].rank() == 2 &&
      call.operand_at(kC)->type.rank() == 1) {
    const auto beta = call.real(kBeta), alpha = call.real(kAlpha);
    return [=](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
      out[0] = at::addmm(in[*call.operand_of(kC)], in[about.left.operand].flatten(0, 1),
                         in[about.right.operand], beta, alpha)
                   .reshape(about.shape);
    };
  }
  return finished(call, about, [about, members = call.members](std::span<const at::Tensor> in) {
    const auto left = matrices(about.left, in, true), right = matrices(about.right, in, false);
    if (!about.right.has_batch()) {
      const auto y = at::mm(with_rows(left.unsqueeze(0)).squeeze(0), right);
      return y.reshape(about.shape);
    }
    // [N, …, R, K] -> […, N·R, K]
    const auto y = at::matmul(left.movedim(0, -3).flatten(-3, -2), right);
    return y.unflatten(-2, {members, about.left.rows()}).movedim(-3, 0);
  });
}

// Small products by kernels generated for their size, one a member, or one a member and batch.
Answer ask_xsmm(const Call& call) {
  if (auto reason = unfit_apart(call); !reason.empty()) return refuse(std::move(reason));
  if (call.results[0].dtype != at::kFloat) return refuse("only float32 is generated");
  const auto about = product(call);
  if (!about.right.mapped) return refuse("the right operand is shared: folding is cheaper");
  const bool alike = about.left.mapped && std::equal(about.left.shape.begin(), about.left.shape.end() - 2,
                                                     about.right.shape.begin(), about.right.shape.end() - 2);
  if (about.right.has_batch() && !alike) return refuse("the batches of the operands differ");
  auto rows = about.left.rows();
  for (const auto size : about.batch) rows *= about.right.has_batch() ? 1 : size;
  auto reason = kernels::SmallGemm::refusal(rows, about.left.columns(), about.right.columns());
  if (!reason.empty()) return refuse(std::move(reason));
  auto one = front(call, 0.9);
  if (!about.left.mapped) one.cost += copy_cost(call, about.left, call.members);
  return offer(std::move(one));
}

Kernel prepare_xsmm(const Call& call, const Offer&) {
  const auto about = product(call);
  auto rows = about.left.rows();
  for (const auto size : about.batch) rows *= about.right.has_batch() ? 1 : size;
  const auto inner = about.left.columns(), columns = about.right.columns();
  const kernels::SmallGemm small(rows, inner, columns, /*biased=*/false);
  return finished(call, about, [=, members = call.members](std::span<const at::Tensor> in) {
    const auto left = about.right.has_batch() ? matrices(about.left, in, true)
                                              : as_rows(about.left, matrices(about.left, in, true), members);
    return small.run(left.reshape({-1, rows, inner}).contiguous(),
                     matrices(about.right, in, false).reshape({-1, inner, columns}).contiguous(), {});
  });
}

// Every pair of ranks, shared and mapped.
void add_broadcasts(std::vector<Sample>& all) {
  struct Shape {
    const char* name;
    std::vector<std::int64_t> left, right;
  };
  const std::vector<Shape> shapes{{"vector", {7}, {7}},
                                  {"matrix", {5, 7}, {7, 4}},
                                  {"batch", {3, 5, 7}, {3, 7, 4}},
                                  {"two batch axes", {2, 3, 5, 7}, {2, 3, 7, 4}},
                                  {"a batch of one", {2, 1, 5, 7}, {1, 3, 7, 4}}};
  const std::vector<Argument> two{{ValueRef{0}}, {ValueRef{1}}};
  for (const auto& left : shapes) {
    for (const auto& right : shapes) {
      for (const int mapped : {3, 1, 2}) {
        std::string name = std::string(mapped & 1 ? "" : "shared ") + left.name + " by " +
                           (mapped & 2 ? "" : "shared ") + right.name;
        all.push_back({std::move(name),
                       "aten.matmul.default",
                       two,
                       {{left.left, (mapped & 1) != 0}, {right.right, (mapped & 2) != 0}}});
      }
    }
  }
}

std::vector<Sample> samples(std::int64_t members) {
  const std::vector<Argument> two{{ValueRef{0}}, {ValueRef{1}}};
  const std::vector<Argument> three{{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {2.0}, {0.5}};
  std::vector<Sample> all{
      {"B equals N", "aten.matmul.default", two, {{{members, members}}, {{members, members}}}},
      {"batch equals N", "aten.matmul.default", two, {{{members, members, members}}, {{members, members}}}},
      {"bmm", "aten.bmm.default", two, {{{2, 5, 7}}, {{2, 7, 4}}}},
      {"bmm, shared right", "aten.bmm.default", two, {{{2, 5, 7}}, {{2, 7, 4}, false}}},
      {"bmm, shared left", "aten.bmm.default", two, {{{2, 5, 7}, false}, {{2, 7, 4}}}},
      {"mm", "aten.mm.default", two, {{{5, 7}}, {{7, 4}}}},
      {"mv", "aten.mv.default", two, {{{5, 7}}, {{7}}}},
      {"dot", "aten.dot.default", two, {{{7}}, {{7}}}},
      {"addmm", "aten.addmm.default", three, {{{4}}, {{5, 7}}, {{7, 4}}}},
      {"addmm, shared x", "aten.addmm.default", three, {{{4}}, {{5, 7}, false}, {{7, 4}}}},
      {"addmm, shared bias", "aten.addmm.default", three, {{{5, 4}, false}, {{5, 7}}, {{7, 4}}}},
      {"addmm, shared weight", "aten.addmm.default", three, {{{4}}, {{5, 7}}, {{7, 4}, false}}},
      {"addmm, shared weight and bias",
       "aten.addmm.default",
       three,
       {{{4}, false}, {{5, 7}}, {{7, 4}, false}}},
      {"addmm, c does not count",
       "aten.addmm.default",
       {{ValueRef{0}}, {ValueRef{1}}, {ValueRef{2}}, {0.0}, {1.0}},
       {{{4}}, {{5, 7}}, {{7, 4}, false}}},
      {"baddbmm", "aten.baddbmm.default", three, {{{2, 1, 4}}, {{2, 5, 7}}, {{2, 7, 4}}}},
      {"baddbmm, shared right",
       "aten.baddbmm.default",
       three,
       {{{2, 1, 4}}, {{2, 5, 7}}, {{2, 7, 4}, false}}},
  };
  add_broadcasts(all);
  return all;
}

}  // namespace

Primitive matmul() {
  return {"matmul",
          {"aten.matmul.default", "aten.mm.default", "aten.bmm.default", "aten.mv.default",
           "aten.dot.default", "aten.addmm.default", "aten.baddbmm.default"},
          nullptr,
          {{"stacked", ask_stacked, prepare_stacked},
           {"folded", ask_folded, prepare_folded},
           {"rows", ask_rows, prepare_rows},
           {"columns", ask_columns, prepare_columns},
           {"batched", ask_batched, prepare_batched},
           own_kernel("xsmm", ask_xsmm, prepare_xsmm)},
          flops,
          samples};
}

}  // namespace wide::matmul_primitive
