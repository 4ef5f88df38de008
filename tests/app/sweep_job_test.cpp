// The device of a sweep's cases, settled before anything runs.
#include "app/sweep_job.h"

#include <gtest/gtest.h>

#include "app/fake_engine.h"

namespace wide::test {
namespace {

using Rivals = std::vector<std::string>;

app::Engine engine_with_gpu() {
  auto engine = fake_engine();
  engine.devices = [] {
    return std::vector<app::DeviceInfo>{{.name = "cpu"}, {.name = "cuda", .description = "some GPU"}};
  };
  return engine;
}

presets::CaseSpec settled(presets::CaseSpec spec, const app::Engine& engine) {
  spec.subject = "mlp", spec.kind = "zoo";
  std::vector specs{std::move(spec)};
  app::resolve_devices(specs, engine);
  return specs[0];
}

TEST(Settle, AutoIsTheGpuWhereThereIsOne) {
  EXPECT_EQ(settled({.device = "auto"}, engine_with_gpu()).device, "cuda");
  EXPECT_EQ(settled({.device = "auto"}, fake_engine()).device, "cpu");
  EXPECT_EQ(settled({.device = "cpu"}, engine_with_gpu()).device, "cpu");
}

TEST(Settle, ThreadsAreStreamsAndAGraphOnAGpu) {
  EXPECT_EQ(settled({.device = "auto"}, engine_with_gpu()).rivals, (Rivals{"eager", "streams", "graph"}));
  EXPECT_EQ(settled({.device = "cuda", .rivals = {"graph", "threads"}}, engine_with_gpu()).rivals,
            (Rivals{"graph", "streams"}));
  EXPECT_EQ(settled({.device = "cuda", .rivals = {"eager"}}, engine_with_gpu()).rivals, (Rivals{"eager"}));
  EXPECT_EQ(settled({.device = "cpu"}, engine_with_gpu()).rivals, (Rivals{"eager", "threads"}));
}

TEST(Settle, RivalsOfAGpuAreRefusedOnTheCpuBeforeAnythingIsMeasured) {
  for (const std::string rival : {"streams", "graph", "python_streams", "python_graph"}) {
    try {
      settled({.device = "auto", .rivals = {"eager", rival}}, fake_engine());
      ADD_FAILURE() << rival;
    } catch (const Error& error) {
      EXPECT_STREQ(
          error.what(),
          ("the rival " + rival + " runs on a GPU only; leave it out, or give --device cuda").c_str());
    }
  }
}

}  // namespace
}  // namespace wide::test
