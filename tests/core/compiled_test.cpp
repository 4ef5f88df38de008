// Groups run by compiled C: the same bits as tile by tile, caught where a fault is planted, never waited for
// where nothing is to be measured.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "core/native/code_cache.h"
#include "core/prove/prove.h"
#include "core/support.h"
#include "core/tune/cost_book.h"

namespace wide::test {
namespace {

using native::CodeCache;
using testing::HasSubstr;
using zoo::ref;

// Rows, a number for each row, masks, constants. `factor` makes it a text of its own.
zoo::Architecture rich(double factor) {
  zoo::Builder b("rich");
  const auto x = b.input("x", normal({6, 33})), row = b.input("row", normal({33}));
  const auto column = b.input("column", normal({6, 1}));
  const auto s = b.op("aten.sin.default", {ref(x)});
  const auto z = b.op("aten.mul.Tensor", {ref(s), ref(b.op("aten.sigmoid.default", {ref(row)}))});
  const auto mask = b.op("aten.gt.Scalar", {ref(z), {0.125}});
  const auto e = b.op("aten.exp.default", {ref(b.op("aten.mul.Tensor", {ref(z), ref(column)}))});
  const auto w = b.op("aten.where.self", {ref(mask), ref(e), ref(x)});
  const auto v = b.op("aten.sub.Tensor", {ref(w), ref(row), {factor}});
  b.output(b.op("aten.tanh.default", {ref(b.op("aten.mul.Tensor", {ref(v), {0.75}}))}));
  return b.take();
}

BuildOptions by(const std::string& strategy, Mode mode = Mode::kDefault) {
  BuildOptions options;
  options.mode = mode;
  if (!strategy.empty()) add_choice(options.strategies, strategy);
  return options;
}

struct Planted {
  explicit Planted(std::function<std::string(std::string)> fault) {
    CodeCache::of_this_user().plant(std::move(fault));
  }
  ~Planted() { CodeCache::of_this_user().plant({}); }
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;
};

TEST(Compiled, GivesTheBitsOfTilesInEveryMode) {
  const auto architecture = rich(0.5);
  const auto inputs = wide_inputs(architecture, kMembers);
  for (const auto mode : {Mode::kDefault, Mode::kReduceOverhead, Mode::kMaxAutotune}) {
    auto tiles = wide_model(architecture, kMembers, by("group=tiles", mode));
    auto compiled = wide_model(architecture, kMembers, by("group=compiled", mode));
    for (int pass = 0; pass < 3; ++pass) {
      const auto expected = tiles.forward(inputs), got = compiled.forward(inputs);
      for (std::int64_t i = 0; i < kMembers; ++i)
        EXPECT_TRUE(same_bits(got[0].member(i), expected[0].member(i)));
    }
    for (const auto& check : prove(compiled, inputs).checks) EXPECT_TRUE(check.passed) << check.text;
  }
}

// Each would give wrong results, and the proof says so.
TEST(Compiled, PlantedFaultsAreCaught) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"return sin_of(a);", "return cos_of(a);"},
      {"return a * b;", "return a + b;"},
      {"return WIDE_FUSED(-c, b, a);", "return WIDE_FUSED(c, b, a);"},
      {"return a != 0 ? b : c;", "return a != 0 ? c : b;"},
      {"return a > b ? 1.0F : 0.0F;", "return a < b ? 1.0F : 0.0F;"},
      {"0x1.8p-1F", "0x1.9p-1F"},
      {"8.3321608736E-3F", "8.3321608736E-2F"},
      {"power_of_two(power.rounded, -1)", "power_of_two(power.rounded, 0)"},
      {"data[1] + row * row_bytes[1]", "data[1]"},
      {"row * row_bytes[0]", "0"},
      {"data[2] + row", "data[1] + row"},
      {"i < columns", "i < columns - 1"},
      {"row < rows", "row + 1 < rows"},
      {"long i = 0;", "long i = 1;"},
      {"p0[i]", "p0[columns - 1 - i]"},
      {"y[i] = ", "y[i] = 0 * "},
      {"y[i] = ", "y[i] = i == 7 ? __builtin_nanf(\"\") : "},
      {"y[i] = ", "if (row % 3 != 1) y[i] = "},
      {"y[i] = ", "y[i] = row > 0 ? y[i] : "},
      {"const float x2 = p2[0]", "static float kept; if (kept == 0) kept = p2[0]; const float x2 = kept"},
  };
  int caught = 0;
  for (std::size_t i = 0; i < faults.size(); ++i) {
    const auto& [from, to] = faults[i];
    SCOPED_TRACE(from + " -> " + to);
    bool planted = false;
    const Planted fault([&](std::string text) {
      const auto at = text.rfind(from);
      if (at != text.npos) planted = true, text.replace(at, from.size(), to);
      return text;
    });
    const auto architecture = rich(0.25);
    auto model = wide_model(architecture, kMembers, by("group=compiled"));
    const bool passed = prove(model, wide_inputs(architecture, kMembers)).passed();
    EXPECT_TRUE(planted) << "the text has no such place";
    EXPECT_FALSE(passed);
    caught += passed ? 0 : 1;
  }
  EXPECT_EQ(caught, 20);
}

TEST(Compiled, TextThatDoesNotCompileIsAReasonNotAFault) {
  const Planted fault([](const std::string& text) { return text + "this is no C\n"; });
  const auto architecture = rich(0.3125);
  auto options = by("wide");
  options.costs = std::make_shared<CostBook>();
  options.tuning.tuning = Tuning::kMeasure;
  auto model = wide_model(architecture, kMembers, options);
  const auto inputs = wide_inputs(architecture, kMembers);
  bool refused = false;
  for (const auto& node : model.build(inputs).plan().nodes) {
    for (const auto& refusal : node.refusals)
      refused |=
          refusal.strategy == "compiled" && refusal.reason.find("failed with code 1") != std::string::npos;
  }
  for (const auto& name : strategies(model.build(inputs))) EXPECT_NE(name, "compiled");
  EXPECT_TRUE(refused);
}

// A plan from a machine whose compiler makes what this one's does not.
TEST(Compiled, AStoredPlanRunsTileByTileWhereItsCodeCannotBeMade) {
  const auto architecture = rich(0.34375);
  const auto inputs = wide_inputs(architecture, kMembers);
  auto first = wide_model(architecture, kMembers, by("group=compiled"));
  const auto expected = first.forward(inputs);
  const auto& before = first.build(inputs);
  BuildOptions options;
  options.mode = Mode::kDefault;
  options.plan = store(before.optimized, kMembers, before.planned);
  std::vector<std::string> told;
  options.warn = [&](const std::string& what) { told.push_back(what); };
  {
    auto same = wide_model(architecture, kMembers, options);
    EXPECT_THAT(strategies(same.build(inputs)), testing::Contains("compiled"));
    EXPECT_THAT(told, testing::IsEmpty());
  }
  const Planted fault([](const std::string& text) { return text + "this is no C\n"; });
  auto model = wide_model(architecture, kMembers, options);
  const auto got = model.forward(inputs);
  for (std::int64_t i = 0; i < kMembers; ++i) EXPECT_TRUE(same_bits(got[0].member(i), expected[0].member(i)));
  EXPECT_THAT(strategies(model.build(inputs)), testing::Contains("tiles"));
  EXPECT_THAT(strategies(model.build(inputs)), testing::Not(testing::Contains("compiled")));
  auto other = wide_inputs(architecture, kMembers);
  for (auto& input : other) input.tensor = input.tensor.clone();
  (void)model.forward(other);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_THAT(told[0], HasSubstr("'compiled' cannot run here for 1 node"));
  EXPECT_THAT(told[0], HasSubstr("failed with code 1"));
}

std::ptrdiff_t files() {
  return std::distance(std::filesystem::directory_iterator(CodeCache::of_this_user().folder()),
                       std::filesystem::directory_iterator());
}

// Planning that does not measure starts no compiler, and takes what is there.
TEST(Compiled, IsNotWaitedForWhereNothingIsMeasured) {
  int asked = 0;
  const auto architecture = rich(0.4375);
  const auto inputs = wide_inputs(architecture, kMembers);
  for (const auto tuning : {Tuning::kEstimate, Tuning::kCached}) {
    auto options = by("");
    options.costs = std::make_shared<CostBook>();
    options.tuning.tuning = tuning;
    const auto before = files();
    const Planted fault([&](std::string text) {
      ++asked;
      return text + "// of nobody else: " + std::to_string(::getpid()) + "\n";
    });
    auto model = wide_model(architecture, kMembers, options);
    (void)model.forward(inputs);
    for (const auto& name : strategies(model.build(inputs))) EXPECT_NE(name, "compiled");
    EXPECT_EQ(files(), before);
  }
  EXPECT_GT(asked, 0) << "whether it is there";
}

TEST(Compiled, IsMeasuredBesideTheOthers) {
  const auto architecture = rich(0.5625);
  auto book = std::make_shared<CostBook>();
  auto options = by("wide");
  options.costs = book;
  options.tuning.tuning = Tuning::kMeasure;
  auto model = wide_model(architecture, kMembers, options);
  const auto& built = model.build(wide_inputs(architecture, kMembers));
  const auto& node = built.plan().nodes.back();
  std::vector<std::string> names{node.strategy};
  for (const auto& other : node.alternatives) names.push_back(other.strategy);
  EXPECT_THAT(names, testing::Contains("compiled"));
  EXPECT_TRUE(node.measured);
}

TEST(Compiled, TheListingSaysWhatTheKernelDoes) {
  const auto architecture = rich(0.625);
  auto options = by("group=compiled");
  options.pipeline.snapshots = true;
  auto model = wide_model(architecture, kMembers, options);
  const auto& stages = model.build(wide_inputs(architecture, kMembers)).stages;
  ASSERT_EQ(stages.back().name, "compile");
  const auto& text = stages.back().text;
  EXPECT_THAT(text, HasSubstr("one kernel for 9 operators"));
  EXPECT_THAT(text, HasSubstr("%x, float32 [6, 33] of each member, row by row"));
  EXPECT_THAT(text, HasSubstr("%column, float32 [6, 1] of each member, a number for each row"));
  EXPECT_THAT(text, HasSubstr("does not store 8 results"));
  EXPECT_THAT(text, HasSubstr("= k_sin(x"));
  EXPECT_THAT(text, HasSubstr("= aten.sin.default("));
}

TEST(Compiled, AngleOfManyTurnsAndOddStridesAreInterpreted) {
  zoo::Builder b("turns");
  const auto x = b.input("x", normal({4, 40}));
  const auto far = b.op("aten.mul.Tensor", {ref(x), {1e5}});
  b.output(b.op("aten.cos.default", {ref(b.op("aten.sin.default", {ref(far)}))}));
  const auto architecture = b.take();
  auto inputs = wide_inputs(architecture, kMembers);
  inputs[0].tensor = inputs[0].tensor.transpose(-1, -2).contiguous().transpose(-1, -2);
  auto tiles = wide_model(architecture, kMembers, by("group=tiles"));
  auto compiled = wide_model(architecture, kMembers, by("group=compiled"));
  const auto expected = tiles.forward(inputs), got = compiled.forward(inputs);
  for (std::int64_t i = 0; i < kMembers; ++i) {
    EXPECT_TRUE(same_bits(got[0].member(i), expected[0].member(i)));
    EXPECT_TRUE(agree(got[0].member(i), compiled.run_alone(i, inputs).outputs[0].toTensor()));
  }
}

}  // namespace
}  // namespace wide::test
