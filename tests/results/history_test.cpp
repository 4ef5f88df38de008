// What people and CI do with stored runs: baselines, pins, tags, notes, deleting, traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>

#include "formats/error.h"
#include "results/store.h"
#include "tests/results/sample_records.h"

namespace wide::results {
namespace {

using test::passed_case;
using test::sample_run;
using test::TemporaryFolder;
using testing::HasSubstr;
using testing::ThrowsMessage;

class HistoryTest : public testing::Test {
 protected:
  std::int64_t add_run(std::int64_t parent = 0) {
    RunRecord run = sample_run();
    run.uid.clear();
    run.tags.clear();
    run.parent = parent;
    const auto id = store_.begin_run(run);
    store_.add_case(id, passed_case());
    return id;
  }
  bool has(std::int64_t id) const {
    const auto runs = store_.runs();
    return std::any_of(runs.begin(), runs.end(), [&](const auto& run) { return run.id == id; });
  }

  TemporaryFolder folder_;
  Store store_ = Store::open(folder_ / "r.db", OpenMode::kReadWrite);
};

TEST_F(HistoryTest, RunsAreDeletedTogetherOrNotAtAll) {
  const auto first = add_run(), second = add_run();
  EXPECT_THROW(store_.delete_runs(std::array{first, second, second + 1}), Error);
  store_.set_pinned(second, true);
  EXPECT_THROW(store_.delete_runs(std::array{first, second}), Error);
  EXPECT_TRUE(has(first));
  store_.set_pinned(second, false);
  store_.delete_runs(std::array{first, second});
  EXPECT_FALSE(has(first) || has(second));
}

TEST_F(HistoryTest, NothingIsWrittenWhereTheFileIsNoMore) {
  const auto path = folder_ / "r.db";
  const auto run = add_run();
  for (const bool replaced : {false, true}) {
    std::filesystem::rename(path, folder_ / "moved.db");
    if (replaced) std::filesystem::copy_file(folder_ / "moved.db", path);
    try {
      store_.add_note(run, "lost");
      ADD_FAILURE() << "written into a file that has another name";
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("while it was open"), std::string::npos) << error.what();
    }
    std::filesystem::rename(folder_ / "moved.db", path);
    store_.add_note(run, "kept");
  }
}

TEST_F(HistoryTest, BaselinesNameRunsAndKeepThem) {
  const auto first = add_run(), second = add_run(), third = add_run();
  store_.set_baseline("main", {first, second});
  store_.set_baseline("before", {second});
  ASSERT_EQ(store_.baselines().size(), 2u);
  EXPECT_EQ(store_.baselines()[1].name, "main");
  EXPECT_EQ(store_.baselines()[1].runs, (std::vector<std::int64_t>{first, second}));
  EXPECT_EQ(store_.runs()[1].baselines, (std::vector<std::string>{"before", "main"}));
  EXPECT_THROW(store_.delete_run(first), Error);
  store_.set_baseline("main", {third});  // replaced
  store_.delete_run(first);
  EXPECT_FALSE(has(first));
  EXPECT_TRUE(store_.remove_baseline("before"));
  EXPECT_FALSE(store_.remove_baseline("before"));
  EXPECT_EQ(store_.baselines().size(), 1u);
}

TEST_F(HistoryTest, ABaselineOfNoRunOrOfAMissingOneChangesNothing) {
  const auto run = add_run();
  store_.set_baseline("main", {run});
  EXPECT_THROW(store_.set_baseline("main", {}), Error);
  EXPECT_THROW(store_.set_baseline("main", {run, 99}), Error);
  for (const char* name : {"", " x", "a\nb", "\x1b[31m", "\xE2\x80\xAE"}) {
    EXPECT_THROW(store_.set_baseline(name, {run}), Error) << name;
  }
  const auto uid = store_.run(run).uid;
  for (const std::string& name :
       {std::string("3"), std::string("latest"), std::string("latest~1"), std::string("-x"),
        std::string("a/b"), std::string("r.json"), uid, uid.substr(0, 6)}) {
    EXPECT_THROW(store_.set_baseline(name, {run}), Error) << name << " means something else";
  }
  store_.set_baseline(uid.substr(0, 6) + "x", {run});
  EXPECT_TRUE(store_.remove_baseline(uid.substr(0, 6) + "x"));
  EXPECT_THROW(store_.set_baseline(std::string(101, 'x'), {run}), Error);
  ASSERT_EQ(store_.baselines().size(), 1u);
  EXPECT_EQ(store_.baselines()[0].runs, std::vector<std::int64_t>{run});
}

TEST_F(HistoryTest, TagsAndNotes) {
  const auto run = add_run();
  store_.add_tag(run, "nightly");
  store_.add_tag(run, "nightly");
  store_.add_tag(run, "amd");
  EXPECT_EQ(store_.run(run).tags, (std::vector<std::string>{"amd", "nightly"}));
  EXPECT_EQ(store_.runs()[0].tags.size(), 2u);
  EXPECT_TRUE(store_.remove_tag(run, "amd"));
  EXPECT_FALSE(store_.remove_tag(run, "amd"));
  const auto notes = store_.run(run).notes.size();
  store_.add_note(run, "two\nlines '; DROP TABLE run;--");
  ASSERT_EQ(store_.run(run).notes.size(), notes + 1);
  EXPECT_EQ(store_.run(run).notes.back().text, "two\nlines '; DROP TABLE run;--");
  EXPECT_THROW(store_.add_note(run, ""), Error);
  EXPECT_THROW(store_.add_tag(99, "x"), Error);
}

TEST_F(HistoryTest, DeletingTakesAllThatBelongsToARun) {
  const auto run = add_run(), again = add_run(run);
  store_.add_tag(run, "x");
  store_.add_note(run, "x");
  store_.add_trace(run, passed_case().key, "kernels", "bytes");
  store_.set_pinned(run, true);
  EXPECT_THROW(store_.delete_run(run), Error);
  store_.set_pinned(run, false);
  store_.set_baseline("b", {again});
  const auto kept =
      "run " + std::to_string(again) + ", which measured run " + std::to_string(run) + " again,";
  const auto refused = [&] { store_.delete_run(run); };  // it would take `again` along
  EXPECT_THAT(refused, ThrowsMessage<Error>(HasSubstr(kept + " stands in the baseline 'b'")));
  store_.set_baseline("a", {again});
  EXPECT_THAT(refused, ThrowsMessage<Error>(HasSubstr(kept + " stands in the baselines 'a', 'b'")));
  store_.remove_baseline("a");
  store_.remove_baseline("b");
  store_.set_pinned(again, true);
  EXPECT_THAT(refused, ThrowsMessage<Error>(HasSubstr(kept + " is pinned")));
  store_.set_pinned(again, false);
  store_.delete_run(run);
  EXPECT_FALSE(has(run));
  EXPECT_FALSE(has(again));
  EXPECT_THROW(store_.delete_run(run), Error);
}

TEST_F(HistoryTest, PruneKeepsTheNewestAndWhatIsKept) {
  std::vector<std::int64_t> runs;
  for (int i = 0; i < 8; ++i) runs.push_back(add_run());
  store_.set_pinned(runs[0], true);
  store_.set_baseline("b", {runs[1]});
  store_.finish_run(runs[2], RunStatus::kRunning);
  const auto child = add_run(runs[3]);
  store_.set_pinned(child, true);
  const auto gone = store_.prune(2);
  EXPECT_EQ(gone, (std::vector<std::int64_t>{runs[5], runs[4]}));
  for (const int kept : {0, 1, 2, 3, 6, 7}) EXPECT_TRUE(has(runs[static_cast<std::size_t>(kept)])) << kept;
  EXPECT_TRUE(store_.prune(2).empty());
}

TEST_F(HistoryTest, PruneLeavesWhatCanBeResumed) {
  const auto stopped = add_run(), done = add_run();
  store_.finish_run(stopped, RunStatus::kInterrupted);
  EXPECT_EQ(store_.prune(0), (std::vector<std::int64_t>{done}));
  EXPECT_TRUE(has(stopped));
}

TEST_F(HistoryTest, TracesAreKeptByteForByte) {
  const auto run = add_run();
  const std::string key = passed_case().key;
  std::string bytes("\0\xff\x1f\x8b", 4);
  bytes += std::string(100'000, 'z');
  store_.add_trace(run, key, "wide", bytes);
  store_.add_trace(run, key, "eager", "");
  store_.add_trace(run, key, "eager", "x");  // in place of the empty one
  const auto traces = store_.traces(run, key);
  ASSERT_EQ(traces.size(), 2u);
  EXPECT_EQ(traces[0].name, "eager");
  EXPECT_EQ(traces[1].size, std::ssize(bytes));
  EXPECT_EQ(store_.read_trace(run, key, "wide"), bytes);
  EXPECT_EQ(store_.read_trace(run, key, "eager"), "x");
  EXPECT_THROW(store_.read_trace(run, key, "no"), Error);
  EXPECT_THROW(store_.add_trace(run, "no such case", "wide", "x"), Error);
  EXPECT_THROW(store_.traces(9, key), Error);
}

TEST_F(HistoryTest, ABackUpIsAWholeDatabase) {
  const auto run = add_run();
  store_.back_up();
  add_run();
  store_.back_up();  // in place of the older one
  const Store copy = Store::open((folder_ / "r.db").string() + ".bak", OpenMode::kReadOnly);
  EXPECT_EQ(copy.runs().size(), 2u);
  EXPECT_EQ(test::describe(copy.cases(run)[0]), test::describe(passed_case()));
}

TEST_F(HistoryTest, ReadingOnlyRefusesChanges) {
  const auto run = add_run();
  Store reader = Store::open(folder_ / "r.db", OpenMode::kReadOnly);
  EXPECT_THROW(reader.set_pinned(run, true), Error);
  EXPECT_THROW(reader.delete_run(run), Error);
  EXPECT_THROW(reader.add_note(run, "x"), Error);
  EXPECT_EQ(reader.runs().size(), 1u);
}

}  // namespace
}  // namespace wide::results
