// What goes wrong in a pass, a measurement or a caller's hands: whose fault it is, and what it must not
// spoil.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <malloc.h>

#include <stdexcept>

#include "core/strategy/sequential.h"
#include "core/support.h"
#include "core/tune/auto_plan.h"
#include "core/tune/tuner.h"

// MKL's: bytes that it holds, and in how many buffers.
extern "C" std::int64_t mkl_serv_mem_stat(int* buffers) __attribute__((weak));

namespace wide::test {
namespace {

using testing::HasSubstr;
using zoo::ref;

constexpr std::int64_t kRows = 5;

// table [5, 3] taken at ids [4], after a look-up of another kind.
zoo::Architecture selecting(const std::string& op) {
  zoo::Builder b("selecting");
  const auto ids = b.input("ids", {{4}, zoo::TensorRecipe::Kind::kInteger, 1, kRows});
  const auto table = b.parameter("table", normal({kRows, 3}));
  if (op == "aten.embedding.default") {
    b.output(b.op(op, {ref(table), ref(ids)}));
  } else {
    b.output(b.op(op, {ref(table), {std::int64_t{0}}, ref(ids)}));
  }
  return b.take();
}

// Inputs of which member `member`'s second id is `id`.
std::vector<ModelInput> with_id(const zoo::Architecture& architecture, std::int64_t member, std::int64_t id) {
  auto inputs = wide_inputs(architecture, kMembers);
  inputs[0].tensor[member][1] = id;
  return inputs;
}

TEST(Faults, NameTheMemberAndItsOwnSizes) {
  for (const std::string op : {"aten.index_select.default", "aten.embedding.default"}) {
    for (const std::int64_t id : {std::int64_t{-1}, kRows, kRows * kMembers + 7}) {
      SCOPED_TRACE(op + " " + std::to_string(id));
      const auto architecture = selecting(op);
      auto model = wide_model(architecture, kMembers);
      EXPECT_NO_THROW(model.forward(with_id(architecture, 2, kRows - 1)));
      expect_error([&] { model.forward(with_id(architecture, 2, id)); }, "run",
                   {op, "member 'seed2': ", "index out of range in self"});
    }
  }
}

TEST(Faults, OfAMemberInAPartAreCountedFromTheFirst) {
  const auto architecture = selecting("aten.index_select.default");
  for (const std::int64_t chunk : {1, 2}) {
    auto model = wide_model(architecture, kMembers);
    const auto& built = model.build(wide_inputs(architecture, kMembers));
    BuildOptions options;
    options.plan = store(built.optimized, kMembers, built.planned);
    options.plan->schedule = {chunk, 1, 0};
    if (chunk == 1) {
      for (auto& node : options.plan->nodes)
        node.strategy = kAloneStrategy, node.operands = {}, node.results = {};
    } else {
      options.plan->rest = options.plan->nodes;
    }
    auto divided = wide_model(architecture, kMembers, options);
    expect_error([&] { divided.forward(with_id(architecture, 2, -1)); }, "run", {"member 'seed2': "});
  }
}

TEST(Faults, ARunAloneThatFailsLeavesTheCallersGenerator) {
  zoo::Builder b("random");
  const auto x = b.input("x", positive({8}));
  const auto ids = b.input("ids", {{4}, zoo::TensorRecipe::Kind::kInteger, 1, 8});
  const auto y = b.op("aten.dropout.default", {ref(x), {0.5}, {true}});
  b.output(b.op("aten.index_select.default", {ref(y), {std::int64_t{0}}, ref(ids)}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  auto inputs = wide_inputs(architecture, kMembers);
  inputs[1].tensor[1][0] = 100;
  at::manual_seed(3);
  const auto expected = at::rand({4});
  at::manual_seed(3);
  EXPECT_ANY_THROW(model.run_alone(1, inputs));
  EXPECT_TRUE(at::rand({4}).equal(expected));
}

// A strategy whose kernel throws, and one that works, for a node of one operand.
Answer cheap(const Call& call) {
  Offer one;
  one.operands.assign(call.operands.size(), Layout::kFront);
  one.results.assign(call.results.size(), Layout::kFront);
  one.cost = 1;
  return offer(std::move(one));
}
Kernel broken(const Call&, const Offer&) {
  return
      [](std::span<const at::Tensor>, std::span<at::Tensor>) { throw std::runtime_error("it broke\nhere"); };
}
Kernel working(const Call&, const Offer&) {
  return [](std::span<const at::Tensor> in, std::span<at::Tensor> out) { out[0] = at::relu(in[0]); };
}
const Strategy kBroken{.name = "broken", .ask = cheap, .prepare = broken};
const Strategy kWorking{.name = "working", .ask = cheap, .prepare = working};

NodeCandidates between(const std::vector<const Strategy*>& strategies) {
  NodeCandidates node;
  node.call = {{"aten.relu.default", {{ValueRef{0}}}, {1}, {}},
               kMembers,
               {{{at::kFloat, {4}}, true, {}}},
               {{at::kFloat, {4}}}};
  node.operands = {0};
  for (const auto* strategy : strategies)
    node.candidates.push_back({strategy, cheap(node.call).offers[0], false});
  return node;
}

TEST(Faults, AStrategyThatFailsWhileItIsMeasuredIsRefused) {
  CostBook book;
  const std::vector<ValueState> states(2, {true, false, Layout::kFront});
  for (const auto tuning : {Tuning::kMeasure, Tuning::kCached}) {
    Tuner tuner(book, {tuning, 20, {}});
    auto node = between({&kBroken, &kWorking});
    tuner.settle(node, states);
    ASSERT_EQ(node.candidates.size(), 1u);
    EXPECT_EQ(node.candidates[0].strategy, &kWorking);
    EXPECT_TRUE(node.candidates[0].measured);
    ASSERT_EQ(node.refusals.size(), 1u);
    EXPECT_EQ(node.refusals[0].strategy, "broken");
    EXPECT_THAT(node.refusals[0].reason, HasSubstr(tuning == Tuning::kMeasure ? "it broke" : "failed"));
    EXPECT_EQ(node.refusals[0].reason.find('\n'), std::string::npos);
    tuner.keep(true);
  }
}

TEST(Faults, WhereAllStrategiesFailTheMadeUpValuesMayBeAtFault) {
  CostBook book;
  Tuner tuner(book, {Tuning::kMeasure, 20, {}});
  auto node = between({&kBroken, &kBroken});
  tuner.settle(node, std::vector<ValueState>(2, {true, false, Layout::kFront}));
  EXPECT_EQ(node.candidates.size(), 2u);
  EXPECT_TRUE(node.refusals.empty());
}

TEST(Faults, AStoredPlanThatDividesARandomModelIsRefused) {
  zoo::Builder b("random");
  b.output(b.op("aten.dropout.default", {ref(b.input("x", positive({8, 16}))), {0.5}, {true}}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, 4);
  const auto inputs = wide_inputs(architecture, 4);
  const auto& built = model.build(inputs);
  BuildOptions options;
  options.plan = store(built.optimized, 4, built.planned);
  EXPECT_NO_THROW(wide_model(architecture, 4, options).build(inputs));
  for (const Schedule schedule : {Schedule{2, 1, 0}, Schedule{2, 2, 0}, Schedule{4, 1, 1}}) {
    options.plan->schedule = schedule;
    expect_error([&] { wide_model(architecture, 4, options).build(inputs); }, "plan",
                 {"random numbers", "make a new plan"});
  }
}

// Outputs: a weight, a view of one, something made of weights alone, and one that only takes its type from x.
zoo::Architecture constants() {
  zoo::Builder b("constants");
  const auto x = b.input("x", normal({4}));
  const auto weight = b.parameter("weight", normal({4, 3})), other = b.parameter("other", normal({4}));
  b.output(weight);
  b.output(b.op("aten.t.default", {ref(weight)}));
  b.output(b.op("aten.exp.default", {ref(weight)}));
  b.output(b.op("aten.type_as.default", {ref(other), ref(x)}));
  b.output(b.op("aten.add.Tensor", {ref(x), ref(other)}));
  return b.take();
}

TEST(Faults, AnOutputWrittenByTheCallerChangesNoLaterPass) {
  const auto architecture = constants();
  const auto inputs = wide_inputs(architecture, kMembers);
  for (const auto mode : {Mode::kEager, Mode::kReduceOverhead}) {
    BuildOptions options;
    options.mode = mode;
    auto model = wide_model(architecture, kMembers, options);
    std::vector<at::Tensor> first;
    for (int pass = 0; pass < 3; ++pass) {
      auto outputs = model.forward(inputs);
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        auto own = outputs[k].stacked();
        if (pass == 0) first.push_back(own.clone());
        EXPECT_TRUE(own.equal(first[k])) << "output " << k << ", pass " << pass;
        const c10::InferenceMode guard;
        own.zero_();
      }
    }
  }
}

TEST(Faults, AWrittenBufferThatIsAnOutputTooIsNotTheCallers) {
  zoo::Builder b("counter");
  const auto x = b.input("x", normal({2}));
  const auto sum = b.buffer("sum", normal({2}));
  b.op("aten.add_.Tensor", {ref(sum), ref(x)});
  b.output(sum);
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers), other = wide_model(architecture, kMembers);
  const auto inputs = wide_inputs(architecture, kMembers);
  for (int pass = 0; pass < 3; ++pass) {
    const auto expected = other.forward(inputs)[0].stacked();
    auto got = model.forward(inputs)[0].stacked();
    EXPECT_TRUE(got.equal(expected)) << pass;
    const c10::InferenceMode guard;
    got.zero_();
  }
}

// What malloc has given out and not got back: unlike resident memory, it does not go by what else the process
// did.
// Without the buffers that MKL keeps.
std::size_t live_bytes() {
  const auto now = mallinfo2();
  int buffers = 0;
  const auto of_mkl = mkl_serv_mem_stat != nullptr ? mkl_serv_mem_stat(&buffers) : 0;
  return now.uordblks + now.hblkhd - static_cast<std::size_t>(of_mkl);
}

TEST(Builds, AreBoundedAndTheirMemoryComesBack) {
  constexpr std::int64_t kWidth = 256;
  zoo::Builder b("growing");
  auto x = b.input("x", normal({2, kWidth}));
  for (int i = 0; i < 3; ++i) x = b.linear("layer" + std::to_string(i), x, kWidth, kWidth);
  b.output(x);
  const auto architecture = b.take();
  BuildOptions options;
  options.strategies.by_kind["linear"] = "xsmm";  // packs the weights for each build
  auto model = wide_model(architecture, kMembers, options);
  const auto pass = [&](std::int64_t rows) {
    (void)model.forward(std::vector<ModelInput>{{at::zeros({kMembers, rows, kWidth}), true}});
  };
  std::size_t bounded = 0;
  for (std::int64_t rows = 1; rows <= 80; ++rows) {
    pass(rows);
    if (rows == 20) bounded = live_bytes();
  }
  EXPECT_LE(model.builds(), WideModel::kMostBuilds);
  // Were builds kept, 60 more of them would hold their weights again.
  constexpr std::size_t kPacked = 3 * kMembers * kWidth * kWidth * sizeof(float);
  EXPECT_LT(live_bytes(), bounded + 3 * kPacked);
}

TEST(Builds, TheLeastRecentlyUsedGoes) {
  zoo::Builder b("small");
  b.output(b.op("aten.relu.default", {ref(b.input("x", normal({2})))}));
  auto model = wide_model(b.take(), kMembers);
  const auto inputs = [](std::int64_t size) {
    return std::vector<ModelInput>{{at::zeros({kMembers, size}), true}};
  };
  const auto* first = &model.build(inputs(1));
  for (std::int64_t size = 2; size < 40; ++size) {
    model.build(inputs(size));
    EXPECT_EQ(&model.build(inputs(1)), first) << "used again and again";
  }
  EXPECT_EQ(model.builds(), WideModel::kMostBuilds);
}

}  // namespace
}  // namespace wide::test
