// Separate runs beside the CPU: on streams, and recorded.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "app/capture/rivals.h"
#include "core/fake_device.h"
#include "formats/error.h"
#include "presets/zoo/zoo.h"

namespace wide::test {
namespace {

constexpr std::int64_t kMembers = 3;

struct Subject {
  explicit Subject(const ComputeDevice& device)
      : architecture(zoo::build("mlp", {})),
        model(architecture.graph, zoo::make_members(architecture, kMembers, 0, at::kFloat), options(device)),
        inputs(zoo::make_inputs(architecture, kMembers, 0, at::kFloat)) {}
  static BuildOptions options(const ComputeDevice& device) {
    BuildOptions result;
    result.device = device;
    return result;
  }

  zoo::Architecture architecture;
  WideModel model;
  std::vector<ModelInput> inputs;
};

TEST(SeparateRuns, GoToAStreamEachBesideTheCpu) {
  Subject subject(fake_device());
  const app::SeparateRuns separate(subject.model, subject.inputs);
  const auto before = times_on_another_stream();
  separate.contender("eager")();
  EXPECT_EQ(times_on_another_stream(), before);
  separate.contender("streams")();
  EXPECT_EQ(times_on_another_stream(), before + kMembers);
}

TEST(SeparateRuns, AreRecordedOnceAndThenLaunched) {
  auto device = fake_device();
  int recorded = 0, replayed = 0;
  class Counted final : public Recording {
   public:
    explicit Counted(int& count) : count_(count) {}
    void replay() override { ++count_; }

   private:
    int& count_;
  };
  device.record = [&](c10::function_ref<void()> work) {
    ++recorded;
    work();
    return std::make_unique<Counted>(replayed);
  };
  Subject subject(device);
  const app::SeparateRuns separate(subject.model, subject.inputs);
  const auto run = separate.contender("graph");
  EXPECT_EQ(recorded, 1);
  EXPECT_EQ(replayed, 0);
  for (int i = 0; i < 3; ++i) run();
  EXPECT_EQ(recorded, 1);
  EXPECT_EQ(replayed, 3);
}

TEST(SeparateRuns, SayAtOnceThatTheyCannotBeRecorded) {
  auto device = fake_device();
  device.record = [](auto) -> std::unique_ptr<Recording> { TORCH_CHECK(false, "it looks at a number"); };
  Subject subject(device);
  const app::SeparateRuns separate(subject.model, subject.inputs);
  EXPECT_THROW((void)separate.contender("graph"), c10::Error);
}

TEST(SeparateRuns, RefuseWhatTheDeviceDoesNotHave) {
  Subject there(fake_device()), here({});
  const app::SeparateRuns on_device(there.model, there.inputs), on_cpu(here.model, here.inputs);
  EXPECT_THROW((void)on_device.contender("threads"), Error);
  EXPECT_THROW((void)on_device.contender("graph"), Error) << "it cannot record";
  for (const std::string name : {"streams", "graph", "nobody"})
    EXPECT_THROW((void)on_cpu.contender(name), Error);
}

}  // namespace
}  // namespace wide::test
