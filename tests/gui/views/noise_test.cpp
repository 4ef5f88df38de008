// Noise of the newest run of this machine; names of processors.
#include "gui/views/noise.h"

#include <gtest/gtest.h>

#include "formats/error.h"
#include "results/sample_records.h"
#include "results/store.h"

namespace wide::gui {
namespace {

using results::OpenMode;
using results::Store;
using results::test::TemporaryFolder;

results::CaseRecord with_floor(double low, double high, const std::string& key) {
  results::CaseRecord record;
  record.key = key, record.subject = "mlp", record.n = 2;
  record.verdict = results::Verdict::kPass;
  record.checks = {{.what = "member against its own run", .max_abs_err = 0, .tolerance = 1, .passed = true}};
  record.noise_floor = {1, low, high};
  return record;
}

std::int64_t add_run_on(Store& store, std::vector<results::CaseRecord> cases, const std::string& cpu) {
  auto run = results::test::sample_run();
  run.uid.clear(), run.machine.cpu = cpu;
  const auto id = store.begin_run(run);
  for (const auto& record : cases) store.add_case(id, record);
  store.finish_run(id, results::RunStatus::kDone);
  return id;
}

std::string key_of(const std::string& cpu) {
  auto machine = results::test::sample_run().machine;
  machine.cpu = cpu;
  return profiler::key(machine);
}

TEST(Noise, IsTheMedianOfWhatTheTwinsShowed) {
  const auto noise =
      noise_of({with_floor(0.99, 1.01, "a"), with_floor(0.96, 1.02, "b"), with_floor(1, 1.002, "c")});
  ASSERT_TRUE(noise);
  EXPECT_EQ(noise->cases, 3u);
  EXPECT_NEAR(noise->share, 1 / 0.99 - 1, 1e-12);  // down by 1 % is up by a little more
  EXPECT_FALSE(unreliable(*noise));
  EXPECT_TRUE(unreliable({.share = 0.11}));
  EXPECT_FALSE(noise_of({}));
  EXPECT_FALSE(noise_of({with_floor(profiler::kUnknown, profiler::kUnknown, "a")}));
}

TEST(Noise, IsOfTheNewestRunOfThisMachine) {
  const TemporaryFolder folder;
  const auto path = folder / "r.db";
  std::int64_t wanted = 0;
  {
    auto store = Store::open(path, OpenMode::kReadWrite);
    add_run_on(store, {with_floor(0.9, 1.1, "a")}, "ours");
    wanted = add_run_on(store, {with_floor(0.98, 1.02, "a")}, "ours");
    add_run_on(store, {}, "ours");
    add_run_on(store, {with_floor(0.5, 2, "a")}, "another");
  }
  const auto noise = read_noise(path, key_of("ours"));
  ASSERT_TRUE(noise);
  EXPECT_EQ(noise->run, wanted);
  EXPECT_NEAR(noise->share, 1 / 0.98 - 1, 1e-12);
  EXPECT_FALSE(read_noise(path, key_of("a third one")));
  EXPECT_THROW(read_noise(folder / "none.db", key_of("ours")), Error);
}

TEST(Noise, ProcessorsAreNamedShortly) {
  EXPECT_EQ(short_processor("AMD EPYC 7B13 64-Core Processor"), "EPYC 7B13");
  EXPECT_EQ(short_processor("Intel(R) Xeon(R) CPU E5-2686 v4 @ 2.30GHz"), "Xeon E5-2686 v4");
  EXPECT_EQ(short_processor("Neoverse-N1"), "Neoverse-N1");
  EXPECT_EQ(short_processor("Intel(R) Processor"), "Intel Processor");  // else nothing would be left
  EXPECT_EQ(short_processor(""), "");
}

}  // namespace
}  // namespace wide::gui
