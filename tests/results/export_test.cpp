// Every format of a run, with names that try to break out of each.
#include "results/export.h"

#include <gtest/gtest.h>

#include <sstream>

#include "formats/error.h"
#include "results/compare.h"
#include "results/escape.h"
#include "results/plot.h"
#include "results/store.h"
#include "results/table.h"
#include "results/text.h"
#include "tests/results/sample_records.h"
#include "tests/results/simulated_runs.h"

namespace wide::results {
namespace {

using test::describe;
using test::failed_case;
using test::has;
using test::passed_case;
using test::sample_run;
using test::TemporaryFolder;

std::vector<CaseRecord> some_cases() {
  std::vector<CaseRecord> cases;
  for (const int n : {2, 4, 8}) {
    cases.push_back(passed_case("mlp/n=" + std::to_string(n)));
    cases.back().n = n;
  }
  cases.push_back(failed_case("mlp/n=16"));
  cases.push_back(failed_case("mlp/n=32", Verdict::kOom));
  cases.push_back(failed_case("mlp/n=64", Verdict::kSkipped));
  return cases;
}

std::vector<Trend> some_history() {
  std::vector<TrendPoint> points;
  for (int i = 0; i < 12; ++i) {
    TrendPoint point;
    point.run = i + 1;
    point.started = "2025-03-0" + std::to_string(i % 9 + 1);
    point.machine_key = "0123456789abcdef";
    point.key = "mlp/n=4";
    point.strategy = i % 2 == 0 ? "auto" : "loop";
    point.n = 4;
    point.verdict = Verdict::kPass;
    const double value = (i < 6 ? 2.0 : 3.0) + 0.01 * (i % 3);
    point.speedup = {value, value * 0.98, value * 1.02};
    point.wide_us = 10;
    points.push_back(point);
  }
  return {trend("mlp", points)};
}

TEST(ExportTest, Csv) {
  const auto text = to_csv(sample_run(), some_cases());
  EXPECT_EQ(text.find("run,started,key,subject"), 0u);
  EXPECT_TRUE(has(text, ",wide,123.45678901234568,"));
  EXPECT_TRUE(has(text, ",eager,410.2,"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1 + 3 * 3 + 3 * 2);
  EXPECT_EQ(csv_field("=HYPERLINK(1)"), "'=HYPERLINK(1)");
  EXPECT_EQ(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(csv_field("@x"), "'@x");
}

TEST(ExportTest, JUnit) {
  const auto text = to_junit(sample_run(), some_cases());
  EXPECT_TRUE(has(text, R"(tests="6" failures="1" errors="1" skipped="1")"));
  EXPECT_TRUE(has(text, "<failure message=\"member 3 differs"));
  EXPECT_TRUE(has(text, R"(<testcase classname="mlp" name="mlp/n=2" time="1.750000"/>)"));
}

TEST(ExportTest, BenchmarkActionsOfOthers) {
  const auto github = to_github_benchmark(some_cases());
  ASSERT_EQ(github.size(), 3u);
  EXPECT_EQ(github[0].at("unit"), "us");
  EXPECT_DOUBLE_EQ(github[0].at("value").get<double>(), 123.456789012345678);
  const auto bencher = to_bencher(some_cases());
  EXPECT_NEAR(bencher.at("mlp/n=4").at("latency").at("value").get<double>(), 123456.789, 1e-3);
  EXPECT_EQ(bencher.at("mlp/n=4").at("speedup").at("value"), some_cases()[0].speedup.value);
  EXPECT_EQ(bencher.size(), 3u);
}

TEST(ExportTest, MarkdownTellsCasesApart) {
  auto other = passed_case(), larger = passed_case();
  other.dtype = "bfloat16";
  larger.shape = {{"batch", 999}};
  const auto text = exported("markdown", sample_run(), {passed_case(), other, larger}, {});
  EXPECT_TRUE(has(text, "bfloat16") && has(text, "999"));
}

TEST(ExportTest, HtmlStandsAlone) {
  const auto text = to_html(sample_run(), some_cases(), some_history());
  for (const char* part :
       {"Speed-up over N", "Distribution of rounds", "History", "Reproduce", "widebench reproduce",
        "OMP_NUM_THREADS=2", "default-src 'none'", "stroke-dasharray=\"4 3\""}) {
    EXPECT_TRUE(has(text, part)) << part;
  }
  for (const char* part : {"<script", "http://", "https://", " src=", "@import", "url(", "nan", "inf\""}) {
    std::string rest = text;
    for (auto at = rest.find("http://www.w3.org/2000/svg"); at != std::string::npos;
         at = rest.find("http://www.w3.org/2000/svg"))
      rest.erase(at, 26);
    EXPECT_FALSE(has(rest, part)) << part;
  }
}

TEST(ExportTest, PlotsOfNothingAreEmptyAndOfOneNAreNot) {
  const std::vector<CaseRecord> failed = {failed_case()};
  EXPECT_EQ(speedup_plot(group_by_n(failed)[0]), "");
  EXPECT_EQ(rounds_plot(group_by_n(failed)[0]), "");
  const std::vector<CaseRecord> one = {passed_case()};
  EXPECT_TRUE(has(speedup_plot(group_by_n(one)[0]), "<svg"));
  EXPECT_EQ(group_by_n(some_cases()).size(), 2u);  // the failed ones have no shape
  EXPECT_TRUE(has(to_svg({}), "</svg>"));
}

TEST(ExportTest, UnknownFormatsAreRefused) {
  EXPECT_THROW(exported("xls", sample_run(), {}, {}), Error);
  for (const auto& format : export_formats()) EXPECT_FALSE(exported(format, {}, {}, {}).empty()) << format;
}

const std::vector<std::string>& hostile_names() {
  static const std::vector<std::string> kNames = {"'; DROP TABLE run;--",
                                                  "</script><img src=x onerror=alert(1)>",
                                                  "../../x",
                                                  "/etc/passwd",
                                                  "$(touch x)",
                                                  "`x`",
                                                  "@file",
                                                  "-o",
                                                  "--json",
                                                  "%n%s%p",
                                                  "\x1b[31mred\x1b]0;t\x07",
                                                  "\xE2\x80\xAE"
                                                  "abc",
                                                  "\xff\xfe",
                                                  "\xC0\x80",
                                                  std::string("a\0b", 3),
                                                  "",
                                                  " ",
                                                  "con",
                                                  "=HYPERLINK(\"http://x\")",
                                                  "+1",
                                                  "-1",
                                                  "*/",
                                                  "//",
                                                  "\\\n",
                                                  "]]>",
                                                  "<!--",
                                                  "-->",
                                                  "&amp;&#x0;",
                                                  "\"onload=\"x",
                                                  "a\r\nb\nc",
                                                  "|x|",
                                                  "[l](javascript:1)",
                                                  "![i](x)",
                                                  "# h",
                                                  "\xE2\x80\xA8",
                                                  "\xEF\xBB\xBF",
                                                  "\xF3\xA0\x80\x81",
                                                  "{{7*7}}",
                                                  "${x}",
                                                  std::string(1 << 20, 'A'),
                                                  std::string(1 << 20, '<')};
  return kNames;
}

/// A run in which every text that a stranger chooses is `name`. Megabytes stand in few fields only: a hundred
/// of them, escaped, would take the time of all other tests.
Imported hostile_run(const std::string& name) {
  Imported run{sample_run(), {passed_case(), passed_case(), failed_case("other")}};
  if (name.size() > 1000) {
    run.run.label = run.run.machine.extra[name] = name;
    run.run.notes = {{name, name}};
    run.cases[0].subject = run.cases[0].key = run.cases[2].reason = name;
    run.cases[0].checks[0].what = run.cases[0].rivals[0].name = run.cases[0].best_rival = name;
    return run;
  }
  run.cases[1].key += "2";
  for (std::string* text :
       {&run.run.command_line, &run.run.preset, &run.run.tool_version, &run.run.git_commit, &run.run.device,
        &run.run.label, &run.run.machine.cpu, &run.run.machine.os}) {
    *text = name;
  }
  run.run.machine.extra[name] = name;
  run.run.environment[name] = name;
  run.run.tags = {name};
  run.run.notes = {{name, name}};
  run.run.settings = {{"cases", {{{"subject", "x"}, {"seed", 3}}}}, {"name", valid_utf8(name)}};
  for (CaseRecord& record : run.cases) {
    record.key += name;
    for (std::string* text : {&record.subject, &record.kind, &record.device, &record.dtype, &record.mode,
                              &record.strategy, &record.stop_reason, &record.model_hash}) {
      *text = name;
    }
    record.shape = {{valid_utf8(name), 3}};
    for (Check& check : record.checks) check.what = check.member = check.text = name;
    record.rivals.resize(1);
    record.rivals[0].name = "r" + name;
    if (record.verdict == Verdict::kPass) record.best_rival = record.rivals[0].name;
  }
  run.cases[2].reason = name;
  return run;
}

/// What no output may hold, whatever the names.
void expect_harmless(const std::string& format, const std::string& text) {
  for (const char* part : {"\x1b", "\x07", "\xE2\x80\xAE", "\xff", "\xC0\x80", "\xF3\xA0\x80\x81"})
    ASSERT_FALSE(has(text, part)) << format;
  ASSERT_EQ(text.find('\0'), std::string::npos) << format;
  if (format == "html" || format == "svg" || format == "junit") {
    for (const char* part : {"<script", "<img", "<!--", "]]>", "\"onload", "&amp;amp;&amp;#x0;x"})
      ASSERT_FALSE(has(text, part)) << format;
    ASSERT_EQ(std::count(text.begin(), text.end(), '<'), std::count(text.begin(), text.end(), '>')) << format;
  }
  if (format == "markdown") {
    for (const char* part : {"<img", "<script", "](", "|x|", "@file", "\n# h"})
      ASSERT_FALSE(has(text, part)) << part;
  }
  if (format == "csv") {
    for (const char* part : {",=", ",+", ",@", ",-", ",\"="}) ASSERT_FALSE(has(text, part)) << part;
  }
}

TEST(HostileNames, ReachNoFormatAsMarkup) {
  for (const auto& name : hostile_names()) {
    const Imported run = hostile_run(name);
    std::vector<TrendPoint> points;
    for (int i = 0; i < 3; ++i) {
      TrendPoint point{
          .run = i, .started = name, .git_commit = name, .machine_key = "m", .key = name, .n = 2};
      point.strategy = name + std::to_string(i);
      point.speedup = {2, 1, 3};
      points.push_back(point);
    }
    const std::vector<Trend> history = {trend(name, points)};
    for (const auto& format : export_formats()) {
      if (format == "json") continue;  // escapes of its own; below
      ASSERT_NO_FATAL_FAILURE(expect_harmless(format, exported(format, run.run, run.cases, history)))
          << printable(name);
    }
    ASSERT_NO_FATAL_FAILURE(expect_harmless("text", text(history[0])));
    const auto seen = compare({name, {run}}, {name, {run}});
    ASSERT_NO_FATAL_FAILURE(expect_harmless("text", text(seen, true)));
    ASSERT_NO_FATAL_FAILURE(expect_harmless("markdown", markdown(seen, true)));
  }
}

TEST(HostileNames, AreKeptByTheDatabaseAndTheReport) {
  const TemporaryFolder folder;
  Store store = Store::open(folder / "r.db", OpenMode::kReadWrite);
  int number = 0;
  for (const auto& name : hostile_names()) {
    Imported run = hostile_run(name);
    run.run.uid = "run " + std::to_string(++number);
    run.run.started = utc_now();  // a report with any other text is refused
    for (auto& note : run.run.notes) note.created = utc_now();
    const auto id = store.import_run(run.run, run.cases);
    const auto cases = store.cases(id);
    ASSERT_EQ(cases.size(), 3u);
    EXPECT_EQ(cases[0].subject, valid_utf8(name));
    const auto document = report(store.run(id), cases);
    const Imported back = from_report(document.dump());
    ASSERT_EQ(report(back.run, back.cases).dump(), document.dump());
    ASSERT_EQ(describe(back.cases[0]), describe(cases[0]));
    EXPECT_FALSE(has(script_json(document), "<"));
  }
  EXPECT_EQ(store.runs().size(), hostile_names().size());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 3);  // r.db, -wal, -shm
}

TEST(TrendTest, FindsOneChangeAndNoneInNoise) {
  profiler::Random random(4);
  int false_changes = 0, more_than_one = 0;
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> values;
    for (int i = 0; i < 40; ++i) values.push_back(0.03 * test::normal(random));
    false_changes += !change_points(values).empty();
    for (int i = 20; i < 40; ++i) values[static_cast<std::size_t>(i)] += 0.2;
    const auto found = change_points(values);
    EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](std::size_t at) { return at >= 19 && at <= 21; }));
    more_than_one += found.size() > 1;
  }
  EXPECT_LE(false_changes, 4);  // 1 % is promised for a series: 2 are expected
  EXPECT_LE(more_than_one, 4);
  EXPECT_TRUE(change_points({}).empty());
  EXPECT_TRUE(change_points({1, 2, 3}).empty());
  EXPECT_EQ(change_points({0, 0, 0, 1, 1, 1}), std::vector<std::size_t>{3});
}

TEST(TrendTest, NamesTheBestStrategyByN) {
  const auto seen = some_history()[0];
  ASSERT_EQ(seen.series.size(), 1u);
  EXPECT_EQ(seen.series[0].changes, std::vector<std::size_t>{6});
  ASSERT_EQ(seen.winners.size(), 1u);
  EXPECT_EQ(seen.winners[0].strategy, "loop");
  EXPECT_EQ(seen.winners[0].runner_up, "auto");
  EXPECT_TRUE(has(text(seen), "<- change point"));
  std::ostringstream written;
  write_json(written, seen);
  const auto document = nlohmann::json::parse(written.str());
  EXPECT_EQ(document.at("series")[0].at("change_points")[0], 6);
}

}  // namespace
}  // namespace wide::results
