// Captures in the database: kept, listed, explained again, exported, compared, deleted; never taken for a
// measurement.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/cli_fixture.h"
#include "app/stored_captures.h"
#include "profiler/trace/chrome_export.h"
#include "profiler/trace/chrome_import.h"
#include "profiler/trace/sample_traces.h"
#include "results/store.h"

namespace wide::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class KeptCaptures : public CliFixture {
 protected:
  Ran run(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--db", path("r.db")});
    return run_words(arguments);
  }
  json document(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    const auto ran = run(std::move(arguments));
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.code == 0 ? json::parse(ran.out) : json();
  }
  std::int64_t keep(std::vector<std::string> more = {}) const {
    std::vector<std::string> words = {"profile", "mlp", "-n", "8"};
    words.insert(words.end(), more.begin(), more.end());
    return document(std::move(words)).at("run").get<std::int64_t>();
  }
  void sweep() const {
    std::ofstream(path("p.json")) << json{
        {"schema_version", 1},
        {"name", "mine"},
        {"timeout_seconds", 20},
        {"cases", {{{"subject", "mlp"}, {"kind", "zoo"}, {"shape", {{"batch", 3}}}, {"n", {2}}}}}};
    ASSERT_EQ(run({"--preset", path("p.json")}).code, 0);
  }
};

TEST_F(KeptCaptures, AreARunOfTheirOwnWithoutATime) {
  ASSERT_EQ(keep({"--rivals", "eager,threads", "--label", "before"}), 1);
  const auto store = results::Store::open(path("r.db"), results::OpenMode::kReadOnly);
  const auto run = store.run(1);
  EXPECT_EQ(run.preset, "profile");
  EXPECT_EQ(run.label, "before");
  EXPECT_EQ(run.status, results::RunStatus::kDone);
  const auto cases = store.cases(1);
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].key, "mlp/n=8/-/float32/cpu/eager/auto");
  EXPECT_EQ(cases[0].verdict, results::Verdict::kSkipped);
  EXPECT_TRUE(cases[0].samples.empty());
  EXPECT_FALSE(cases[0].speedup.known());
  EXPECT_TRUE(std::isnan(cases[0].wide.median_us));
  const auto traces = store.traces(1, cases[0].key);
  ASSERT_EQ(traces.size(), 3u);
  EXPECT_EQ(traces[0].name, "eager");
  EXPECT_EQ(traces[1].name, "threads");
  EXPECT_EQ(traces[2].name, "wide");
  EXPECT_EQ(store.read_trace(1, cases[0].key, "wide").substr(0, 2), "\x1f\x8b");  // gzip
}

TEST_F(KeptCaptures, AreListedWithTheirRun) {
  keep();
  const auto shown = run({"runs", "show", "1"});
  EXPECT_THAT(shown.out, AllOf(HasSubstr("capture of wide running mlp/n=8"), HasSubstr("capture of eager"),
                               HasSubstr("profile --from 1"), HasSubstr("captured, not measured")));
  const auto report = document({"runs", "show", "1"});
  EXPECT_EQ(report.at("cases").at(0).at("captures"), json({"eager", "wide"}));
}

TEST_F(KeptCaptures, AreExplainedAgainToTheSameNumbers) {
  const auto first = document({"profile", "mlp", "-n", "8", "--roofline"});
  auto again = document({"profile", "--from", "1", "--roofline"});
  again["run"] = 1;
  EXPECT_EQ(again, first);
  EXPECT_EQ(document({"profile", "--from", "latest/mlp"}).at("subject"), "mlp");
  const auto text = run({"profile", "--from", "1", "--svg", path("r.svg"), "--trace", path("t.json.gz")});
  EXPECT_THAT(text.out, AllOf(HasSubstr("why wide is faster than eager"), Not(HasSubstr("kept as"))));
  EXPECT_EQ(profiler::read_chrome_file(path("t.json.gz")).size(), 2u);
  EXPECT_GT(std::filesystem::file_size(path("r.svg")), 100u);
  // A trace file can be explained in the same way.
  EXPECT_EQ(document({"profile", "--from", path("t.json.gz")}).at("comparisons"), first.at("comparisons"));
}

TEST_F(KeptCaptures, SayWhatHoldsTheSpeedUpBack) {
  const auto limits = document({"profile", "mlp", "-n", "8", "--limits"}).at("limits");
  ASSERT_EQ(limits.at("nodes").size(), 2u);
  EXPECT_NEAR(limits.at("speedup").get<double>(), 2, 1e-9);
  EXPECT_EQ(document({"profile", "--from", "1", "--limits"}).at("limits"), limits);
  EXPECT_THAT(
      run({"profile", "--from", "1", "--limits"}).out,
      AllOf(HasSubstr("what holds the speed-up back (2.00x over eager"), HasSubstr("best known action")));
  EXPECT_EQ(run({"runs", "export", "1", "-o", path("r.html")}).code, 0);
  std::ifstream file(path("r.html"));
  const std::string report{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(report,
              AllOf(HasSubstr("What holds the speed-up back: "), HasSubstr("%0 aten.linear.default")));
}

TEST_F(KeptCaptures, AreComparedWithEachOther) {
  keep();
  keep({"--rivals", "none"});
  const auto compared = document({"profile", "--from", "latest", "--against", "latest~1"});
  ASSERT_EQ(compared.at("captures").size(), 2u);
  EXPECT_EQ(compared["captures"][1]["contender"], "run 1");
  for (const auto& row : compared.at("difference")) EXPECT_EQ(row.at("change"), "same");
  EXPECT_THAT(run({"profile", "--from", "2", "--against", "1"}).out, HasSubstr("from run 1 to wide"));
}

TEST_F(KeptCaptures, AreExportedAsTheyWereCaptured) {
  keep();
  const auto ran = run({"runs", "export", "1", "-o", path("all.json.gz")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("2 captures of mlp/n=8"));
  const auto store = results::Store::open(path("r.db"), results::OpenMode::kReadOnly);
  const auto kept = app::read_captures(store, app::captured_cases(store, 1).at(0));
  const auto written = profiler::read_chrome_file(path("all.json.gz"));
  ASSERT_EQ(kept.size(), 2u);
  EXPECT_EQ(kept[0].contender, "wide");
  EXPECT_EQ(profiler::chrome_json(std::array<const profiler::Trace*, 2>{&kept[0], &kept[1]}),
            profiler::chrome_json(std::array<const profiler::Trace*, 2>{&written[0], &written[1]}));
  EXPECT_NO_THROW(json::parse(run({"runs", "export", "latest", "--format", "trace", "-o", "-"}).out));
}

// A report names them and does not hold them; what it is imported into has none.
TEST_F(KeptCaptures, AreNotInAReportWhichSaysSo) {
  keep();
  const auto ran = run({"runs", "export", "1", "-o", path("r.json")});
  EXPECT_THAT(ran.out, HasSubstr("its captures are not in a report"));
  std::ifstream file(path("r.json"));
  EXPECT_EQ(json::parse(file).at("cases").at(0).at("captures"), json({"eager", "wide"}));
  std::ostringstream out, err;
  Context context{.engine = test::fake_engine(), .out = out, .err = err};
  ASSERT_EQ(
      cli::run({"runs", "import", path("r.json"), "--db", path("other.db")}, context, test::fake_commands()),
      0)
      << err.str();
  const auto other = results::Store::open(path("other.db"), results::OpenMode::kReadOnly);
  EXPECT_EQ(other.cases(1).size(), 1u);
  EXPECT_TRUE(app::captured_cases(other, 1).empty());
}

TEST_F(KeptCaptures, AreInTheBackup) {
  keep();
  const auto store = results::Store::open(path("r.db"), results::OpenMode::kReadOnly);
  store.back_up();
  const auto copy = results::Store::open(path("r.db") + ".bak", results::OpenMode::kReadOnly);
  const auto key = app::captured_cases(store, 1).at(0).key;
  for (const auto* name : {"wide", "eager"})
    EXPECT_EQ(copy.read_trace(1, key, name), store.read_trace(1, key, name));
}

TEST_F(KeptCaptures, AreNoMeasurement) {
  sweep();
  keep();
  // The latest run is the one that measured.
  EXPECT_EQ(document({"runs", "show", "latest"}).at("run").at("preset"), "mine");
  EXPECT_NE(run({"runs", "show", "latest~1"}).code, 0);
  const auto store = results::Store::open(path("r.db"), results::OpenMode::kReadOnly);
  const auto points = store.trend("mlp");
  ASSERT_EQ(points.size(), 1u);
  EXPECT_EQ(points[0].run, 1);
  const auto again = run({"reproduce", "2"});
  EXPECT_EQ(again.code, 2);
  EXPECT_THAT(again.err, HasSubstr("does not say how its cases were measured"));
  EXPECT_THAT(run({"profile", "--from", "1"}).err, HasSubstr("run 1 has no captures"));
}

// As torch.profiler writes them: kernels, and no graph that they could belong to.
TEST_F(KeptCaptures, ATraceWithoutNodesIsExplainedWithoutThem) {
  auto trace = test::eager_trace();
  trace.nodes.clear(), trace.subject.clear(), trace.contender = "k";
  profiler::write_chrome_file(path("k.json"), std::array<const profiler::Trace*, 1>{&trace});
  const auto ran = run({"profile", "--from", path("k.json")});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("k, N = 2\n"), HasSubstr("kernels of k"), Not(HasSubstr("executor"))));
}

TEST_F(KeptCaptures, GoWithTheirRun) {
  keep();
  keep();
  ASSERT_EQ(run({"runs", "delete", "1"}).code, 0);
  EXPECT_EQ(run({"profile", "--from", "1"}).code, 2);
  ASSERT_EQ(run({"runs", "prune", "--keep", "0"}).code, 0);
  const auto ran = run({"profile", "--from", "latest"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("holds 0 runs with captures"));
}

TEST_F(KeptCaptures, FaultsAreOneLineAndCode2) {
  keep();
  std::ofstream(path("no.db")) << "not a database, long enough to be looked at by whoever opens it";
  struct Case {
    std::vector<std::string> arguments;
    std::string said;
  };
  const std::vector<Case> cases = {
      {{"profile", "--from", "1/minigpt"}, "captured no case 'minigpt'"},
      {{"profile", "--from", "7"}, "there is no run 7"},
      {{"profile", "--from", "1", "mlp"}, "one of them and not both"},
      {{"profile", "--from", "1", "--keep"}, "--from captures nothing"},
      {{"profile", "--from", "1", "--measure-peaks"}, "--from captures nothing"},
      {{"profile", "mlp", "--against", "9"}, "there is no run 9"},
      {{"runs", "export", "1/minigpt", "--format", "trace", "-o", path("t.json")}, "captured no case"},
  };
  for (const auto& [arguments, said] : cases) {
    const auto ran = run(arguments);
    EXPECT_EQ(ran.code, 2) << said;
    EXPECT_THAT(ran.err, HasSubstr(said));
  }
  std::ostringstream out, err;
  Context context{.engine = test::fake_engine(), .out = out, .err = err};
  EXPECT_EQ(cli::run({"profile", "mlp", "--db", path("no.db")}, context, test::fake_commands()), 2);
  EXPECT_THAT(out.str(), Not(HasSubstr("why wide")));  // found before anything was captured
}

}  // namespace
}  // namespace wide::cli
