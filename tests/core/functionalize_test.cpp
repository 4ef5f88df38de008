// Nothing writes any more.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <vector>

#include "core/eager/interpreter.h"
#include "core/ir/text.h"
#include "core/passes/functionalize.h"
#include "core/passes/verify.h"
#include "formats/error.h"
#include "tests/core/support.h"

namespace wide::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using zoo::ints;
using zoo::ref;

// A graph that writes through `view` of an intermediate tensor t and returns t, and the view as seen
// afterwards.
struct ViewCase {
  std::string_view name;
  ValueId (*view)(zoo::Builder& b, ValueId t);
};

zoo::Architecture writes_through(const ViewCase& one) {
  zoo::Builder b("view");
  const auto x = b.input("x", normal({4, 6}));
  const auto t = b.op("aten.mul.Tensor", {ref(x), {2.0}});
  const auto early = b.op("aten.select.int", {ref(t), integer(0), integer(1)});
  const auto view = one.view(b, t);
  b.op("aten.mul_.Tensor", {ref(view), {-3.0}});
  b.op("aten.add_.Tensor", {ref(view), {1.0}});
  b.output(t);
  b.output(view);
  b.output(early);
  return b.take();
}

TEST(Functionalize, WritesThroughViewsAreSeenThroughEveryOtherView) {
  for (const auto& one : std::vector<ViewCase>{
           {"itself", [](zoo::Builder&, ValueId t) { return t; }},
           {"select",
            [](zoo::Builder&b, ValueId t) {
              return b.op("aten.select.int", {ref(t), integer(0), integer(1)});
            }},
           {"select from the end",
            [](zoo::Builder&b, ValueId t) {
              return b.op("aten.select.int", {ref(t), integer(-1), integer(-2)});
            }},
           {"slice",
            [](zoo::Builder&b, ValueId t) {
              return b.op("aten.slice.Tensor", {ref(t), integer(1), integer(1), integer(5), integer(2)});
            }},
           {"transpose",
            [](zoo::Builder&b, ValueId t) {
              return b.op("aten.transpose.int", {ref(t), integer(0), integer(1)});
            }},
           {"t", [](zoo::Builder&b, ValueId t) { return b.op("aten.t.default", {ref(t)}); }},
           {"permute",
            [](zoo::Builder&b, ValueId t) {
              return b.op("aten.permute.default", {ref(t), ints({1, 0})});
            }},
           {"view",
            [](zoo::Builder&b, ValueId t) {
              return b.op("aten.view.default", {ref(t), ints({2, 12})});
            }},
           {"reshape",
            [](zoo::Builder&b, ValueId t) {
              return b.op("aten.reshape.default", {ref(t), ints({-1})});
            }},
           {"flatten", [](zoo::Builder&b, ValueId t) { return b.op("aten.flatten.using_ints", {ref(t)}); }},
           {"unsqueeze",
            [](zoo::Builder&b, ValueId t) {
              return b.op("aten.unsqueeze.default", {ref(t), integer(1)});
            }},
           {"chunk",
            [](zoo::Builder&b, ValueId t) {
              return b.ops("aten.chunk.default", {ref(t), integer(3), integer(1)}, 3)[1];
            }},
           {"split",
            [](zoo::Builder&b, ValueId t) {
              return b.ops("aten.split.Tensor", {ref(t), integer(2)}, 2)[1];
            }},
           {"unbind", [](zoo::Builder&b, ValueId t) { return b.ops("aten.unbind.int", {ref(t)}, 4)[2]; }},
           {"view of a view",
            [](zoo::Builder&b, ValueId t) {
              const auto rows = b.op("aten.slice.Tensor", {ref(t), integer(0), integer(1), integer(4)});
              const auto turned = b.op("aten.transpose.int", {ref(rows), integer(0), integer(1)});
              return b.op("aten.select.int", {ref(turned), integer(0), integer(3)});
            }},
       }) {
    SCOPED_TRACE(one.name);
    const auto architecture = writes_through(one);
    const auto specialized = specialize(architecture.graph, member_values(architecture));
    const auto graph = functionalize(specialized);
    EXPECT_NO_THROW(verify(graph, "functionalize"));
    for (const auto& node : graph.nodes)
      EXPECT_FALSE(find_operator(node.op)->schema().is_mutable()) << node.op;
    const auto expected = Interpreter(specialized.graph).run(member_values(architecture));
    const auto got = Interpreter(graph).run(member_values(architecture));
    for (std::size_t k = 0; k < expected.size(); ++k) {
      EXPECT_TRUE(got[k].toTensor().equal(expected[k].toTensor())) << "output " << k << " of\n"
                                                                   << print(graph);
    }
  }
}

TEST(Functionalize, WritesIntoBuffersBecomeOutputs) {
  zoo::Builder b("counter");
  const auto x = b.input("x", normal({3}));
  const auto steps = b.buffer("steps", normal({3}));
  const auto same = b.buffer("same", normal({3}));
  b.op("aten.add_.Tensor", {ref(steps), ref(x)});
  b.output(b.op("aten.add.Tensor", {ref(steps), ref(same)}));
  const auto architecture = b.take();
  const auto specialized = specialize(architecture.graph, member_values(architecture));
  EXPECT_EQ(written_inputs(specialized), (std::vector<bool>{false, true, false}));
  const auto graph = functionalize(specialized);
  ASSERT_EQ(graph.outputs.size(), 2u) << print(graph);
  EXPECT_EQ(graph.outputs[1].kind, OutputKind::kBufferMutation);
  EXPECT_EQ(graph.outputs[1].target, "steps");
}

TEST(Functionalize, BuffersMayTurnInPlaceWhereTheyKeepTheirShape) {
  const auto turned = [](const std::vector<std::int64_t>& shape) {
    zoo::Builder b("turned");
    const auto x = b.input("x", normal({3}));
    const auto table = b.buffer("table", normal(shape));
    b.op("aten.transpose_.default", {ref(table), {std::int64_t{0}}, {std::int64_t{1}}});
    b.output(b.op("aten.add.Tensor", {ref(x), {1.0}}));
    const auto architecture = b.take();
    return functionalize(specialize(architecture.graph, member_values(architecture)));
  };
  const auto graph = turned({3, 3});
  ASSERT_EQ(graph.outputs.size(), 2u) << print(graph);
  EXPECT_EQ(graph.outputs[1].kind, OutputKind::kBufferMutation);
  try {
    turned({2, 3});
    ADD_FAILURE() << "no pass after this one would find the shape it is made for";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("turns 'table' from [2, 3] into [3, 2] in place"));
  }
}

TEST(Functionalize, BuffersKeepTheirSize) {
  zoo::Builder b("resized");
  const auto x = b.input("x", normal({3}));
  const auto seen = b.buffer("seen", normal({2}));
  b.op("aten.copy_.default",
       {ref(b.op("aten.resize_.default", {ref(seen), zoo::ints({3}), {}})), ref(x), {false}});
  b.output(b.op("aten.add.Tensor", {ref(x), {1.0}}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  try {
    model.build(wide_inputs(architecture, kMembers));
    ADD_FAILURE() << "the second pass would find another size";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("resizes 'seen' from [2] to [3] in place"));
  }
}

// A dropout in evaluation and a cast to the same dtype give the tensor that they are given; a view is
// another.
TEST(Functionalize, ANewShapeInPlaceIsThatOfEveryNameOfATensor) {
  zoo::Builder b("names");
  const auto x = b.input("x", normal({3, 5}));
  const auto y = b.op("aten.neg.default", {ref(x)});
  const auto dropped = b.op("aten.dropout.default", {ref(y), {0.5}, {false}});
  const auto cast = b.op("aten.to.dtype", {ref(dropped), {at::kFloat}, {false}, {false}, {}});
  const auto view = b.op("aten.view.default", {ref(y), zoo::ints({3, 5})});
  b.op("aten.unsqueeze_.default", {ref(dropped), integer(0)});
  for (const auto one : {y, dropped, cast, view}) b.output(b.op("aten.abs.default", {ref(one)}));
  const auto architecture = b.take();
  const auto graph = functionalize(specialize(architecture.graph, member_values(architecture)));
  std::vector<std::size_t> ranks;
  for (const auto& output : graph.outputs)
    ranks.push_back(concrete(graph.values[static_cast<std::size_t>(output.value.ref()->id)]).shape.size());
  EXPECT_THAT(ranks, testing::ElementsAre(3U, 3U, 3U, 2U));
}

TEST(Functionalize, ArgumentsToWriteIntoArePure) {
  zoo::Builder b("out");
  const auto x = b.input("x", normal({3}));
  const auto t = b.op("aten.mul.Tensor", {ref(x), {2.0}});
  b.op("aten.add.out", {ref(x), ref(x), integer(1), ref(t)});
  b.output(t);
  const auto architecture = b.take();
  const auto graph = functionalize(specialize(architecture.graph, member_values(architecture)));
  EXPECT_THAT(ops(graph), Contains("aten.add.Tensor"));
  EXPECT_EQ(graph.nodes.back().results[0], graph.outputs[0].value.ref()->id);
}

}  // namespace
}  // namespace wide::test
