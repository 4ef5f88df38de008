// Models on a real GPU. Without one all but the library itself is shown as skipped.
#include <gtest/gtest.h>

#include "app/capture/rivals.h"
#include "app/cuda_library.h"
#include "app/devices.h"
#include "app/exit_code.h"
#include "core/prove/prove.h"
#include "core/run/recorded_pass.h"
#include "cuda/run_seam.h"
#include "presets/zoo/zoo.h"

namespace wide::test {
namespace {

constexpr std::int64_t kMembers = 3;

TEST(RunLibrary, IsOpenedWhereLibtorchHasItsCudaLibraries) {
  const auto library = app::open_beside_program("libwide_cuda_run.so");
  if (library.handle == nullptr) GTEST_SKIP() << library.reason;
  const auto version = library.find<decltype(wide_cuda_run_version)>("wide_cuda_run_version");
  const auto devices = library.find<decltype(wide_cuda_run_devices)>("wide_cuda_run_devices");
  const auto open = library.find<decltype(wide_cuda_run_open)>("wide_cuda_run_open");
  ASSERT_TRUE(version && devices && open);
  EXPECT_EQ(version(), cuda::kRunSeamVersion);
  EXPECT_EQ(devices() > 0, app::known_devices()[1].usable) << "libtorch and the driver disagree";
  ComputeDevice device;
  open(&device);
  EXPECT_TRUE(device.device.is_cuda());
  EXPECT_TRUE(device.record);
}

TEST(Devices, CudaIsOpenedOrRefusedWithItsReason) {
  const auto& cuda = app::known_devices()[1];
  if (cuda.usable) {
    EXPECT_TRUE(app::open_device("cuda").device.is_cuda());
    EXPECT_EQ(app::settled_device("auto"), "cuda");
    return;
  }
  EXPECT_EQ(app::settled_device("auto"), "cpu");
  EXPECT_TRUE(app::open_device("auto").device.is_cpu());
  try {
    app::open_device("cuda");
    FAIL();
  } catch (const app::CannotMeasure& refused) {
    EXPECT_NE(std::string(refused.what()).find(cuda.reason), std::string::npos);
  }
}

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    const auto& cuda = app::known_devices()[1];
    if (!cuda.usable) GTEST_SKIP() << cuda.reason;
    options_.device = app::open_device("cuda");
  }

  WideModel model(const std::string& subject) const {
    const auto architecture = zoo::build(subject, {});
    return WideModel(architecture.graph, zoo::make_members(architecture, kMembers, 0, at::kFloat), options_);
  }
  static std::vector<ModelInput> inputs(const std::string& subject) {
    return zoo::make_inputs(zoo::build(subject, {}), kMembers, 0, at::kFloat);
  }

  BuildOptions options_;
};

TEST_F(Gpu, EverySubjectIsProved) {
  for (const auto mode : {Mode::kEager, Mode::kReduceOverhead}) {
    options_.mode = mode;
    for (const auto& subject : zoo::subjects()) {
      SCOPED_TRACE(subject.name + ", " + std::string(name(mode)));
      auto wide = model(subject.name);
      for (const auto& check : prove(wide, inputs(subject.name)).checks)
        EXPECT_TRUE(check.passed) << check.what << ": " << check.text;
    }
  }
}

// What draws random numbers is not recorded anywhere: RecordedPass.IsNotMadeOfRandomNumbers.
TEST_F(Gpu, PassesAreRecordedIntoGraphs) {
  options_.mode = Mode::kReduceOverhead;
  for (const auto& subject : zoo::subjects()) {
    auto wide = model(subject.name);
    const auto given = inputs(subject.name);
    for (int pass = 0; pass < 3; ++pass) wide.forward(given);
    const auto* recorded = wide.build(given).planned.execution.recorded();
    if (wide.build(given).random) continue;
    ASSERT_NE(recorded, nullptr) << subject.name;
    EXPECT_TRUE(recorded->is_recorded()) << subject.name << ": " << recorded->refusal();
  }
}

// See Note [What recordings read and write].
TEST_F(Gpu, RecordingsReadInputsWhereTheyLieAndGiveResultsAway) {
  const auto architecture = zoo::build("prelu", {{"channels", 64}, {"height", 32}, {"width", 32}});
  const auto built = [&](Mode mode) {
    options_.mode = mode;
    return WideModel(architecture.graph, zoo::make_members(architecture, kMembers, 0, at::kFloat), options_);
  };
  auto plain = built(Mode::kEager), model = built(Mode::kReduceOverhead);
  const c10::InferenceMode guard;
  std::vector<std::vector<ModelInput>> sets;
  for (int i = 0; i < 2; ++i) {
    sets.push_back(zoo::make_inputs(architecture, kMembers, 0, at::kFloat));
    sets.back()[0].tensor = sets.back()[0].tensor.to(options_.device.device);
  }
  std::vector<at::Tensor> kept, expected;
  for (int pass = 0; pass < 12; ++pass) {
    auto& inputs = sets[static_cast<std::size_t>(pass % 2)];
    inputs[0].tensor.add_(0.5);
    const auto got = model.forward(inputs)[0].stacked();
    EXPECT_TRUE(at::equal(got, plain.forward(inputs)[0].stacked())) << pass;
    if (pass > 6) kept.push_back(got), expected.push_back(got.clone());
  }
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_TRUE(at::equal(kept[i], expected[i])) << i;
  const auto* recorded = model.build(sets[0]).planned.execution.recorded();
  EXPECT_GE(recorded->recordings(), 2u);
  EXPECT_LE(recorded->recordings(), 4u);
}

// To wait for a number cannot be recorded. See Note [A capture that fails].
TEST_F(Gpu, WhatCannotBeRecordedLeavesAllElseAsItWas) {
  const auto device = options_.device.device;
  const auto x = at::ones({64}, at::TensorOptions(device));
  const auto record = [&](bool waits) {
    const c10::InferenceMode guard;
    at::Tensor y;
    const auto recording = options_.device.record([&] {
      y = x * 2;
      if (waits) (void)y.sum().item();
      y.add_(1);
    });
    recording->replay();
    return y.cpu();
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW(record(true), c10::Error);
    EXPECT_NO_THROW((void)at::rand({8}, at::TensorOptions(device)).cpu());
    const auto before = peak_bytes(device);
    EXPECT_EQ(record(false).min().item<float>(), 3);
    EXPECT_LT(peak_bytes(device) - before, 1 << 20);
  }
}

TEST_F(Gpu, MeasuringFindsAPlanThatIsRight) {
  options_.tuning.tuning = Tuning::kMeasure;
  auto wide = model("resblock");
  for (const auto& check : prove(wide, inputs("resblock")).checks) EXPECT_TRUE(check.passed) << check.text;
}

TEST_F(Gpu, RivalsRun) {
  auto wide = model("resblock");
  const auto given = inputs("resblock");
  const app::SeparateRuns separate(wide, given);
  for (const std::string name : {"eager", "streams", "graph"}) {
    const auto run = separate.contender(name);
    for (int i = 0; i < 3; ++i) EXPECT_NO_THROW(run()) << name;
    synchronize(options_.device.device);
  }
}

}  // namespace
}  // namespace wide::test
