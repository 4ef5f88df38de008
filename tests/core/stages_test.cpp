// Many spellings of an operation become one; and every stage, on the corpus.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/eager/interpreter.h"
#include "core/frontend/capture.h"
#include "core/ir/text.h"
#include "core/passes/canonicalize.h"
#include "core/passes/functionalize.h"
#include "tests/core/support.h"

namespace wide::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;
using zoo::ints;
using zoo::ref;

TEST(Canonicalize, NothingUnusedIsKept) {
  zoo::Builder b("unused");
  const auto x = b.input("x", normal({3}));
  const auto y = b.op("aten.relu.default", {ref(x)});
  b.op("aten.exp.default", {ref(y)});
  b.output(y);
  const auto architecture = b.take();
  const auto graph = canonicalize(functionalize(specialize(architecture.graph, member_values(architecture))));
  EXPECT_THAT(ops(graph), ElementsAre("aten.relu.default"));
}

// Many spellings of few operations.
zoo::Architecture spellings() {
  zoo::Builder b("spellings");
  const auto x = b.input("x", normal({2, 4, 6}));
  const auto dropped = b.op("aten.dropout.default", {ref(x), {0.5}, {false}});
  const auto flat = b.op("aten.flatten.using_ints", {ref(dropped), integer(-2), integer(-1)});
  const auto copy = b.op("aten.clone.default", {ref(flat)});
  const auto column = b.op("aten.unsqueeze.default", {ref(copy), integer(-1)});
  const auto back = b.op("aten.squeeze.dim", {ref(column), integer(-1)});
  const auto folded = b.op("aten.view.default", {ref(back), ints({2, -1, 6})});
  const auto turned = b.op("aten.transpose.int", {ref(folded), integer(-1), integer(-2)});
  const auto moved = b.op("aten.movedim.int", {ref(turned), integer(0), integer(-1)});
  const auto halves = b.ops("aten.chunk.default", {ref(moved), integer(2), integer(-3)}, 2);
  const auto parts = b.ops("aten.split.Tensor", {ref(halves[1]), integer(1), integer(0)}, 3);
  const auto rows = b.ops("aten.unbind.int", {ref(parts[0]), integer(0)}, 1);
  const auto same = b.op("aten.to.dtype", {ref(rows[0]), {at::kFloat}});
  const auto wide = b.op("aten.expand.default", {ref(same), ints({3, -1, -1})});
  const auto mean = b.op("aten.mean.dim", {ref(wide), ints({-1, -3})});
  b.output(mean);
  return b.take();
}

std::string canonical_text(const std::string& name) {
  if (name == "spellings") {
    const auto architecture = spellings();
    return print(canonicalize(functionalize(specialize(architecture.graph, member_values(architecture)))));
  }
  auto model = corpus_model(name, 1);
  return print(model.build(corpus_inputs(name, 1)).canonical);
}

// UPDATE_GOLDEN=1 rewrites the files; the difference is to be reviewed.
// What is drawn and thrown away moves what is drawn next.
TEST(Canonicalize, DrawsThatNobodyReadsAreKeptBesideOthers) {
  const auto draws = [](bool read) {
    zoo::Builder b("draws");
    const auto x = b.input("x", normal({3}));
    b.op("aten.rand_like.default", {ref(x), {}, {}, {}, {}, {}});
    const auto y = b.op("aten.bernoulli.p", {ref(x), {0.5}, {}});
    b.output(read ? y : b.op("aten.relu.default", {ref(x)}));
    const auto architecture = b.take();
    return ops(canonicalize(functionalize(specialize(architecture.graph, member_values(architecture)))));
  };
  EXPECT_THAT(draws(true), ElementsAre("aten.rand_like.default", "aten.bernoulli.p"));
  EXPECT_THAT(draws(false), ElementsAre("aten.relu.default"));
}

// A result that nobody reads is not what a node is kept for because another node lacks one, too.
TEST(Canonicalize, UnusedResultsOfDrawsKeepNothingElse) {
  const auto graph = parse_graph(R"(graph "g"
input %x "x" : float32[3, 4]
%v : float32[3], %_ = aten.max.dim(%x, 1, false)
%y : float32[3, 4], %_ = aten.native_dropout.default(%x, 0.5, true)
output %y
)");
  EXPECT_THAT(ops(canonicalize(graph)), Not(Contains("aten.max.dim")));
}

// PyTorch refuses to divide whole numbers by zero whether or not the result is used.
TEST(Canonicalize, DivisionsOfWholeNumbersAreKept) {
  const auto graph = parse_graph(R"(graph "g"
input %x "x" : float32[3]
input %a "a" : int64[3]
%d : int64[3] = aten.floor_divide.default(%a, %a)
%h : float32[3] = aten.floor_divide.default(%x, %x)
%y : float32[3] = aten.relu.default(%x)
output %y
)");
  EXPECT_THAT(ops(canonicalize(graph)), ElementsAre("aten.floor_divide.default", "aten.relu.default"));
  WideModel model(graph, made_up_members(graph, 2));
  const auto divide = [&](std::int64_t by) {
    const std::vector<ModelInput> inputs{{at::randn({3})}, {at::full({2, 3}, by, at::kLong), true}};
    return model.forward(inputs);
  };
  EXPECT_NO_THROW(divide(1));
  expect_error([&] { divide(0); }, "run", {"ZeroDivisionError"});
}

TEST(Canonicalize, GoldenText) {
  for (const std::string name :
       {"spellings", "mlp", "resblock", "mutating_buffer", "dict_output", "minigpt_dynamic"}) {
    SCOPED_TRACE(name);
    const auto file = std::filesystem::path(TESTS_FOLDER) / "core" / "golden" / (name + ".txt");
    const auto text = canonical_text(name);
    if (std::getenv("UPDATE_GOLDEN")) std::ofstream(file) << text;
    std::ifstream stream(file);
    const std::string golden((std::istreambuf_iterator<char>(stream)), {});
    EXPECT_EQ(text, golden);
  }
}

TEST(Stages, EachKeepsTheOutputs) {
  for (const auto& name : corpus_models()) {
    SCOPED_TRACE(name);
    auto model = corpus_model(name, 1);
    const auto inputs = corpus_inputs(name, 1);
    const auto& built = model.build(inputs);
    std::vector<c10::IValue> values;
    std::size_t user = 0;
    for (const auto& input : built.canonical.inputs) {
      values.emplace_back(input.kind == InputKind::kUser
                              ? inputs[user++].member(0)
                              : model.member_list()[0].tensors.at(input.target).clone());
    }
    const auto got = Interpreter(built.canonical).run(values);
    const auto expected = model.run_alone(0, inputs).outputs;
    std::size_t compared = 0;
    for (std::size_t k = 0; k < got.size(); ++k) {
      if (built.canonical.outputs[k].kind != OutputKind::kUser || !got[k].isTensor()) continue;
      EXPECT_TRUE(agree(got[k].toTensor(), expected[compared++].toTensor())) << "output " << k;
    }
    EXPECT_GT(compared, 0u);
  }
}

}  // namespace
}  // namespace wide::test
