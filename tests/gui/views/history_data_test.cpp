// The history of a real database: runs, comparisons, exports.
#include "gui/views/history_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>

#include "app/run_lock.h"
#include "app/stored_report.h"
#include "formats/error.h"
#include "gui/views/sweep_rows.h"
#include "profiler/random.h"
#include "results/sample_records.h"
#include "results/simulated_runs.h"

namespace wide::gui {
namespace {

using results::OpenMode;
using results::RunStatus;
using results::Store;
using results::test::TemporaryFolder;

constexpr int kCases = 12;

/// Adds a run in which wide takes `slow` times as long as it should in the first `changed` cases.
std::int64_t add_run(Store& store, double slow, int changed, std::uint64_t seed, const std::string& label) {
  auto run = results::test::sample_run();
  run.uid.clear(), run.label = label, run.tags.clear();
  const auto id = store.begin_run(run);
  profiler::Random random(seed);
  for (int i = 0; i < kCases; ++i)
    store.add_case(id, results::test::simulated_case({}, i, i < changed ? slow : 1, 0, random));
  store.finish_run(id, RunStatus::kDone);
  return id;
}

TEST(HistoryData, WithoutADatabaseThereIsNoHistoryAndNoError) {
  const TemporaryFolder folder;
  const auto data = read_history(folder / "none.db");
  EXPECT_FALSE(data.exists);
  EXPECT_TRUE(data.runs.empty());
  EXPECT_FALSE(std::filesystem::exists(folder / "none.db")) << "looking does not make one";
}

TEST(HistoryData, RunsAreListedNewestFirstWithTagsAndBaselines) {
  const TemporaryFolder folder;
  auto store = Store::open(folder / "r.db", OpenMode::kReadWrite);
  const auto first = add_run(store, 1, 0, 1, "before"), second = add_run(store, 1, 0, 2, "after");
  store.add_tag(second, "nightly");
  store.set_baseline("main", {first});
  store.set_pinned(first, true);
  auto data = read_history(folder / "r.db");
  ASSERT_EQ(data.runs.size(), 2u);
  EXPECT_EQ(data.runs[0].id, second);
  EXPECT_EQ(data.row_of(first), 1u);
  EXPECT_EQ(data.row_of(99), 2u);
  const auto cell = [&](std::size_t row, std::string_view key) {
    return data.table.cell(row, data.table.column(key));
  };
  EXPECT_EQ(cell(0, "label"), "after");
  EXPECT_EQ(cell(0, "tags"), "nightly");
  EXPECT_EQ(cell(1, "baselines"), "main");
  EXPECT_EQ(cell(1, "pinned"), "pinned");
  EXPECT_EQ(cell(0, "cases"), "12");
  EXPECT_EQ(cell(0, "status"), "done");
  EXPECT_THAT(cell(0, "subjects"), testing::HasSubstr(store.cases(second).at(0).subject));
  data.table.filter("tags:nightly");
  EXPECT_EQ(data.table.shown(), (std::vector<std::uint32_t>{0}));
}

TEST(HistoryData, ARunIsReadWithItsCasesAndNotes) {
  const TemporaryFolder folder;
  auto store = Store::open(folder / "r.db", OpenMode::kReadWrite);
  const auto id = add_run(store, 1, 0, 1, "a");
  store.add_note(id, "new allocator");
  const auto data = read_run(folder / "r.db", 0);
  EXPECT_EQ(data.run.id, id);
  ASSERT_FALSE(data.run.notes.empty());
  EXPECT_EQ(data.run.notes.back().text, "new allocator");
  EXPECT_EQ(data.table.rows(), static_cast<std::size_t>(kCases));
  EXPECT_EQ(data.subjects.size(), static_cast<std::size_t>(kCases));
  EXPECT_THROW(read_run(folder / "r.db", 77), Error);
  EXPECT_EQ(data.captured, "");
}

// A capture is no measurement that the sweep panel would show.
TEST(HistoryData, CapturesAreFoundAndAreNotTheNewestRun) {
  const TemporaryFolder folder;
  auto store = Store::open(folder / "r.db", OpenMode::kReadWrite);
  const auto measured = add_run(store, 1, 0, 1, "a");
  auto run = results::test::sample_run();
  run.uid.clear();
  const auto captured = store.begin_run(run);
  results::CaseRecord record;
  record.key = "mlp/n=8", record.subject = "mlp", record.n = 8;
  record.verdict = results::Verdict::kSkipped, record.reason = "captured, not measured";
  store.add_case(captured, record);
  EXPECT_EQ(read_run(folder / "r.db", 0).run.id, captured);  // skipped, but no capture
  store.add_trace(captured, record.key, "wide", "bytes");
  EXPECT_EQ(read_run(folder / "r.db", 0).run.id, measured);
  EXPECT_EQ(read_run(folder / "r.db", captured).captured, "mlp/n=8");
  const auto table = read_history(folder / "r.db").table;
  EXPECT_EQ(table.cell(0, table.column("status")), "profile");
  EXPECT_EQ(table.cell(0, table.column("passed")), "\xe2\x80\x93") << "none that was measured";
  EXPECT_EQ(table.cell(1, table.column("status")), "done");
}

// The file says "running" for ever after a kill.
TEST(HistoryData, ARunThatNobodyMeasuresIsInterrupted) {
  const TemporaryFolder folder;
  const auto file = folder / "r.db";
  auto store = Store::open(file, OpenMode::kReadWrite);
  const auto run = store.begin_run({.status = results::RunStatus::kRunning});
  std::optional<HistoryData> before;
  {
    const app::RunLock lock(store.path(), run);
    before = read_history(file);
    EXPECT_EQ(before->runs.at(0).status, results::RunStatus::kRunning);
    EXPECT_FALSE(is_stale(*before));
  }
  EXPECT_TRUE(is_stale(*before));
  EXPECT_EQ(read_history(file).runs.at(0).status, results::RunStatus::kInterrupted);
  EXPECT_EQ(read_run(file, run).run.status, results::RunStatus::kInterrupted);
}

TEST(HistoryData, SaysWhenSomebodyStoredSomething) {
  const TemporaryFolder folder;
  const auto file = folder / "r.db";
  EXPECT_EQ(stamp_of(file), "");
  auto store = Store::open(file, OpenMode::kReadWrite);
  const auto run = add_run(store, 1, 0, 1, "a");
  const auto before = read_history(file).stamp;
  EXPECT_EQ(before, stamp_of(file));  // reading changes nothing
  store.add_tag(run, "other");
  EXPECT_NE(before, stamp_of(file));
}

TEST(HistoryData, TheNewestRunOfASubjectIsFound) {
  const TemporaryFolder folder;
  const auto file = folder / "r.db";
  auto store = Store::open(file, OpenMode::kReadWrite);
  const auto first = add_run(store, 1, 0, 1, "a");
  auto imported = store.run(first);
  imported.uid.clear();
  store.import_run(imported, store.cases(first));
  ASSERT_TRUE(newest_run(file, "case3", true).has_value());
  EXPECT_EQ(newest_run(file, "case3", true)->run.id, first);  // not what came from elsewhere
  EXPECT_EQ(newest_run(file, "", true)->run.id, first);
  EXPECT_FALSE(newest_run(file, "resblock", true).has_value());
  EXPECT_FALSE(newest_run(file, "case3", false).has_value());  // a file of that name is another model
}

TEST(HistoryData, AComparisonIsShownWithWordsAndIntervals) {
  const TemporaryFolder folder;
  auto store = Store::open(folder / "r.db", OpenMode::kReadWrite);
  const auto first = add_run(store, 1, 0, 1, "a"), second = add_run(store, 1.6, 2, 2, "b");
  const auto all = compare_runs(folder / "r.db", {first, second, first}, false);
  ASSERT_EQ(all.size(), 2u);
  const auto& table = all[0].table;
  ASSERT_EQ(table.rows(), static_cast<std::size_t>(kCases));
  // What the verdicts should be is tested with the comparison; here it is that they are shown with what led
  // to them.
  const auto& seen = all[0].comparison;
  for (std::size_t row = 0; row < seen.cases.size(); ++row) {
    EXPECT_EQ(table.text(row, table.column("change")), results::name(seen.cases[row].change));
    EXPECT_EQ(table.number(row, table.column("ratio")), seen.cases[row].ratio.value);
  }
  EXPECT_GT(table.number(0, table.column("ratio")), 1.4);
  const auto cost = table.cell(0, table.column("ratio"));
  EXPECT_TRUE(cost.starts_with("+") && cost.find(" % [") != std::string::npos) << cost;
  for (const auto& [change, count] : seen.counts) {
    const auto words = std::to_string(count) + " " + std::string(results::name(change));
    EXPECT_NE(headline(seen).find(words), std::string::npos) << words;
  }
  EXPECT_THROW(compare_runs(folder / "r.db", {first}, false), Error);
  EXPECT_EQ(compare_command("r.db", {3, 5}, true), "widebench runs compare 3 5 --across-machines --db r.db");
}

TEST(HistoryData, WhatOnlyOneSideHasIsShownAsMissing) {
  results::Comparison comparison;
  comparison.first = "run 1", comparison.second = "run 2";
  comparison.only_in_first = {{"mlp/n=4", "mlp", 4}};
  const auto data = make_comparison(std::move(comparison));
  EXPECT_EQ(data.table.cell(0, data.table.column("change")), "missing");
  EXPECT_EQ(data.table.cell(0, data.table.column("reasons")), "only in run 1");
}

std::string text_of_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(HistoryData, RunsAreExportedInEveryFormat) {
  const TemporaryFolder folder;
  auto store = Store::open(folder / "r.db", OpenMode::kReadWrite);
  const auto id = add_run(store, 1, 0, 1, "a");
  for (const char* format : {"json", "csv", "html", "svg"}) {
    const auto file = folder / (std::string("run.") + format);
    export_run(folder / "r.db", id, format, file);
    EXPECT_GT(std::filesystem::file_size(file), 500u) << format;
    // As `widebench runs export` writes it, summary included.
    EXPECT_EQ(text_of_file(file), app::stored_report(store, id, format)) << format;
  }
  EXPECT_NE(text_of_file(folder / "run.json").find("\"summary\""), std::string::npos);
  EXPECT_THROW(export_run(folder / "r.db", id, "docx", folder / "x"), Error);
}

TEST(HistoryData, TimesAreShortened) {
  EXPECT_EQ(short_time("2026-05-01T12:34:56Z"), "2026-05-01 12:34");
  EXPECT_EQ(short_time("yesterday"), "yesterday");
}

}  // namespace
}  // namespace wide::gui
