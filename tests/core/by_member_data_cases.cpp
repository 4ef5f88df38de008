// Data decide shapes, numbers and branches.
#include "tests/core/by_member_cases.h"

namespace wide::test {
namespace {

const ByMemberCase kDataCases[] = {
    {"mask_and_sum", R"(input %x "x" : float32[4, 4]
%m : bool[4, 4] = aten.gt.Scalar(%x, 0)
%s : float32[u0] = aten.masked_select.default(%x, %m)
%e : float32[u0] = aten.exp.default(%s)
%y : float32[] = aten.sum.default(%e, none)
%z : float32[4, 4] = aten.mul.Tensor(%x, %y)
output %z
output %e
)",
     "aten.masked_select.default"},
    {"numbers_of_axes", R"(input %x "x" : float32[4, 4]
%m : bool[4, 4] = aten.gt.Scalar(%x, 1.25)
%s : float32[u0] = aten.masked_select.default(%x, %m)
%q : float32[u0] = aten.squeeze.default(%s)
%e : float32[u0] = aten.exp.default(%q)
%f : float32[u0] = aten.mul_.Scalar(%e, 2)
%r : float32[u0] = aten.squeeze.default(%f)
%y : float32[] = aten.sum.default(%r, none)
%z : float32[4, 4] = aten.mul.Tensor(%x, %y)
output %q
output %e
output %z
)",
     "aten.squeeze.default"},
    {"numbers_of_axes_in_branches", R"(input %x "x" : float32[4, 4]
parameter %w "w" : float32[4, 4]
%m : float32[4, 4] = aten.mul.Tensor(%x, %w)
%n : bool[4, 4] = aten.gt.Scalar(%m, 1)
%s : float32[u0] = aten.masked_select.default(%m, %n)
%q : float32[u0] = aten.squeeze.default(%s)
%t : float32[] = aten.sum.default(%x, none)
%p : bool[] = aten.gt.Scalar(%t, 0)
%y : float32[u0] = higher_order.cond(%p, [%q]) {
  input %a "a" : float32[u0]
  %c : float32[u0] = aten.neg.default(%a)
  output %c
} {
  input %a "a" : float32[u0]
  %c : float32[1, u0] = aten.unsqueeze.default(%a, 0)
  output %c
}
output %y
)",
     "higher_order.cond"},
    {"selected_weights", R"(input %x "x" : float32[4, 4]
parameter %w "w" : float32[4, 4]
%m : bool[4, 4] = aten.gt.Scalar(%w, 1)
%s : float32[u0] = aten.masked_select.default(%w, %m)
%q : float32[u0] = aten.squeeze.default(%s)
%a : int64[] = aten.argmax.default(%x, none, false)
%i : scalar = aten.item.default(%a)
%j : scalar = sym.mod(%i, 4)
%v : float32[u1, 4] = aten.slice.Tensor(%w, 0, 0, %j, 1)
%u : float32[u1, 4] = aten.squeeze.default(%v)
output %q
output %u
)",
     "aten.squeeze.default"},
    {"diagonal_by_strides", R"(input %x "x" : float32[4, 4]
%e : float32[4, 4] = aten.exp.default(%x)
%d : float32[4] = aten.as_strided.default(%e, [4], [5], 0)
%f : float32[4] = aten.neg.default(%d)
%y : float32[4, 4] = aten.as_strided_scatter.default(%e, %f, [4], [5], 0)
output %y
)",
     "aten.as_strided_scatter.default"},
    {"nonzero", R"(input %x "x" : float32[4, 4]
%m : bool[4, 4] = aten.gt.Scalar(%x, 0.5)
%n : int64[u0, 2] = aten.nonzero.default(%m)
%k : scalar = aten.sym_size.int(%n, 0)
%f : float32[u0] = aten.full.default([%k], 2, dtype.float32, none, none, none)
%t : float32[] = aten.sum.default(%f, none)
output %n
output %t
output %k
)",
     "aten.nonzero.default"},
    {"number_of_a_tensor", R"(input %x "x" : float32[4, 4]
%a : int64[] = aten.argmax.default(%x, none, false)
%i : scalar = aten.item.default(%a)
%j : scalar = sym.mod(%i, 4)
%r : float32[4] = aten.select.int(%x, 0, %j)
%n : scalar = sym.add(%j, 1)
%s : float32[u0, 4] = aten.slice.Tensor(%x, 0, 0, %n, 1)
%t : float32[4] = aten.sum.dim_IntList(%s, [0], false, none)
%y : float32[4] = aten.mul.Tensor(%r, %n)
output %y
output %t
)",
     "aten.select.int"},
    {"number_of_what_was_written", R"(input %x "x" : float32[4, 4]
%z : float32[] = aten.zeros.default([], none, none, none, none)
%s : float32[] = aten.sum.default(%x, none)
%c : float32[] = aten.copy_.default(%z, %s, false)
%v : scalar = aten.item.default(%z)
%y : float32[4, 4] = aten.add.Scalar(%x, %v, 1)
output %y
)",
     "aten.add.Scalar"},
    {"cond_by_selection", R"(input %x "x" : float32[4, 4]
parameter %w "w" : float32[4, 4]
%s : float32[] = aten.sum.default(%x, none)
%p : bool[] = aten.gt.Scalar(%s, 0)
%y : float32[4, 4] = higher_order.cond(%p, [%x, %w]) {
  input %a "a" : float32[4, 4]
  input %b "b" : float32[4, 4]
  %c : float32[4, 4] = aten.mm.default(%a, %b)
  output %c
} {
  input %a "a" : float32[4, 4]
  input %b "b" : float32[4, 4]
  %c : float32[4, 4] = aten.sub.Tensor(%a, %b, 1)
  output %c
}
output %y
)",
     ""},
    {"cond_that_can_fail", R"(input %x "x" : float32[4, 4]
%s : float32[] = aten.sum.default(%x, none)
%p : bool[] = aten.gt.Scalar(%s, 0)
%y : float32[4, 4] = higher_order.cond(%p, [%x]) {
  input %a "a" : float32[4, 4]
  %i : int64[] = aten.argmax.default(%a, none, false)
  %j : int64[] = aten.remainder.Scalar(%i, 4)
  %k : int64[1] = aten.reshape.default(%j, [1])
  %r : float32[1, 4] = aten.index_select.default(%a, 0, %k)
  %c : float32[4, 4] = aten.mul.Tensor(%a, %r)
  output %c
} {
  input %a "a" : float32[4, 4]
  %c : float32[4, 4] = aten.neg.default(%a)
  output %c
}
output %y
)",
     "higher_order.cond"},
    {"while_of_data", R"(input %x "x" : float32[4, 4]
%y : float32[4, 4] = higher_order.while_loop([%x], []) {
  input %a "a" : float32[4, 4]
  %m : float32[] = aten.max.default(%a)
  %p : bool[] = aten.gt.Scalar(%m, 0.25)
  output %p
} {
  input %a "a" : float32[4, 4]
  %b : float32[4, 4] = aten.mul.Scalar(%a, 0.5)
  output %b
}
output %y
)",
     "higher_order.while_loop"},
    {"while_stacked", R"(input %x "x" : float32[4, 4]
%s : float32[u0, 4, 4] = higher_order.while_loop_stack_output([%x], []) {
  input %a "a" : float32[4, 4]
  %m : float32[] = aten.max.default(%a)
  %p : bool[] = aten.gt.Scalar(%m, 1.5)
  output %p
} {
  input %a "a" : float32[4, 4]
  %b : float32[4, 4] = aten.mul.Scalar(%a, 0.5)
  output %b
}
%y : float32[4, 4] = aten.sum.dim_IntList(%s, [0], false, none)
output %y
)",
     "higher_order.while_loop_stack_output"},
    {"while_that_counts", R"(input %x "x" : float32[4, 4]
%z : int64[] = aten.zeros.default([], dtype.int64, none, none, none)
%n : int64[], %y : float32[4, 4] = higher_order.while_loop([%z, %x], []) {
  input %i "i" : int64[]
  input %a "a" : float32[4, 4]
  %p : bool[] = aten.lt.Scalar(%i, 3)
  output %p
} {
  input %i "i" : int64[]
  input %a "a" : float32[4, 4]
  %j : int64[] = aten.add.Scalar(%i, 1, 1)
  %b : float32[4, 4] = aten.tanh.default(%a)
  output %j
  output %b
}
output %y
output %n
)",
     ""},
    {"scan", R"(input %x "x" : float32[4, 4]
parameter %w "w" : float32[4]
%c : float32[4], %y : float32[4, 4] = higher_order.scan([%w], [%x], []) {
  input %h "h" : float32[4]
  input %r "r" : float32[4]
  %a : float32[4] = aten.add.Tensor(%h, %r, 1)
  %b : float32[4] = aten.tanh.default(%a)
  %d : float32[4] = aten.mul.Scalar(%b, 2)
  output %b
  output %d
}
output %c
output %y
)",
     ""},
    {"map", R"(input %x "x" : float32[4, 4]
parameter %w "w" : float32[4]
%y : float32[4, 4] = higher_order.map_impl([%x], [%w]) {
  input %r "r" : float32[4]
  input %o "o" : float32[4]
  %a : float32[4] = aten.mul.Tensor(%r, %o)
  output %a
}
output %y
)",
     ""},
    {"autocast", R"(input %x "x" : float32[4, 4]
parameter %w "w" : float32[4, 4]
%y : bfloat16[4, 4] = higher_order.autocast(dtype.bfloat16, [%x, %w]) {
  input %a "a" : float32[4, 4]
  input %b "b" : float32[4, 4]
  %c : bfloat16[4, 4] = aten.linear.default(%a, %b, none)
  output %c
}
output %y
)",
     ""},
    {"branches_with_a_number", R"(input %x "x" : float32[4, 4]
%s : float32[] = aten.sum.default(%x, none)
%p : bool[] = aten.gt.Scalar(%s, 0)
%y : float32[4, 4] = higher_order.cond(%p, [%x, 0.5]) {
  input %a "a" : float32[4, 4]
  input %f "f" : scalar
  %c : float32[4, 4] = aten.mul.Scalar(%a, %f)
  output %c
} {
  input %a "a" : float32[4, 4]
  input %f "f" : scalar
  %c : float32[4, 4] = aten.add.Scalar(%a, %f, 1)
  output %c
}
output %y
)",
     ""},
    {"branches_of_two_shapes", R"(input %x "x" : float32[4, 4]
parameter %w "w" : float32[4, 4]
%m : float32[4, 4] = aten.mul.Tensor(%x, %w)
%s : float32[] = aten.sum.default(%m, none)
%p : bool[] = aten.gt.Scalar(%s, 0)
%y : float32[u0, 4] = higher_order.cond(%p, [%m]) {
  input %a "a" : float32[4, 4]
  %c : float32[4, 4] = aten.neg.default(%a)
  output %c
} {
  input %a "a" : float32[4, 4]
  %c : float32[1, 4] = aten.sum.dim_IntList(%a, [0], true, none)
  output %c
}
%z : float32[4] = aten.sum.dim_IntList(%y, [0], false, none)
output %z
)",
     "higher_order.cond"},
};

}  // namespace

std::span<const ByMemberCase> data_cases() {
  return kDataCases;
}

}  // namespace wide::test
