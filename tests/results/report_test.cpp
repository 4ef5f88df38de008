#include "results/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstring>
#include <fstream>
#include <limits>

#include "formats/error.h"
#include "profiler/random.h"
#include "tests/results/sample_records.h"

namespace wide::results {
namespace {

using nlohmann::json;
using test::bytes_of;
using test::describe;
using test::failed_case;
using test::passed_case;
using test::sample_run;
using test::TemporaryFolder;
using testing::HasSubstr;

std::string import_error(const json& document) {
  try {
    from_report(document.dump());
  } catch (const Error& error) {
    EXPECT_EQ(error.stage(), "import");
    return error.what();
  }
  return "";
}

TEST(ReportTest, ComesBackAsItWas) {
  const std::vector<CaseRecord> cases = {passed_case(), failed_case(), failed_case("oom", Verdict::kOom)};
  const json document = report(sample_run(), cases);
  const Imported imported = from_report(document.dump());
  EXPECT_EQ(describe(imported.run), describe(sample_run()));
  ASSERT_EQ(imported.cases.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(describe(imported.cases[i]), describe(cases[i]));
  EXPECT_EQ(report(imported.run, imported.cases).dump(), document.dump());
}

TEST(ReportTest, ItsTextIsThatOfTheDocument) {
  std::vector<CaseRecord> cases;
  for (const auto& next : {passed_case(), failed_case(), passed_case("third")}) {
    EXPECT_EQ(report_text(sample_run(), cases), report(sample_run(), cases).dump());
    json document = report(sample_run(), cases);
    const json more = {{"summary", {{"geometric_mean", 2}}}};
    document.update(more);
    EXPECT_EQ(report_text(sample_run(), cases, more), document.dump());
    cases.push_back(next);
  }
  RunRecord run = sample_run();
  run.label = "bad \xFF bytes";
  EXPECT_NO_THROW(from_report(report_text(run, cases)));
}

TEST(ReportTest, HasTheFieldsThatScriptsLeanOn) {
  const json document = report(sample_run(), {passed_case(), failed_case()}, Samples::kLeaveOut);
  for (const char* field : {"schema_version", "tool", "machine", "settings", "cases"}) {
    EXPECT_TRUE(document.contains(field)) << field;
  }
  const json& passed = document["cases"][0];
  for (const char* field :
       {"subject", "kind", "n", "device", "dtype", "mode", "strategy", "wide", "rivals", "speedup",
        "speedup_best_rival", "best_rival", "max_abs_err", "verdict", "reason"}) {
    EXPECT_TRUE(passed.contains(field)) << field;
  }
  EXPECT_EQ(passed["wide"]["ci95_us"].size(), 2u);
  EXPECT_EQ(passed["rivals"]["eager"]["median_us"], 410.2);
  EXPECT_EQ(passed["speedup"], passed_case().speedup.value);
  EXPECT_FALSE(passed.contains("samples"));
  EXPECT_TRUE(document["cases"][1]["speedup"].is_null());
}

/// A double of any bit pattern, but finite and not negative (or unknown).
double any_double(profiler::Random& random) {
  for (;;) {
    const std::uint64_t bits = random.next() & 0x7FFFFFFFFFFFFFFFULL;
    double value = 0;
    std::memcpy(&value, &bits, sizeof value);
    if (random.below(20) == 0) return kUnknown;
    if (random.below(20) == 0) return std::numeric_limits<double>::denorm_min() * random.below(1000);
    if (value - value == 0) return value;
  }
}

TEST(ReportTest, RandomNumbersSurviveTwoTrips) {
  profiler::Random random(1);
  for (int trial = 0; trial < 500; ++trial) {
    CaseRecord record = passed_case("case " + std::to_string(trial));
    record.wide.median_us = record.wide.ci95.value = any_double(random);
    record.noise_floor = {any_double(random), any_double(random), any_double(random)};
    record.checks[0].max_rel_err = any_double(random);
    record.checks[0].tolerance = -0.0;
    record.compile_us = any_double(random);
    record.seconds = any_double(random);
    record.seed = random.next();
    for (auto& sample : record.samples) sample.microseconds = any_double(random);
    const std::string text = case_json(record).dump();
    const CaseRecord back = case_from_json(json::parse(text));
    ASSERT_EQ(describe(back), describe(record));
    ASSERT_EQ(case_json(back).dump(), text);
  }
}

TEST(ReportTest, WhatIsNotFiniteBecomesNull) {
  CaseRecord record = failed_case();
  record.wide.median_us = std::numeric_limits<double>::infinity();
  record.checks[0].max_abs_err = -std::numeric_limits<double>::infinity();
  record.plan = {{"cost", kUnknown}};
  const std::string text = case_json(record).dump();
  EXPECT_EQ(text.find("inf"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_NE(text.find(R"("cost":null)"), std::string::npos);
}

TEST(ReportTest, RefusesWhatIsNoReportAndSaysWhere) {
  const json good = report(sample_run(), {passed_case(), failed_case()});
  const auto broken = [&](auto damage) {
    json copy = good;
    damage(copy);
    return import_error(copy);
  };
  EXPECT_EQ(import_error(good), "");
  EXPECT_NE(import_error(json::array()).find("object"), std::string::npos);
  EXPECT_NE(broken([](json& r) { r["schema_version"] = 9; }).find("schema_version: it is 9"),
            std::string::npos);
  EXPECT_NE(broken([](json& r) { r["cases"][1]["n"] = "4"; }).find("cases[1].n: a whole number"),
            std::string::npos);
  EXPECT_NE(broken([](json& r) { r["cases"][0]["n"] = 1e30; }).find("cases[0].n"), std::string::npos);
  EXPECT_NE(broken([](json& r) { r["cases"][0]["rounds"] = 1LL << 40; }).find("cases[0].rounds"),
            std::string::npos);
  EXPECT_NE(broken([](json& r) { r["cases"][0].erase("key"); }).find("'key' is missing"), std::string::npos);
  EXPECT_NE(broken([](json& r) { r["cases"][0]["verdict"] = "great"; }).find("no such verdict"),
            std::string::npos);
  EXPECT_NE(broken([](json& r) { r["cases"][0]["rivals"]["eager"] = 3; }).find("rivals.eager"),
            std::string::npos);
  EXPECT_NE(broken([](json& r) { r["cases"][0]["samples"]["round"].erase(0); }).find("differ in length"),
            std::string::npos);
  EXPECT_NE(broken([](json& r) { r["cases"][0]["wide"]["ci95_us"] = {1}; }).find("two limits"),
            std::string::npos);
  EXPECT_NE(broken([](json& r) { r["machine"]["cpu"] = 5; }).find("machine"), std::string::npos);
  EXPECT_NE(broken([](json& r) { r["cases"][1]["key"] = r["cases"][0]["key"]; }).find("same key"),
            std::string::npos);
  EXPECT_NE(broken([](json& r) { r["cases"][1]["speedup"] = 2; }).find("carries a speed-up"),
            std::string::npos);
  EXPECT_NE(
      broken([](json& r) { r["cases"][1]["rivals"]["eager"]["speedup"] = 2; }).find("carries a speed-up"),
      std::string::npos);
  for (const char* no_moment :
       {"2025-02-30T05:06:07Z", "2025-03-04 05:06:07", "yesterday", "9999999-03-04T05:06:07Z"}) {
    EXPECT_NE(broken([&](json& r) { r["run"]["started"] = no_moment; }).find("run.started: a moment"),
              std::string::npos);
    EXPECT_NE(
        broken([&](json& r) { r["cases"][0]["started"] = no_moment; }).find("cases[0]: it started at no"),
        std::string::npos);
  }
}

TEST(ReportTest, SamplesThatSayOtherThanTheSummaryAreRefused) {
  const json good = report(sample_run(), {passed_case()});
  const auto broken = [&](auto change) {
    json copy = good;
    change(copy["cases"][0]);
    return import_error(copy);
  };
  const auto doubled = [](json& record, int contender) {
    auto& samples = record["samples"];
    for (std::size_t i = 0; i < samples["microseconds"].size(); ++i) {
      if (samples["contender"][i] == contender)
        samples["microseconds"][i] = 2 * samples["microseconds"][i].get<double>();
    }
  };
  EXPECT_EQ(broken([](json&) {}), "");
  EXPECT_THAT(broken([&](json& r) { doubled(r, 0); }),
              HasSubstr("cases[0]: its samples of wide have another median"));
  EXPECT_THAT(broken([&](json& r) { doubled(r, 2); }), HasSubstr("its samples of eager have another median"));
  EXPECT_THAT(broken([](json& r) { r["rivals"]["eager"]["speedup"] = 3; }),
              HasSubstr("another speed-up over eager"));
  EXPECT_THAT(broken([](json& r) {
                r["samples"]["round"] = json::array({0, 0, 0, 0, 0, 0, 0, 0});
              }),
              HasSubstr("two samples of one round"));
  json old = good;
  old["tool"]["statistics_version"] = 1;
  doubled(old["cases"][0], 0);
  EXPECT_EQ(import_error(old), "") << "another version may have made another summary";
}

TEST(ReportTest, EveryDamagedFieldIsRefusedOrHarmless) {
  const json good = report(sample_run(), {passed_case(), failed_case()});
  const json flat = good.flatten();
  const std::vector<json> values = {
      nullptr, true, -1, 1e308, "text", json::array(), json::object(), json::array({1, 2})};
  int refused = 0;
  for (const auto& [pointer, unused] : flat.items()) {
    for (const json& value : values) {
      json copy = good;
      copy[json::json_pointer(pointer)] = value;
      refused += !import_error(copy).empty();
    }
  }
  EXPECT_GT(refused, 200);
}

TEST(ReportTest, TakesTheShortFormOfACase) {
  const json document = {{"schema_version", 1},
                         {"tool", {{"name", "peers"}}},
                         {"machine", json::object()},
                         {"settings", json::object()},
                         {"cases",
                          {{{"key", "a"},
                            {"subject", "mlp"},
                            {"n", 4},
                            {"verdict", "pass"},
                            {"max_abs_err", 1e-6},
                            {"rivals", {{"vmap", {{"median_us", 12.5}}}}}}}}};
  const auto imported = from_report(document.dump());
  ASSERT_EQ(imported.cases.size(), 1u);
  EXPECT_EQ(max_abs_err(imported.cases[0]), 1e-6);
  EXPECT_EQ(imported.cases[0].rivals.at(0).time.median_us, 12.5);
}

TEST(ReportTest, HostileNamesArriveWhole) {
  CaseRecord record = passed_case("'; DROP TABLE runs;--");
  record.subject = std::string("\x1b[31m\0\xE2\x80\xAE", 9);
  record.reason = "</script><img onerror=…>";
  record.rivals[0].name = "../../x";
  record.strategy = std::string(1 << 20, 'x');
  const auto back = case_from_json(json::parse(case_json(record).dump()));
  EXPECT_EQ(describe(back), describe(record));
  record.subject = "bad \xFF bytes";
  EXPECT_EQ(case_from_json(json::parse(case_json(record).dump())).subject, "bad \xEF\xBF\xBD bytes");
}

TEST(ReportTest, TwoRivalsOfOneNameAreNotLost) {
  CaseRecord record = passed_case();
  record.rivals[1].name = record.rivals[0].name;
  EXPECT_THROW(case_json(record), Error);
}

TEST(ReportTest, IsTheSameInEveryLocale) {
  const std::string before = report(sample_run(), {passed_case()}).dump();
  const char* comma = nullptr;
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE.utf8"}) {
    if (comma == nullptr) comma = std::setlocale(LC_ALL, locale);
  }
  if (comma == nullptr) GTEST_SKIP() << "no locale with a decimal comma is installed";
  const std::string after = report(sample_run(), {passed_case()}).dump();
  const auto back = from_report(after);
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(after, before);
  EXPECT_EQ(describe(back.cases[0]), describe(passed_case()));
}

TEST(ReportFileTest, IsWrittenWholeAndReadBack) {
  const TemporaryFolder folder;
  const auto path = folder / "r.json";
  write_report(path, report(sample_run(), {failed_case()}));
  write_report(path, report(sample_run(), {passed_case()}));
  EXPECT_EQ(describe(read_report(path).cases.at(0)), describe(passed_case()));
  EXPECT_EQ(bytes_of(path).back(), '\n');
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(ReportFileTest, AFullDiskLeavesTheOldReport) {
  const TemporaryFolder folder;
  const auto path = folder / "r.json";
  write_report(path, {{"old", true}});
  const std::string old = bytes_of(path);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      write_report(path, report(sample_run(), {passed_case()}));
    } catch (const Error& error) {
      ::_exit(std::string(error.what()).find(path.string()) == std::string::npos ? 2 : 3);
    }
    ::_exit(4);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_EQ(bytes_of(path), old);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(ReportFileTest, RefusesFilesThatAreNoReport) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text) {
    std::ofstream(folder / "bad.json", std::ios::binary) << text;
    try {
      read_report(folder / "bad.json");
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("bad.json"), std::string::npos);
      return true;
    }
    return false;
  };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("no json"));
  EXPECT_TRUE(refused("{\"schema_version\":1"));
  EXPECT_TRUE(refused("{\"schema_version\":NaN}"));
  EXPECT_TRUE(refused(std::string(1'000'000, '[')));
  EXPECT_TRUE(refused(std::string(100'000, '[') + std::string(100'000, ']')));
  EXPECT_TRUE(refused("\"\xFF\""));
  EXPECT_THROW(read_report(folder / "missing.json"), Error);
  EXPECT_THROW(read_report(folder.path()), Error);
  EXPECT_THROW(write_report(folder.path(), json::object()), Error);
  EXPECT_THROW(write_report(folder / "no/such/folder.json", json::object()), Error);
}

TEST(ReportFileTest, WritesToAPipe) {
  const TemporaryFolder folder;
  write_report("/dev/null", report(sample_run(), {}));
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

}  // namespace
}  // namespace wide::results
