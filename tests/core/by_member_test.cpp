// What depends on data, control flow, and writes that ATen has no pure operator for: every member computes
// what it computes alone, pass after pass, by every way of running.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>

#include "core/ir/text.h"
#include "core/prove/prove.h"
#include "tests/core/support.h"

namespace wide::test {
namespace {

struct ByMemberCase {
  std::string_view name;
  std::string_view text;        ///< inputs: float32[4, 4], made up
  std::string_view sequential;  ///< an operator that must be counted as run member by member; "": none may be
};

// Readable names of parametrised tests.
std::ostream& operator<<(std::ostream& out, const ByMemberCase& one) {
  return out << one.name;
}

const ByMemberCase kCases[] = {
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

class ByMember : public testing::TestWithParam<ByMemberCase> {};

void expect_as_alone(WideModel& model, std::span<const ModelInput> inputs) {
  const auto outputs = model.forward(inputs);
  for (std::int64_t i = 0; i < model.members(); ++i) {
    const auto alone = model.run_alone(i, inputs).outputs;
    ASSERT_EQ(alone.size(), outputs.size());
    for (std::size_t k = 0; k < alone.size(); ++k) {
      const auto expected =
          alone[k].isTensor() ? alone[k].toTensor() : at::scalar_tensor(alone[k].toScalar(), at::kLong);
      EXPECT_TRUE(agree(outputs[k].member(i), expected)) << "member " << i << ", output " << k;
    }
  }
}

TEST_P(ByMember, IsAsAloneInEveryPassAndPlan) {
  const auto graph = parse_graph("graph \"g\"\n" + std::string(GetParam().text));
  for (const auto* strategy : {"auto", "sequential", "wide"}) {
    for (const bool mapped : {true, false}) {
      SCOPED_TRACE(std::string(strategy) + (mapped ? ", inputs per member" : ", shared inputs"));
      BuildOptions options;
      options.strategies.all = strategy;
      WideModel model(graph, made_up_members(graph, kMembers), options);
      for (int pass = 0; pass < 3; ++pass) {
        at::manual_seed(100 + static_cast<std::uint64_t>(pass));
        const ModelInput input{mapped ? at::randn({kMembers, 4, 4}) : at::randn({4, 4}), mapped};
        expect_as_alone(model, {&input, 1});
      }
    }
  }
}

TEST_P(ByMember, RunsBySchedules) {
  const auto graph = parse_graph("graph \"g\"\n" + std::string(GetParam().text));
  at::manual_seed(3);
  const ModelInput input{at::randn({4, 4, 4}), true};
  WideModel planned(graph, made_up_members(graph, 4));
  const auto& built = planned.build({&input, 1});
  auto stored = store(built.optimized, 4, built.planned);
  for (const auto& schedule : {Schedule{2, 1, 0}, Schedule{2, 2, 0}, Schedule{4, 1, 1}}) {
    BuildOptions options;
    options.plan = stored;
    options.plan->schedule = schedule;
    WideModel model(graph, made_up_members(graph, 4), options);
    expect_as_alone(model, {&input, 1});
  }
}

TEST_P(ByMember, IsProvedAndCounted) {
  const auto graph = parse_graph("graph \"g\"\n" + std::string(GetParam().text));
  for (const bool equal : {false, true}) {
    WideModel model(graph, made_up_members(graph, kMembers, equal));
    at::manual_seed(5);
    const ModelInput input{at::randn({kMembers, 4, 4}), true};
    for (const auto& check : prove(model, {&input, 1}).checks)
      EXPECT_TRUE(check.passed) << check.what << ": " << check.text;
    const auto counted = coverage(model.build({&input, 1})).sequential_ops;
    if (GetParam().sequential.empty()) {
      EXPECT_TRUE(counted.empty()) << counted.begin()->first;
    } else {
      EXPECT_TRUE(counted.contains(std::string(GetParam().sequential)));
    }
  }
}

TEST_P(ByMember, PrintsAndParses) {
  const auto text = "graph \"g\"\n" + std::string(GetParam().text);
  EXPECT_EQ(print(parse_graph(text)), text);
}

INSTANTIATE_TEST_SUITE_P(Cases, ByMember, testing::ValuesIn(kCases),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(ByMember, ABodyThatIsNotClosedIsNamed) {
  expect_error([] { parse_graph("graph \"g\"\ninput %x \"x\"\n%y = wide.call([%x]) {\n  input %a \"a\"\n"); },
               "parse", {"not closed"});
  expect_error([] { parse_graph("graph \"g\"\n}\n"); }, "parse", {"line 2"});
}

TEST(ByMember, ChecksOfDataRefuseAsAlone) {
  const auto graph = parse_graph(R"(graph "g"
input %x "x" : float32[4, 4]
%s : float32[] = aten.sum.default(%x, none)
%n : scalar = aten.item.default(%s)
%p : scalar = sym.ge(%n, 0)
aten._assert_scalar.default(%p, "the sum is not negative")
%y : float32[4, 4] = aten.mul.Scalar(%x, 2)
output %y
)");
  for (const bool mapped : {true, false}) {
    WideModel model(graph, made_up_members(graph, 2, false));
    const ModelInput good{mapped ? at::ones({2, 4, 4}) : at::ones({4, 4}), mapped};
    expect_as_alone(model, {&good, 1});
    const ModelInput bad{mapped ? at::stack({at::ones({4, 4}), -at::ones({4, 4})}) : -at::ones({4, 4}),
                         mapped};
    expect_error([&] { model.forward({&bad, 1}); }, "run", {"the sum is not negative"});
  }
}

TEST(ByMember, OutputsOfDifferentShapesAreTakenMemberByMember) {
  const auto graph = parse_graph("graph \"g\"\n" + std::string(kCases[0].text));
  WideModel model(graph, made_up_members(graph, 2, false));
  const ModelInput input{at::stack({at::ones({4, 4}), -at::ones({4, 4})}), true};
  const auto outputs = model.forward({&input, 1});
  EXPECT_EQ(outputs[1].member(0).numel(), 16);
  EXPECT_EQ(outputs[1].member(1).numel(), 0);
  expect_error([&] { outputs[1].stacked(); }, "run", {"member by member"});
}

// Data that decide how many axes a result has; what the caller does to it changes no later pass.
TEST(ByMember, OutputsOfDifferentNumbersOfAxes) {
  const auto graph = parse_graph(R"(graph "g"
input %x "x" : float32[4]
parameter %w "w" : float32[4]
%m : bool[4] = aten.gt.Scalar(%x, 0)
%s : float32[u0] = aten.masked_select.default(%x, %m)
%q : float32[u0] = aten.squeeze.default(%s)
%n : bool[4] = aten.gt.Scalar(%w, 0.5)
%t : float32[u1] = aten.masked_select.default(%w, %n)
%r : float32[u1] = aten.squeeze.default(%t)
%e : float32[u1] = aten.exp.default(%r)
output %q
output %r
)");
  std::vector<Member> members(3);
  const auto rows = at::tensor({0, 0, 0, 0, 0, 3, 0, 0, 1, 0, 0, 1}, at::kFloat).reshape({3, 4});
  for (std::int64_t i = 0; i < 3; ++i)
    members[static_cast<std::size_t>(i)] = {"member" + std::to_string(i), {{"w", rows[i].clone()}}};
  WideModel model(graph, members);
  const ModelInput input{rows, true};
  for (int pass = 0; pass < 3; ++pass) {
    const auto outputs = model.forward({&input, 1});
    for (const auto& output : outputs) {
      EXPECT_TRUE(output.member(0).equal(at::empty({0})));
      EXPECT_TRUE(output.member(1).equal(at::scalar_tensor(3.0)));
      EXPECT_TRUE(output.member(2).equal(at::ones({2})));
      expect_error([&] { output.stacked(); }, "run", {"member by member"});
      const c10::InferenceMode guard;
      for (std::int64_t i = 0; i < 3; ++i) output.member(i).zero_();
    }
  }
  const ModelInput one{at::ones({3, 4}), true};  // the same axes for all again
  EXPECT_TRUE(model.forward({&one, 1})[0].stacked().equal(at::ones({3, 4})));
}

// What is detached in place is what it was, for the member alone and for all of them.
TEST(ByMember, ABufferDetachedInPlaceIsProved) {
  const auto graph = parse_graph(R"(graph "g"
input %x "x" : float32[3]
buffer %b "b" : float32[3]
%d : float32[3] = aten.detach_.default(%b)
%y : float32[3] = aten.add.Tensor(%x, %d, 1)
output %y
)");
  WideModel model(graph, made_up_members(graph, 2));
  const ModelInput input{at::randn({2, 3}), true};
  const auto proof = prove(model, {&input, 1});
  for (const auto& check : proof.checks) EXPECT_TRUE(check.passed) << check.what << ": " << check.text;
}

// Where ATen draws in the order of memory, that is the same for all strategies: the order of the axes.
TEST(ByMember, DropoutsOfTurnedTensorsDrawInTheOrderOfTheAxes) {
  zoo::Builder b("turned");
  const auto turned = b.op("aten.permute.default",
                           {zoo::ref(b.input("x", normal({5, 7, 3}))),
                            {Argument::List{{std::int64_t{2}}, {std::int64_t{0}}, {std::int64_t{1}}}}});
  b.output(b.op("aten.dropout.default", {zoo::ref(turned), {0.5}, {true}}));
  const auto architecture = b.take();
  const auto inputs = wide_inputs(architecture, kMembers);
  auto wide = wide_model(architecture, kMembers);
  BuildOptions options;
  options.strategies.all = "sequential";
  auto sequential = wide_model(architecture, kMembers, options);
  const auto outputs = wide.forward(inputs), others = sequential.forward(inputs);
  for (std::int64_t i = 0; i < kMembers; ++i)
    EXPECT_TRUE(outputs[0].member(i).equal(others[0].member(i))) << i;
}

}  // namespace
}  // namespace wide::test
