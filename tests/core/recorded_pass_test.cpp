// Passes that are recorded and launched as a whole, on a CPU that records.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <map>
#include <set>
#include <string>

#include "core/prove/prove.h"
#include "core/run/recorded_pass.h"
#include "core/support.h"
#include "core/tape.h"
#include "presets/zoo/zoo.h"

namespace wide::test {
namespace {

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

// Inputs, each in places of its own.
std::vector<std::vector<ModelInput>> sets_of(const zoo::Architecture& architecture, int count) {
  std::vector<std::vector<ModelInput>> sets;
  for (int i = 0; i < count; ++i) {
    sets.push_back(wide_inputs(architecture, kMembers));
    sets.back()[0].tensor = sets.back()[0].tensor.clone();
  }
  return sets;
}

// See Note [What recordings read and write].
TEST(RecordedPass, ReadsLargeInputsWhereTheyLieAndGivesResultsAway) {
  const auto architecture = large();
  auto plain = wide_model(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, recording());
  auto sets = sets_of(architecture, 2);
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

TEST(RecordedPass, ReadsSmallInputsWhereTheyLieOnceTheyComeAgain) {
  const auto architecture = zoo::build("mlp", {});
  auto plain = wide_model(architecture, kMembers);
  auto sets = sets_of(architecture, 8);
  for (const auto& [loop, wanted] : {std::pair(8U, 1U), std::pair(2U, 3U), std::pair(1U, 2U)}) {
    SCOPED_TRACE(loop);
    auto model = wide_model(architecture, kMembers, recording());
    for (std::size_t pass = 0; pass < 8; ++pass) {
      auto& inputs = sets[pass % loop];
      inputs[0].tensor.add_(1);
      EXPECT_TRUE(agree(model.forward(inputs)[0].stacked(), plain.forward(inputs)[0].stacked())) << pass;
    }
    EXPECT_EQ(recorded(model, sets[0]).recordings(), wanted);
  }
}

// Two early places, then a loop over a third; what was recorded for copies goes once it was not needed for
// long.
TEST(RecordedPass, MakesWayForSmallInputsThatComeAgain) {
  const auto architecture = zoo::build("mlp", {});
  auto plain = wide_model(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, recording());
  auto sets = sets_of(architecture, 3);
  for (const std::size_t set : {0U, 0U, 0U, 1U, 1U, 1U}) model.forward(sets[set]);
  EXPECT_EQ(recorded(model, sets[0]).recordings(), 3u);
  std::set<const void*> places;
  for (int pass = 0; pass < 600; ++pass) {
    const auto got = model.forward(sets[2])[0].stacked();
    const auto other = at::empty_like(got);  // so that another result would not lie at the same place
    if (pass > 20) places.insert(got.const_data_ptr());
  }
  EXPECT_EQ(places.size(), 1u) << "read in place by one recording";
  EXPECT_EQ(recorded(model, sets[0]).recordings(), 2u) << "the one that copies is gone";
  sets[2][0].tensor.add_(1);
  EXPECT_TRUE(agree(model.forward(sets[2])[0].stacked(), plain.forward(sets[2])[0].stacked()));
}

TEST(RecordedPass, GoesOnWhereSmallInputsCannotBeReadInPlace) {
  auto options = recording();
  int recordings = 0;
  options.device.record = [&, record = options.device.record](auto work) {
    if (++recordings == 2) throw std::runtime_error("out of memory");
    return record(work);
  };
  const auto architecture = zoo::build("mlp", {});
  auto plain = wide_model(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, options);
  const auto inputs = wide_inputs(architecture, kMembers);
  std::vector<at::Tensor> kept;  // later on each result: the recording that copies is never free
  for (int pass = 0; pass < 8; ++pass) {
    const auto got = model.forward(inputs)[0].stacked();
    if (pass >= 4) kept.push_back(got);
  }
  for (const auto& one : kept) EXPECT_TRUE(agree(one, plain.forward(inputs)[0].stacked()));
  EXPECT_GT(recorded(model, inputs).recordings(), 1u);
}

// A few passes from anywhere, then a loop over two sets of inputs.
TEST(RecordedPass, MakesWayForPlacesThatComeAgain) {
  const auto architecture = large();
  auto plain = wide_model(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, recording());
  auto sets = sets_of(architecture, 8);
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
  auto together = wide_model(architecture, kMembers, recording());
  auto options = recording();
  const auto& built = together.build(inputs);
  options.plan = store(built.optimized, kMembers, built.planned);
  options.plan->schedule = {1, 1, 0};
  for (auto& node : options.plan->nodes) node.strategy = kAloneStrategy;
  auto apart = wide_model(architecture, kMembers, options);
  for (int pass = 0; pass < 4; ++pass) plain.forward(inputs), together.forward(inputs), apart.forward(inputs);
  ASSERT_FALSE(plain.buffers().empty());
  for (auto* model : {&together, &apart}) {
    ASSERT_TRUE(recorded(*model, inputs).is_recorded());
    for (const auto& [fqn, buffer] : plain.buffers())
      EXPECT_TRUE(agree(model->buffers().at(fqn), buffer)) << fqn << (model == &apart);
  }
}

// A large input is read where it lies and a large result given away, though the pass writes small buffers.
TEST(RecordedPass, CopiesOnlyBuffersWhereAPassWritesSome) {
  const c10::InferenceMode guard;
  const auto architecture =
      zoo::build("batchnorm2d", {{"train", 1}, {"batch", 4}, {"height", 32}, {"width", 32}});
  auto plain = wide_model(architecture, kMembers);
  auto model = wide_model(architecture, kMembers, recording());
  auto sets = sets_of(architecture, 2);
  ASSERT_GT(sets[0][0].tensor.nbytes(), std::size_t{256} << 10);
  std::set<const void*> places;
  std::map<std::string, at::Tensor> buffers, buffers_then;
  for (int pass = 0; pass < 16; ++pass) {
    auto& inputs = sets[static_cast<std::size_t>(pass % 2)];
    inputs[0].tensor.add_(1);
    const auto got = model.forward(inputs)[0].stacked();
    EXPECT_TRUE(agree(got, plain.forward(inputs)[0].stacked())) << pass;
    for (const auto& [fqn, buffer] : plain.buffers())
      EXPECT_TRUE(agree(model.buffers().at(fqn), buffer)) << fqn << pass;
    if (pass == 7) buffers = model.buffers();
    for (const auto& [fqn, buffer] : buffers) {
      if (pass == 7) buffers_then[fqn] = buffer.clone();
      EXPECT_TRUE(at::equal(buffer, buffers_then.at(fqn))) << fqn << ": what a caller took changed later on";
    }
    if (pass >= 3) places.insert(got.const_data_ptr());
  }
  EXPECT_EQ(recorded(model, sets[0]).recordings(), 2u);
  EXPECT_EQ(places.size(), 2u) << "nobody had the results any more: they need not be copied";
}

TEST(RecordedPass, IsRecordedAnewOnceItIsForgotten) {
  auto options = recording();
  int recordings = 0;
  options.device.record = [&, record = options.device.record](auto work) {
    ++recordings;
    return record(work);
  };
  const auto architecture = large();
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
