// 10,000 cases of 24 samples each, out to a file, into a database and compared. ctest runs nothing beside it:
// the work takes all cores. Sanitizers take their time.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <numeric>

#include "results/compare.h"
#include "results/export.h"
#include "results/report.h"
#include "results/store.h"
#include "tests/machine_speed.h"
#include "tests/results/sample_records.h"

namespace wide::results {
namespace {

using test::describe;
using test::TemporaryFolder;

constexpr double kMostSeconds = 3;
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__)
constexpr bool kTimed = true;
#else
constexpr bool kTimed = false;
#endif

Imported ten_thousand_cases() {
  Imported run{test::sample_run(), {}};
  CaseRecord record = test::passed_case();
  while (record.samples.size() < 24) {
    record.samples.push_back(record.samples[record.samples.size() % 8]);
    record.samples.back().round = static_cast<int>(record.samples.size() - 1) / 4;
  }
  for (int i = 0; i < 10'000; ++i) {
    record.key = "case " + std::to_string(i);
    record.n = 1 + i % 64;
    record.subject = "subject " + std::to_string(i / 64);
    run.cases.push_back(record);
  }
  return run;
}

// Seconds of all of it but the page, which is not read by programs.
double round_trip(const Imported& run) {
  const TemporaryFolder folder;
  std::vector<double> seconds;
  const auto timed = [&](const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  };
  Imported back;
  timed([&] { write_report(folder / "r.json", report(run.run, run.cases)); });
  timed([&] { back = read_report(folder / "r.json"); });
  Store store = Store::open(folder / "r.db", OpenMode::kReadWrite);
  timed([&] { store.import_run(back.run, back.cases); });
  timed([&] {
    const Side side{"a", {{store.run(1), store.cases(1, false)}}};
    EXPECT_EQ(compare(side, {"b", {run}}).cases.size(), 10'000u);
  });
  EXPECT_EQ(describe(back.cases.back()), describe(run.cases.back()));
  std::printf("export %.2f s, read %.2f s, store %.2f s, load and compare %.2f s\n", seconds[0], seconds[1],
              seconds[2], seconds[3]);
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

TEST(Scale, TenThousandCases) {
  const auto run = ten_thousand_cases();
  const wide::test::Allowance allowance;
  const double seconds = round_trip(run);
  if (kTimed) {
    EXPECT_LT(seconds, kMostSeconds * allowance.now());
  }
}

TEST(Scale, TenThousandCasesAsAPage) {
  const TemporaryFolder folder;
  const auto run = ten_thousand_cases();
  write_text(folder / "r.html", to_html(run.run, run.cases, {}));
  EXPECT_GT(std::filesystem::file_size(folder / "r.html"), 100'000u);
}

}  // namespace
}  // namespace wide::results
