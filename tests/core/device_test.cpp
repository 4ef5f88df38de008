// Running elsewhere than on the CPU, as far as it shows without a GPU: on a device made up for it.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include "core/fake_device.h"
#include "core/ir/text.h"
#include "core/passes/placement.h"
#include "core/prove/prove.h"
#include "core/support.h"
#include "formats/error.h"
#include "presets/zoo/zoo.h"

namespace wide::test {
namespace {

using testing::HasSubstr;

BuildOptions elsewhere() {
  BuildOptions options;
  options.device = fake_device();
  return options;
}

void expect_proved(const zoo::Architecture& architecture, const BuildOptions& options) {
  auto model = wide_model(architecture, kMembers, options);
  const auto inputs = wide_inputs(architecture, kMembers);
  for (const auto& check : prove(model, inputs).checks) EXPECT_TRUE(check.passed) << check.what << check.text;
  for (const auto& output : model.forward(inputs))
    EXPECT_EQ(output.stacked().device(), options.device.device);
}

class Elsewhere : public testing::TestWithParam<std::string> {};

TEST_P(Elsewhere, EverySubjectIsProvedBesideTheCpu) {
  const auto architecture = zoo::build(GetParam(), {});
  auto cpu = wide_model(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, elsewhere());
  const auto inputs = wide_inputs(architecture, kMembers);
  const auto expected = cpu.forward(inputs), got = model.forward(inputs);
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_TRUE(agree(got[i].stacked().cpu(), expected[i].stacked()));
  expect_proved(architecture, elsewhere());
}

std::vector<std::string> subject_names() {
  std::vector<std::string> names;
  for (const auto& subject : zoo::subjects()) names.push_back(subject.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, Elsewhere, testing::ValuesIn(subject_names()),
                         [](const auto& subject) { return subject.param; });

// Every strategy that the program has for it, one after the other.
TEST(Elsewhere, StrategiesMakeTheirTensorsWhereTheOperandsLie) {
  for (const auto& subject : zoo::subjects()) {
    if (subject.kind != "primitive") continue;
    const auto architecture = zoo::build(subject.name, {});
    for (const auto& strategy : zoo::strategies(subject)) {
      SCOPED_TRACE(subject.name + " by " + strategy);
      auto options = elsewhere();
      add_choice(options.strategies, strategy);
      try {
        auto model = wide_model(architecture, kMembers, options);
        const auto inputs = wide_inputs(architecture, kMembers);
        if (!unprovable(model.build(inputs).plan()).empty()) continue;
      } catch (const Error& refused) {
        EXPECT_EQ(refused.stage(), "plan") << refused.what();
        continue;
      }
      expect_proved(architecture, options);
    }
  }
}

TEST(Elsewhere, MeasuringChoosesAmongStreams) {
  auto options = elsewhere();
  options.tuning.tuning = Tuning::kMeasure;
  const auto architecture = zoo::build("mlp", {});
  const auto inputs = wide_inputs(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, options);
  const auto before = times_on_another_stream();
  const auto& built = model.build(inputs);
  EXPECT_GT(built.planned.options.size(), 1u);
  EXPECT_GT(times_on_another_stream(), before);
  options.plan = store(built.optimized, kMembers, built.planned);
  options.plan->schedule = {1, 2, 0};
  for (auto& node : options.plan->nodes) node.strategy = kAloneStrategy;
  expect_proved(architecture, options);
}

TEST(Placement, OperatorsAreToldTheDevice) {
  zoo::Builder b("ramp");
  const auto x = b.input("x", normal({4}));
  const Argument device{at::Device(at::kCPU)};
  const auto ramp = b.op("aten.arange.default", {{std::int64_t{4}}, {at::kFloat}, {}, device});
  const auto zeros = b.op("aten.zeros_like.default", {zoo::ref(x)});
  const auto sum = b.op("aten.add.Tensor", {zoo::ref(x), zoo::ref(ramp)});
  b.output(b.op("aten.add.Tensor", {zoo::ref(sum), zoo::ref(zeros)}));
  const auto architecture = b.take();
  expect_proved(architecture, elsewhere());
  const auto placed = placed_on(architecture.graph, at::kMeta);
  EXPECT_EQ(placed.device, at::Device(at::kMeta));
  EXPECT_EQ(placed.nodes[0].arguments[3], Argument{at::Device(at::kMeta)});
}

// What attention gives has other strides on a GPU than on the CPU that the model was exported on.
TEST(Placement, ViewsThatNobodyWritesThroughAreReshapes) {
  for (const bool written : {false, true}) {
    zoo::Builder b("rows");
    const auto x = b.input("x", normal({4, 6}));
    const auto turned = b.op("aten.transpose.int", {zoo::ref(x), {std::int64_t{0}}, {std::int64_t{1}}});
    auto rows = b.op("aten.view.default", {zoo::ref(turned), {Argument::List{{std::int64_t{24}}}}});
    if (written) rows = b.op("aten.mul_.Scalar", {zoo::ref(rows), {2.0}});
    b.output(b.op("aten.relu.default", {zoo::ref(rows)}));
    auto architecture = b.take();
    auto unused = architecture.graph.nodes[1];
    unused.results[0] = -1;
    architecture.graph.nodes.insert(architecture.graph.nodes.begin() + 2, unused);
    EXPECT_EQ(placed_on(architecture.graph, at::kMeta).nodes[2].op, "aten.view.default");
    architecture.graph.nodes.erase(architecture.graph.nodes.begin() + 2);
    EXPECT_EQ(placed_on(architecture.graph, at::kCPU).nodes[1].op, "aten.view.default");
    EXPECT_EQ(placed_on(architecture.graph, at::kMeta).nodes[1].op,
              written ? "aten.view.default" : "aten.reshape.default");
    if (!written) expect_proved(architecture, elsewhere());
  }
}

TEST(Elsewhere, AutocastIsOneOfThatDevice) {
  const auto graph = parse_graph(R"(graph "autocast"
input %x "x" : float32[4, 4]
parameter %w "w" : float32[4, 4]
%y : bfloat16[4, 4] = higher_order.autocast(dtype.bfloat16, [%x, %w]) {
  input %a "a" : float32[4, 4]
  input %b "b" : float32[4, 4]
  %c : bfloat16[4, 4] = aten.linear.default(%a, %b, none)
  output %c
}
output %y
)");
  std::vector<Member> members;
  for (int i = 0; i < kMembers; ++i) members.push_back({"m" + std::to_string(i), {{"w", at::randn({4, 4})}}});
  WideModel model(graph, members, elsewhere());
  const std::vector<ModelInput> inputs{{at::randn({kMembers, 4, 4}), true}};
  for (const auto& check : prove(model, inputs).checks) EXPECT_TRUE(check.passed) << check.text;
  EXPECT_EQ(model.forward(inputs)[0].stacked().scalar_type(), at::kBFloat16);
}

TEST(Elsewhere, SharedIdsAreLookedUpInEachTable) {
  zoo::Builder b("positions");
  const auto table = b.parameter("table", normal({7, 3}));
  const auto x = b.input("x", normal({5, 3}));
  const auto ids = b.op("aten.arange.default", {{std::int64_t{5}}, {at::kLong}, {}, {at::Device(at::kCPU)}});
  const auto rows =
      b.op("aten.embedding.default", {zoo::ref(table), zoo::ref(ids), {std::int64_t{-1}}, {false}, {false}});
  b.output(b.op("aten.add.Tensor", {zoo::ref(x), zoo::ref(rows)}));
  auto options = elsewhere();
  add_choice(options.strategies, "embedding=indexed");
  expect_proved(b.take(), options);
}

// To wait for the answer would keep a pass from being recorded.
TEST(Elsewhere, IndicesAreCheckedWithoutWaiting) {
  for (const std::string name : {"embedding", "embedding_bag"}) {
    const auto architecture = zoo::build(name, {});
    auto inputs = wide_inputs(architecture, kMembers);
    auto options = elsewhere();
    add_choice(options.strategies, name == "embedding" ? "indexed" : "folded");
    auto model = wide_model(architecture, kMembers, options);
    const auto before = waits_for_numbers();
    model.forward(inputs);
    EXPECT_EQ(waits_for_numbers(), before) << name;
    inputs[0].tensor = inputs[0].tensor.clone().fill_(1 << 20);
    EXPECT_ANY_THROW(model.forward(inputs)) << name;
  }
}

TEST(StreamSchedules, AreOfTheDeviceNotOfTheThreads) {
  for (const auto& schedule : possible_schedules(8, 2, at::kMeta)) EXPECT_EQ(schedule.threads, 0);
  const auto all = possible_schedules(8, 2, at::kMeta);
  EXPECT_EQ(all[0], (Schedule{8, 1, 0}));
  EXPECT_THAT(describe(all[1], 8, at::kMeta), HasSubstr("8 at a time on a stream each"));
  EXPECT_THAT(describe(Schedule{1, 2, 0}, 8), HasSubstr("2 at a time on a thread each"));
}

}  // namespace
}  // namespace wide::test
