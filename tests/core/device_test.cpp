// Running elsewhere than on the CPU, as far as it shows without a GPU: on a device made up for it, and with a
// CPU that records passes.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <set>

#include "core/fake_device.h"
#include "core/ir/text.h"
#include "core/passes/placement.h"
#include "core/prove/prove.h"
#include "core/run/recorded_pass.h"
#include "core/support.h"
#include "core/tape.h"
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

BuildOptions recording() {
  BuildOptions options;
  options.mode = Mode::kReduceOverhead;
  options.device = recording_cpu();
  add_choice(options.strategies, "sequential");  // operators of ATen only
  return options;
}

const RecordedPass& recorded(WideModel& model, const std::vector<ModelInput>& inputs) {
  return *model.build(inputs).planned.execution.recorded();
}

TEST(RecordedPass, GivesWhatAPassGives) {
  for (const std::string name : {"mlp", "resblock", "minigpt", "lstm_classifier"}) {
    SCOPED_TRACE(name);
    const auto architecture = zoo::build(name, {});
    const auto inputs = wide_inputs(architecture, kMembers);
    auto model = wide_model(architecture, kMembers, recording());
    for (const auto& check : prove(model, inputs).checks) EXPECT_TRUE(check.passed) << check.text;
    EXPECT_TRUE(recorded(model, inputs).is_recorded()) << recorded(model, inputs).refusal();
  }
}

TEST(RecordedPass, FollowsItsInputsAndLeavesResultsAlone) {
  const auto architecture = zoo::build("mlp", {});
  auto plain = wide_model(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, recording());
  const auto inputs = wide_inputs(architecture, kMembers);
  model.forward(inputs);
  const auto kept = model.forward(inputs)[0].stacked();
  const auto copy = kept.clone();
  auto others = inputs;
  others[0].tensor = inputs[0].tensor * 2 + 1;
  EXPECT_TRUE(agree(model.forward(others)[0].stacked(), plain.forward(others)[0].stacked()));
  EXPECT_TRUE(at::equal(kept, copy));
}

// A model that moves data only, of more bytes than are copied.
zoo::Architecture large(bool gives_weight = false) {
  zoo::Builder b("large");
  const auto x = b.input("x", normal({200, 300}));
  const auto weight = b.parameter("weight", normal({200, 300}));
  b.output(b.op("aten.add.Tensor", {zoo::ref(x), zoo::ref(weight)}));
  if (gives_weight) b.output(weight), b.output(x);
  return b.take();
}

// See Note [What recordings read and write].
TEST(RecordedPass, ReadsLargeInputsWhereTheyLieAndGivesResultsAway) {
  const auto architecture = large();
  auto plain = wide_model(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, recording());
  std::vector<std::vector<ModelInput>> sets;
  for (int i = 0; i < 2; ++i) {
    sets.push_back(wide_inputs(architecture, kMembers));
    sets.back()[0].tensor = sets.back()[0].tensor.clone();
  }
  std::set<const void*> places;
  for (int pass = 0; pass < 12; ++pass) {
    auto& inputs = sets[static_cast<std::size_t>(pass % 2)];
    inputs[0].tensor.add_(1);
    const auto got = model.forward(inputs)[0].stacked();
    EXPECT_TRUE(agree(got, plain.forward(inputs)[0].stacked())) << pass;
    if (pass > 2) places.insert(got.const_data_ptr());
  }
  EXPECT_EQ(recorded(model, sets[0]).recordings(), 2u);
  EXPECT_EQ(places.size(), 2u) << "nobody had the results any more: they need not be copied";
}

// A few passes from anywhere, then a loop over two sets of inputs.
TEST(RecordedPass, MakesWayForPlacesThatComeAgain) {
  const auto architecture = large();
  auto plain = wide_model(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, recording());
  std::vector<std::vector<ModelInput>> sets;
  for (int i = 0; i < 8; ++i) {
    sets.push_back(wide_inputs(architecture, kMembers));
    sets.back()[0].tensor = sets.back()[0].tensor.clone();
  }
  for (const auto& inputs : sets) model.forward(inputs);
  std::set<const void*> places;
  for (int pass = 0; pass < 60; ++pass) {
    auto& inputs = sets[static_cast<std::size_t>(pass % 2)];
    inputs[0].tensor.add_(1);
    const auto got = model.forward(inputs)[0].stacked();
    EXPECT_TRUE(agree(got, plain.forward(inputs)[0].stacked())) << pass;
    const auto other = at::empty_like(got);  // so that a copy would not lie at the same place again
    if (pass >= 40) places.insert(got.const_data_ptr());
  }
  EXPECT_EQ(places.size(), 2u);
  EXPECT_EQ(recorded(model, sets[0]).recordings(), 4u);
}

TEST(RecordedPass, LeavesAloneWhatTheCallerKeeps) {
  const c10::InferenceMode guard;
  for (const std::string name : {"large", "mlp"}) {
    const auto architecture = name == "large" ? large() : zoo::build(name, {});
    auto plain = wide_model(architecture, kMembers);
    auto model = wide_model(architecture, kMembers, recording());
    std::vector<at::Tensor> kept, expected;
    for (int pass = 0; pass < 9; ++pass) {
      auto inputs = wide_inputs(architecture, kMembers);  // somewhere else, or where it was before
      inputs[0].tensor = inputs[0].tensor * (pass + 1);
      expected.push_back(plain.forward(inputs)[0].stacked().clone());
      const auto output = model.forward(inputs)[0];
      kept.push_back(pass % 2 == 0 ? output.stacked() : output.member(1));  // a view keeps it, too
      if (pass == 6) kept[2].zero_(), expected[2].zero_();
    }
    for (std::size_t i = 0; i < kept.size(); ++i)
      EXPECT_TRUE(agree(kept[i], i % 2 == 0 ? expected[i] : expected[i][1])) << name << i;
    EXPECT_LE(recorded(model, wide_inputs(architecture, kMembers)).recordings(), 4u);
  }
}

// Its memory is another one then, which no recording writes.
TEST(RecordedPass, SurvivesThatTheCallerMakesAResultLarger) {
  const c10::InferenceMode guard;
  const auto architecture = large();
  const auto inputs = wide_inputs(architecture, kMembers);
  const auto expected = wide_model(architecture, kMembers).forward(inputs)[0].stacked();
  auto model = wide_model(architecture, kMembers, recording());
  for (int pass = 0; pass < 6; ++pass) {
    auto got = model.forward(inputs)[0].stacked();
    EXPECT_TRUE(agree(got, expected)) << pass;
    got.resize_({1000, 1000}).zero_();
  }
}

TEST(RecordedPass, GivesNobodysMemoryAway) {
  const c10::InferenceMode guard;
  const auto architecture = large(true);
  auto model = wide_model(architecture, kMembers, recording());
  const auto inputs = wide_inputs(architecture, kMembers);
  std::vector<at::Tensor> before;
  for (const auto& output : wide_model(architecture, kMembers).forward(inputs))
    before.push_back(output.stacked().clone());
  for (int pass = 0; pass < 5; ++pass) {
    auto outputs = model.forward(inputs);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      EXPECT_TRUE(agree(outputs[k].stacked(), before[k])) << pass << k;
      // Before that they are the weight and the input, as in PyTorch.
      if (recorded(model, inputs).is_recorded()) outputs[k].stacked().zero_();
    }
  }
  EXPECT_TRUE(recorded(model, inputs).is_recorded()) << recorded(model, inputs).refusal();
}

TEST(RecordedPass, RunsAsEverWhereThereIsNoRoomForAnotherRecording) {
  auto options = recording();
  int recordings = 0;
  options.device.record = [&, record = options.device.record](auto work) {
    if (++recordings > 1) throw std::runtime_error("out of memory");
    return record(work);
  };
  const auto architecture = large();
  auto plain = wide_model(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, options);
  std::vector<std::vector<ModelInput>> all;  // each where no other one is
  for (int pass = 0; pass < 6; ++pass) {
    all.push_back(wide_inputs(architecture, kMembers));
    all.back()[0].tensor = all.back()[0].tensor.clone();
    EXPECT_TRUE(agree(model.forward(all.back())[0].stacked(), plain.forward(all.back())[0].stacked()));
  }
  EXPECT_EQ(recordings, 2);
  EXPECT_TRUE(recorded(model, all[0]).is_recorded());
}

TEST(RecordedPass, KeepsWrittenBuffers) {
  const auto architecture = zoo::build("batchnorm2d", {{"train", 1}});
  const auto inputs = wide_inputs(architecture, kMembers);
  auto plain = wide_model(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, recording());
  for (int pass = 0; pass < 4; ++pass) plain.forward(inputs), model.forward(inputs);
  ASSERT_TRUE(recorded(model, inputs).is_recorded());
  ASSERT_FALSE(plain.buffers().empty());
  for (const auto& [fqn, buffer] : plain.buffers())
    EXPECT_TRUE(agree(model.buffers().at(fqn), buffer)) << fqn;
}

TEST(RecordedPass, IsRecordedAnewOnceItIsForgotten) {
  auto options = recording();
  int recordings = 0;
  options.device.record = [&, record = options.device.record](auto work) {
    ++recordings;
    return record(work);
  };
  const auto architecture = zoo::build("mlp", {});
  const auto inputs = wide_inputs(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, options);
  for (int pass = 0; pass < 3; ++pass) model.forward(inputs);
  EXPECT_EQ(recordings, 1);
  const auto before = model.forward(inputs)[0].stacked();
  model.build(inputs).planned.execution.recorded()->forget();
  EXPECT_FALSE(recorded(model, inputs).is_recorded());
  for (int pass = 0; pass < 3; ++pass) EXPECT_TRUE(at::equal(model.forward(inputs)[0].stacked(), before));
  EXPECT_EQ(recordings, 2);
}

TEST(RecordedPass, RunsWhatCannotBeRecorded) {
  auto options = recording();
  options.device.record = [](auto) -> std::unique_ptr<Recording> {
    throw std::runtime_error("it looks at a number");
  };
  const auto architecture = zoo::build("mlp", {});
  const auto inputs = wide_inputs(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, options);
  for (const auto& check : prove(model, inputs).checks) EXPECT_TRUE(check.passed) << check.text;
  EXPECT_FALSE(recorded(model, inputs).is_recorded());
  EXPECT_EQ(recorded(model, inputs).refusal(), "it looks at a number");
}

TEST(RecordedPass, IsNotMadeOfRandomNumbers) {
  const auto architecture = zoo::build("dropout", {});
  const auto inputs = wide_inputs(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, recording());
  EXPECT_EQ(model.build(inputs).planned.execution.recorded(), nullptr);
}

}  // namespace
}  // namespace wide::test
