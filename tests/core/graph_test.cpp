// The graph's text form, its invariants, layouts, and comparing numbers.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <array>
#include <cmath>
#include <limits>

#include "core/ir/compare.h"
#include "core/ir/layout.h"
#include "core/ir/text.h"
#include "core/passes/verify.h"
#include "core/support.h"
#include "formats/error.h"

namespace wide::test {
namespace {

using testing::HasSubstr;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr std::string_view kAllKinds = R"(graph "all kinds, \"quoted\" \\ \x0a"
symbol s0 2 none
symbol s77 1 64
guard "(s77 % 2) != 0"
guard "s0 <= s77"
input %x "x" : float32[s0, 4, add(mul(2, s77), 1)]
input %n "n" : scalar
parameter %w "conv.weight" : bfloat16[8, 4]
buffer %mean "mean" transient : float64[]
constant %c "c" : int64[3]
%size : scalar = aten.sym_size.int(%x, 0) at "encoder.layer1"
%double : scalar = sym.mul(%size, 2)
%a : float32[2, 4], %_, %b = aten.max.dim(%x, -1, false)
%y = aten.full.default([%double, 3], 0.5, dtype.float32, layout.strided, device.cpu, none)
%z = aten.add.Scalar(%y, -1e-05, 2) at "é"
%e = aten.einsum.default("ij, jk", [%x, %w], none)
%f = aten.fill.Scalar(%y, inf, [nan, -inf, true, false, [], [[1], [2, 3]]], complex(1.0, -2.5))
%g = aten.clone.default(%y, memory_format.channels_last)
output %z "logits"
output none "none"
output [%a, 7]
writes %g "mean"
)";

TEST(Text, PrintAndParseAreInverse) {
  EXPECT_EQ(print(parse_graph(kAllKinds)), kAllKinds);
}

TEST(Text, CommentsAndBlankLinesAreSkipped) {
  EXPECT_EQ(print(parse_graph("# a comment\ngraph \"g\"\n\n  # another\ninput %x \"x\"\n")),
            "graph \"g\"\ninput %x \"x\"\n");
}

TEST(Text, EveryStageOfTheCorpusIsReadBack) {
  for (const auto& name : corpus_models()) {
    SCOPED_TRACE(name);
    BuildOptions options;
    options.pipeline.snapshots = true;
    auto model = corpus_model(name, 2, options);
    int stages = 0;
    for (const auto& stage : model.build(corpus_inputs(name, 2)).stages) {
      if (stage.name == "widen" || stage.name == "compile") continue;
      SCOPED_TRACE(stage.name);
      const auto graph = parse_graph(stage.text);
      EXPECT_EQ(print(graph), stage.text);
      EXPECT_NO_THROW(verify(graph, stage.name));
      ++stages;
    }
    EXPECT_GE(stages, 5);
  }
}

struct BadText {
  std::string text, place, why;
};

TEST(Text, FaultsAreNamedWithLineAndColumn) {
  const std::string start = "graph \"g\"\ninput %x \"x\" : float32[2]\n";
  for (const auto& [text, place, why] : std::vector<BadText>{
           {"graph g\n", "line 1, column 7", "quoted"},
           {"graph \"g\n", "line 1, column 9", "does not end"},
           {start + "%y = aten.relu.default(%z)\n", "line 3, column 26", "%z is not defined"},
           {start + "%x = aten.relu.default(%x)\n", "line 3", "defined twice"},
           {start + "%y = aten.relu.default(%x\n", "line 3, column 26", "expected ','"},
           {start + "%y : float33[2] = aten.relu.default(%x)\n", "line 3", "float33"},
           {start + "%y : float32[two(s0)] = aten.relu.default(%x)\n", "line 3", "unknown function 'two'"},
           {start + "%y = aten.relu.default(%x) at \"m\" more\n", "line 3", "unexpected text"},
           {start + "%y = aten.add.Scalar(%x, 1.2.3)\n", "line 3", "not a number"},
           {start + "%y = aten.add.Scalar(%x, device.cuda)\n", "line 3", "device.cuda"},
           {start + "symbol s0 one none\n", "line 3", "number"},
           {"input %x \"\\xzz\"\n", "line 1", "escape"},
           {start + "output " + std::string(100, '[') + "\n", "line 3", "too deeply"},
       }) {
    SCOPED_TRACE(text);
    expect_error([&, source = std::string_view(text)] { parse_graph(source); }, "parse", {place, why});
  }
}

// A sound graph, and one way to break it.
Graph sound() {
  return parse_graph(R"(graph "g"
input %x "x" : float32[2]
%y : float32[2] = aten.relu.default(%x)
%z : float32[2] = aten.add.Tensor(%x, %y, 1)
output %z
)");
}

struct Broken {
  std::string_view name, why;
  void (*change)(Graph&);
};

TEST(Verify, RejectsBrokenGraphs) {
  EXPECT_NO_THROW(verify(sound(), "test"));
  for (const auto& [name, why, change] : std::vector<Broken>{
           {"use before definition", "before its definition",
            [](Graph& g) { std::swap(g.nodes[0], g.nodes[1]); }},
           {"defined twice", "again", [](Graph& g) { g.nodes[1].results[0] = g.nodes[0].results[0]; }},
           {"an input defined again", "again", [](Graph& g) { g.nodes[0].results[0] = g.inputs[0].value; }},
           {"name twice", "stands twice", [](Graph& g) { g.values[2].name = g.values[1].name; }},
           {"unknown operator", "unknown operator", [](Graph& g) { g.nodes[0].op = "aten.relooo.default"; }},
           {"too few arguments", "schema", [](Graph& g) { g.nodes[1].arguments.pop_back(); }},
           {"too many arguments", "schema", [](Graph& g) { g.nodes[0].arguments.push_back({true}); }},
           {"id too large", "out of range", [](Graph& g) { g.nodes[0].arguments[0] = {ValueRef{99}}; }},
           {"id below zero", "out of range", [](Graph& g) { g.nodes[0].arguments[0] = {ValueRef{-1}}; }},
           {"result out of range", "out of range", [](Graph& g) { g.nodes[0].results[0] = 99; }},
           {"output undefined", "before its definition",
            [](Graph& g) { g.outputs[0].value = {ValueRef{g.add_value("w", true)}}; }},
           {"list uses the undefined", "before its definition",
            [](Graph& g) { g.outputs[0].value = {Argument::List{{ValueRef{g.add_value("w", true)}}}}; }},
       }) {
    SCOPED_TRACE(name);
    auto graph = sound();
    change(graph);
    try {
      verify(graph, "my stage");
      ADD_FAILURE() << "accepted";
    } catch (const std::logic_error& error) {
      EXPECT_THAT(error.what(), HasSubstr("my stage"));
      EXPECT_THAT(error.what(), HasSubstr(std::string(why)));
    }
  }
}

TEST(Layout, ConversionsKeepEveryMember) {
  for (const auto& shape : std::vector<std::vector<std::int64_t>>{{2, 5, 4},
                                                                  {1, 5, 4},
                                                                  {5, 7},
                                                                  {3, 3},
                                                                  {4},
                                                                  {},
                                                                  {2, 0},
                                                                  {2, 5, 4, 7},
                                                                  {1, 5, 4, 7},
                                                                  {2, 5, 1, 1},
                                                                  {2, 1, 4, 7},
                                                                  {1, 1, 4, 7},
                                                                  {2, 5, 4, 7, 6},
                                                                  {1, 5, 1, 1, 1},
                                                                  {2, 0, 4, 7}}) {
    const ConcreteType type{at::kFloat, shape};
    const auto front = at::randn(physical_shape(type, Layout::kFront, kMembers));
    for (const auto from : kMappedLayouts) {
      if (!can_hold(from, type)) continue;
      const auto source = convert(front, Layout::kFront, from, type, kMembers);
      EXPECT_EQ(source.sizes(), at::IntArrayRef(physical_shape(type, from, kMembers)));
      EXPECT_TRUE(type.elements() == 0 || source.is_contiguous(memory_format(from, type.rank())));
      for (const auto to : kMappedLayouts) {
        if (!can_hold(to, type)) continue;
        SCOPED_TRACE(testing::PrintToString(shape) + std::string(name(from)) + " to " +
                     std::string(name(to)));
        const auto got = convert(source, from, to, type, kMembers);
        EXPECT_EQ(got.sizes(), at::IntArrayRef(physical_shape(type, to, kMembers)));
        for (std::int64_t i = 0; i < kMembers; ++i) {
          EXPECT_TRUE(member_view(got, to, type, i, kMembers).equal(front.select(0, i))) << i;
        }
        if (type.elements() > 0) {
          EXPECT_TRUE(got.is_contiguous(memory_format(to, type.rank()))) << got.strides();
          EXPECT_EQ(got.storage().is_alias_of(source.storage()), is_free(from, to, type, kMembers));
        }
      }
    }
  }
}

TEST(Layout, SharedBecomesTheSameForEachMember) {
  const ConcreteType type{at::kFloat, {2, 5, 4, 7}};
  const auto shared = at::randn(type.shape);
  for (const auto to : kMappedLayouts) {
    SCOPED_TRACE(std::string(name(to)));
    const auto got = convert(shared, Layout::kShared, to, type, kMembers);
    EXPECT_EQ(got.sizes(), at::IntArrayRef(physical_shape(type, to, kMembers)));
    for (std::int64_t i = 0; i < kMembers; ++i)
      EXPECT_TRUE(member_view(got, to, type, i, kMembers).equal(shared));
    EXPECT_EQ(got.storage().is_alias_of(shared.storage()), is_free(Layout::kShared, to, type, kMembers));
  }
}

TEST(Layout, OneMemberIsInEveryLayoutWithoutACopyUnlessChannelsMove) {
  const ConcreteType type{at::kFloat, {2, 5, 4, 7}};
  const auto own = at::randn(type.shape);
  for (const auto from : {Layout::kShared, Layout::kFront, Layout::kFolded, Layout::kPacked}) {
    for (const auto to : kMappedLayouts) {
      SCOPED_TRACE(std::string(name(from)) + " to " + std::string(name(to)));
      const auto source = from == Layout::kShared ? own : convert(own, Layout::kShared, from, type, 1);
      const auto got = convert(source, from, to, type, 1);
      EXPECT_TRUE(member_view(got, to, type, 0, 1).equal(own));
      EXPECT_EQ(is_free(from, to, type, 1), !is_last(to));
      EXPECT_EQ(got.storage().is_alias_of(own.storage()), !is_last(to));
    }
  }
  EXPECT_TRUE(is_free(Layout::kFoldedLast, Layout::kPackedLast, type, 1));
}

TEST(Layout, NamesAreReadAsTheyArePrinted) {
  for (const auto layout : kMappedLayouts) EXPECT_EQ(find_layout(name(layout)), layout);
  EXPECT_EQ(find_layout("shared"), Layout::kShared);
  EXPECT_FALSE(find_layout("sideways"));
}

TEST(Compare, OnlyEqualOddNumbersAgree) {
  const double values[] = {1.0, kNan, kInfinity, -kInfinity};
  for (const double got : values) {
    for (const double expected : values) {
      SCOPED_TRACE(std::to_string(got) + " against " + std::to_string(expected));
      const bool same = got == expected || (std::isnan(got) && std::isnan(expected));
      const auto difference = compare(at::scalar_tensor(got), at::scalar_tensor(expected), {1e30, 1e30});
      EXPECT_EQ(difference.agrees, same);
      EXPECT_EQ(std::isnan(difference.max_abs), !same) << difference.max_abs;
    }
  }
}

TEST(Compare, NamesTheWorstElement) {
  auto expected = at::ones({3, 4}), got = expected.clone();
  got[1][2] = 1.5;
  got[2][3] = -7;
  const auto difference = compare(got, expected, {1e-6, 0});
  EXPECT_FALSE(difference.agrees);
  EXPECT_EQ(difference.worst, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(difference.max_abs, 8);
  EXPECT_EQ(difference.text, "at [2, 3]: got -7, expected 1");
  got[0][1] = kNan;
  EXPECT_EQ(compare(got, expected, {1, 100}).worst, (std::vector<std::int64_t>{0, 1}));
}

TEST(Compare, OtherShapesAndTypesDisagree) {
  EXPECT_FALSE(compare(at::ones({2, 1}), at::ones({1, 2}), {1, 1}).agrees);
  EXPECT_FALSE(compare(at::ones({2}), at::ones({2}, at::kDouble), {1, 1}).agrees);
  EXPECT_TRUE(compare(at::ones({0, 2}), at::ones({0, 2}), {0, 0}).agrees);
}

TEST(Compare, ToleranceFollowsTypeDepthAndScale) {
  for (const auto dtype : {at::kLong, at::kBool, at::kByte})
    EXPECT_EQ(tolerance(dtype, 100, 100).absolute, 0);
  EXPECT_LT(tolerance(at::kDouble, 1, 1).relative, tolerance(at::kFloat, 1, 1).relative);
  EXPECT_LT(tolerance(at::kFloat, 1, 1).relative, tolerance(at::kHalf, 1, 1).relative);
  EXPECT_LT(tolerance(at::kHalf, 1, 1).relative, tolerance(at::kBFloat16, 1, 1).relative);
  EXPECT_LT(tolerance(at::kFloat, 1, 1).relative, tolerance(at::kFloat, 9, 1).relative);
  EXPECT_EQ(tolerance(at::kFloat, 1, 10).absolute, 10 * tolerance(at::kFloat, 1, 1).absolute);
  EXPECT_LT(tolerance(at::kFloat, 1000, 1).relative, 1e-4);
  EXPECT_EQ(magnitude(at::tensor({-3.0, kNan, kInfinity, 2.0})), 3);
  EXPECT_EQ(magnitude(at::empty({0})), 0);
}

// Scores beside what masks: the scores' rounding is theirs, however large the mask is.
TEST(Compare, NumbersBesideMasksAreJudgedByTheirOwnSize) {
  for (const double fill : {-1e9, static_cast<double>(std::numeric_limits<float>::lowest()), 1e4}) {
    SCOPED_TRACE(fill);
    auto expected = at::arange(-20, 44).to(at::kFloat) * 0.25;
    expected.slice(0, 10, 40) = fill;
    const auto bound = tolerance(at::kFloat, 9, magnitude(expected));
    EXPECT_TRUE(compare(expected.clone(), expected, bound).agrees);
    EXPECT_TRUE(compare(expected * (1 - 1e-6), expected, bound).agrees);
    for (const double off : {1e-5, 1e-3}) {
      auto got = expected.clone();
      got[50] += off;
      const auto difference = compare(got, expected, bound);
      EXPECT_EQ(difference.agrees, off < 1e-4);
      EXPECT_LT(difference.allowed, 1e-4);
      EXPECT_NEAR(compare(got, expected, {0, 0, true}).max_by_size / magnitude(expected), off / 10.75, 1e-7);
    }
    EXPECT_TRUE(compare(expected + 1e-3 * (expected != fill), expected, {0, 1e-2}).agrees)
        << "told by a person";
  }
}

TEST(Compare, ASingleNumberOrZerosBesideMasksCount) {
  const auto masks = at::full({3}, -1e9);
  for (const double one : {3.0, 0.0}) {
    const auto expected = at::cat({at::full({1}, one), masks});
    const auto bound = tolerance(at::kFloat, 9, magnitude(expected));
    EXPECT_TRUE(compare(expected, expected, bound).agrees);
    EXPECT_TRUE(compare(at::cat({at::full({1}, one + 1e-7), masks - 64}), expected, bound).agrees);
    const auto wrong = compare(at::cat({at::full({1}, one + 50), masks}), expected, bound);
    EXPECT_FALSE(wrong.agrees);
    EXPECT_EQ(wrong.max_abs, 50);
    EXPECT_LT(wrong.allowed, 1e-4);
  }
}

// Small numbers among large ones may be what rounding left: it is that of the others.
TEST(Compare, OtherSmallNumbersAreJudgedByTheLargeOnes) {
  for (const auto& expected :
       {at::tensor({1e-4F, 1.F}), at::tensor({1e-6F, 3e-6F, 2e-5F, 1.F, 2.F, -1.F}),
        at::logspace(-6, 5.7, 60), at::zeros({7}), at::tensor({0.F, 0.F, 0.F, 0.F, 1.F}), at::eye(4) + 1e-9,
        at::eye(20) * 10000.002 + 1e-5 * at::rand({20, 20}),
        at::cat({at::full({9}, 102400.3), at::randn({500})}),
        at::cat({at::randn({20}) * 1e5, at::randn({20}) * 1e-3})}) {
    const auto bound = tolerance(at::kFloat, 9, magnitude(expected));
    EXPECT_TRUE(compare(expected + 0.9 * bound.absolute, expected, bound).agrees) << expected;
  }
}

}  // namespace
}  // namespace wide::test
