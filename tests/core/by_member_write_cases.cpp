// Writes, also through views and where ATen has no pure operator for them.
#include "tests/core/by_member_cases.h"

namespace wide::test {
namespace {

const ByMemberCase kWriteCases[] = {
    {"comparison_in_place", R"(input %x "x" : float32[4, 4]
%c : float32[4, 4] = aten.clone.default(%x, none)
%g : float32[4, 4] = aten.gt_.Scalar(%c, 0)
%y : float32[4, 4] = aten.add.Tensor(%g, %x, 1)
output %y
output %c
)",
     ""},
    {"half_plus_float", R"(input %x "x" : float32[4, 4]
%h : float16[4, 4] = aten.to.dtype(%x, dtype.float16, false, false, none)
%a : float16[4, 4] = aten.add_.Tensor(%h, %x, 1)
output %a
)",
     ""},
    {"power_in_place", R"(input %x "x" : float32[4, 4]
%c : float32[4, 4] = aten.clone.default(%x, none)
%p : float32[4, 4] = aten.pow_.Scalar(%c, 2)
output %c
)",
     ""},
    {"mask_in_place", R"(input %x "x" : float32[4, 4]
%a : bool[4, 4] = aten.gt.Scalar(%x, 0)
%b : bool[4, 4] = aten.lt.Scalar(%x, -1)
%c : bool[4, 4] = aten.__ior__.Tensor(%a, %b)
output %a
)",
     ""},
    {"written_arguments", R"(input %x "x" : float32[4, 4]
%c : float32[4, 4] = aten.clone.default(%x, none)
%o : float32[4, 4] = aten.mul.out(%x, %x, %c)
output %c
)",
     ""},
    {"diagonal_in_place", R"(input %x "x" : float32[4, 4]
%c : float32[4, 4] = aten.clone.default(%x, none)
%d : float32[4, 4] = aten.fill_diagonal_.default(%c, 7, false)
%y : float32[4, 4] = aten.add.Tensor(%c, %x, 1)
output %y
)",
     "wide.call"},
    {"write_through_unfold", R"(input %x "x" : float32[4, 4]
%c : float32[4, 4] = aten.clone.default(%x, none)
%u : float32[2, 4, 2] = aten.unfold.default(%c, 0, 2, 2)
%f : float32[2, 4, 2] = aten.mul_.Scalar(%u, 3)
output %c
)",
     "wide.call"},
    {"written_copy_of_an_unfolded_one", R"(input %x "x" : float32[4, 4]
parameter %w "w" : float32[4, 4]
%m : float32[4, 4] = aten.mul.Tensor(%x, %w)
%u : float32[3, 4, 2] = aten.unfold.default(%m, 0, 2, 1)
%c : float32[3, 4, 2] = aten.clone.default(%u, none)
%l : float32[3, 4] = aten.select.int(%c, 2, 0)
%f : float32[3, 4] = aten.fill_.Scalar(%l, 5)
%s : float32[3, 4, 1] = aten.slice.Tensor(%c, 2, 1, 2, 1)
%g : float32[3, 4, 1] = aten.mul_.Scalar(%s, 3)
output %c
)",
     ""},
    {"written_copy_of_a_shared_unfolded_one", R"(input %x "x" : float32[4, 4]
%u : float32[3, 4, 2] = aten.unfold.default(%x, 0, 2, 1)
%c : float32[3, 4, 2] = aten.clone.default(%u, none)
%l : float32[3, 4] = aten.select.int(%c, 2, 0)
%f : float32[3, 4] = aten.fill_.Scalar(%l, 5)
output %c
)",
     ""},
    {"written_row_of_an_unfolded_one", R"(input %x "x" : float32[4, 4]
parameter %w "w" : float32[4, 4]
%m : float32[4, 4] = aten.mul.Tensor(%x, %w)
%u : float32[3, 4, 2] = aten.unfold.default(%m, 0, 2, 1)
%r : float32[4, 2] = aten.select.int(%u, 0, 0)
%f : float32[4, 2] = aten.fill_.Scalar(%r, 5)
output %u
output %m
output %f
)",
     "wide.call"},
    {"scattered_into_an_unfolded_one", R"(input %x "x" : float32[4, 4]
parameter %w "w" : float32[4, 4]
%m : float32[4, 4] = aten.mul.Tensor(%x, %w)
%u : float32[3, 4, 2] = aten.unfold.default(%m, 0, 2, 1)
%p : float32[4, 3, 2] = aten.permute.default(%u, [1, 0, 2])
%s : float32[1, 3, 2] = aten.slice.Tensor(%p, 0, 3, 4, 1)
%y : float32[4, 3, 2] = aten.slice_scatter.default(%p, %s, 0, 1, 2, 1)
%c : float32[4, 3] = aten.select.int(%p, 2, 1)
%z : float32[4, 3, 2] = aten.select_scatter.default(%p, %c, 2, 0)
output %y
output %z
output %m
)",
     "wide.call"},
    {"written_row_that_data_name", R"(input %x "x" : float32[4, 4]
parameter %w "w" : float32[4, 4]
%m : float32[4, 4] = aten.mul.Tensor(%x, %w)
%q : float32[4] = aten.select.int(%m, 0, 0)
%a : int64[] = aten.argmax.default(%q, 0, false)
%i : scalar = aten.item.default(%a)
%r : float32[4] = aten.select.int(%m, 0, %i)
%s : float32[1] = aten.slice.Tensor(%r, 0, 1, 2, 1)
%f : float32[1] = aten.fill_.Scalar(%s, 5)
output %m
)",
     "aten.item.default"},
    {"written_mesh", R"(input %x "x" : float32[4, 4]
%a : float32[4] = aten.sum.dim_IntList(%x, [0], false, none)
%b : float32[4] = aten.sum.dim_IntList(%x, [1], false, none)
%p : float32[4, 4], %q : float32[4, 4] = aten.meshgrid.indexing([%a, %b], "xy")
%r : float32[4, 4] = aten.resize_as_.default(%p, %q, none)
%l : float32[4] = aten.select.int(%q, 0, 2)
%f : float32[4] = aten.fill_.Scalar(%l, 5)
output %a
output %b
output %r
)",
     "aten.meshgrid.indexing"},
    {"buffer_resized_as_it_is", R"(input %x "x" : float32[4, 4]
buffer %b "b" : float32[4, 4]
%r : float32[4, 4] = aten.resize_as_.default(%b, %b, none)
%m : float32[4, 4] = aten.mul.Tensor(%x, %b)
output %m
)",
     ""},
    {"written_broadcast", R"(input %x "x" : float32[4, 4]
%a : float32[4] = aten.sum.dim_IntList(%x, [0], false, none)
%p : float32[4, 4], %q : float32[4, 4] = aten.broadcast_tensors.default([%a, %x])
%l : float32[4] = aten.select.int(%p, 1, 2)
%f : float32[4] = aten.zero_.default(%l)
%e : float32[4, 4] = aten.expand_as.default(%a, %x)
%k : float32[4] = aten.select.int(%e, 1, 0)
%g : float32[4] = aten.fill_.Scalar(%k, 3)
output %a
output %p
)",
     "aten.broadcast_tensors.default"},
    {"zeros_into_an_expanded_view", R"(input %x "x" : float32[4, 4]
%c : float32[1, 4] = aten.sum.dim_IntList(%x, [0], true, none)
%e : float32[2, 3, 4] = aten.expand.default(%c, [2, 3, 4], false)
%l : float32[2, 3] = aten.select.int(%e, 2, 1)
%f : float32[2, 3] = aten.fill_.Scalar(%l, 5)
output %c
output %e
)",
     ""},
    {"transposed_in_place", R"(input %x "x" : float32[4, 4]
%c : float32[4, 4] = aten.clone.default(%x, none)
%v : float32[4] = aten.select.int(%c, 0, 1)
%t : float32[4, 4] = aten.transpose_.default(%c, 0, 1)
%u : float32[4, 4, 1] = aten.unsqueeze_.default(%c, 2)
%r : float32[4, 1] = aten.select.int(%c, 0, 1)
%f : float32[4, 1] = aten.fill_.Scalar(%r, 5)
output %c
output %v
)",
     ""},
};

}  // namespace

std::span<const ByMemberCase> write_cases() {
  return kWriteCases;
}

}  // namespace wide::test
