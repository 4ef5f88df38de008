// A million events: how long reading and explaining them takes, and how much memory.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <chrono>

#include "profiler/trace/activity.h"
#include "profiler/trace/chrome_export.h"
#include "profiler/trace/chrome_import.h"
#include "profiler/trace/comparison.h"
#include "profiler/trace/kernels.h"
#include "profiler/trace/sample_traces.h"
#include "tests/machine_speed.h"
#include "tests/temporary_folder.h"

namespace wide::profiler {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr double kSanitizers = 20;  // sanitizers slow the code down and keep freed memory
constexpr bool kSanitized = true;
#else
constexpr double kSanitizers = 1;
constexpr bool kSanitized = false;
#endif

// Processor time: what else runs on the machine does not count.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

double peak_gigabytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e9;
}

TEST(ScaleTest, AMillionEventsAreReadInFiveSecondsAndExplainedInTwo) {
  constexpr std::size_t kEvents = 1'000'000;
  const test::TemporaryFolder folder;
  const auto path = folder / "million.json";
  {
    const auto trace = test::large_trace(kEvents);
    EXPECT_LT(trace.slices.bytes(), 150'000'000u);
    write_chrome_file(path, std::array{&trace});
  }
  const wide::test::Allowance allowance;
  auto start = cpu_seconds();
  const auto read = read_chrome_file(path);
  const auto import_seconds = cpu_seconds() - start;
  ASSERT_EQ(read.at(0).slices.size(), kEvents);
  start = cpu_seconds();
  const auto nesting = structure(read[0]);
  const auto rows = kernels(read[0], nesting);
  const auto result = compare(read[0], nesting, read[0], nesting);
  const auto memory = memory_use(read[0]);
  const auto analysis_seconds = cpu_seconds() - start;
  EXPECT_EQ(rows.size(), 375u);
  EXPECT_EQ(result.gain.gained(), 0);
  const double slower = allowance.now() * kSanitizers;
  EXPECT_LT(import_seconds, 5 * slower);
  EXPECT_LT(analysis_seconds, 2 * slower);
  if (!kSanitized) {
    EXPECT_LT(peak_gigabytes(), 1.0);
  }
  RecordProperty("import_seconds", std::to_string(import_seconds));
  RecordProperty("analysis_seconds", std::to_string(analysis_seconds));
}

}  // namespace
}  // namespace wide::profiler
