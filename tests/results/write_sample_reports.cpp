// Writes FOLDER/good/*.json, which the schema must accept, FOLDER/broken/*.json, which it must reject, and
// FOLDER/report.html.

#include <cmath>
#include <functional>
#include <iostream>
#include <map>

#include "results/export.h"
#include "results/report.h"
#include "tests/results/sample_records.h"
#include "tests/results/simulated_runs.h"

using namespace wide::results;  // NOLINT: a short program
namespace profiler = wide::profiler;
using nlohmann::json;

namespace {

std::vector<CaseRecord> all_verdicts() {
  std::vector<CaseRecord> cases = {test::passed_case()};
  for (const Verdict verdict :
       {Verdict::kFail, Verdict::kSkipped, Verdict::kError, Verdict::kOom, Verdict::kTimeout}) {
    cases.push_back(test::failed_case("case " + std::string(name(verdict)), verdict));
  }
  return cases;
}

CaseRecord extreme_case() {
  CaseRecord record = test::passed_case("extreme \x1b[31m \xff \xE2\x80\xAE");
  record.plan = {{"cost", std::nan("")}, {"text", "\xff"}};
  record.wide.iqr_us = INFINITY;
  record.samples[0].microseconds = std::nan("");
  record.peak_memory_bytes.reset();
  return record;
}

const std::map<std::string, std::function<void(json&)>> kBreaks = {
    {"speedup_of_a_failed_case", [](json& r) { r["cases"][1]["speedup"] = 2.0; }},
    {"best_speedup_of_a_failed_case", [](json& r) { r["cases"][1]["speedup_best_rival"] = 2.0; }},
    {"interval_of_a_failed_case",
     [](json& r) {
       r["cases"][1]["speedup_ci95"] = {1.0, 2.0};
     }},
    {"rival_speedup_of_a_failed_case", [](json& r) { r["cases"][1]["rivals"]["eager"]["speedup"] = 2.0; }},
    {"timeout_with_a_speedup", [](json& r) { r["cases"][5]["speedup"] = 2.0; }},
    {"pass_without_a_check", [](json& r) { r["cases"][0]["checks"] = json::array(); }},
    {"pass_with_a_failed_check", [](json& r) { r["cases"][0]["checks"][0]["passed"] = false; }},
    {"pass_with_an_unknown_error", [](json& r) { r["cases"][0]["checks"][0]["max_abs_err"] = nullptr; }},
    {"unknown_verdict", [](json& r) { r["cases"][0]["verdict"] = "great"; }},
    {"other_schema_version", [](json& r) { r["schema_version"] = 2; }},
    {"no_machine", [](json& r) { r.erase("machine"); }},
    {"no_cases", [](json& r) { r.erase("cases"); }},
    {"no_subject", [](json& r) { r["cases"][0].erase("subject"); }},
    {"time_as_text", [](json& r) { r["cases"][0]["wide"]["median_us"] = "12 us"; }},
    {"negative_speedup", [](json& r) { r["cases"][0]["speedup"] = -1; }},
    {"one_limit", [](json& r) { r["cases"][0]["speedup_ci95"] = {1.0}; }},
    {"unknown_field", [](json& r) { r["cases"][0]["speed_up"] = 2.0; }},
};

/// A report with plots of every kind: three subjects over N, measured several times.
void write_html(const std::filesystem::path& path) {
  profiler::Random random(1);
  const test::SimulatedMachine machine;
  std::vector<CaseRecord> cases;
  std::vector<Trend> history;
  for (const char* subject : {"mlp", "convnet", "minigpt"}) {
    std::vector<TrendPoint> points;
    for (int run = 0; run < 12; ++run) {
      for (const int n : {2, 4, 8, 16, 32, 64}) {
        CaseRecord record = test::simulated_case(machine, 0, 4.0 / n * (run < 6 ? 1.3 : 1), 0, random);
        record.subject = subject;
        record.key = std::string(subject) + "/n=" + std::to_string(n);
        record.n = n;
        record.strategy = "auto";
        TrendPoint point{
            .run = run + 1, .started = "2025-03-" + std::to_string(10 + run), .machine_key = "m"};
        point.key = record.key, point.n = n, point.verdict = Verdict::kPass;
        point.speedup = record.speedup, point.wide_us = record.wide.median_us;
        points.push_back(point);
        if (run == 11) cases.push_back(record);
      }
    }
    history.push_back(trend(subject, points));
  }
  cases.push_back(test::failed_case("convnet/n=128"));
  write_text(path, to_html(test::sample_run(), cases, history));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::filesystem::path folder = argv[1];
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "good");
  std::filesystem::create_directories(folder / "broken");
  const RunRecord run = test::sample_run();
  const json good = report(run, all_verdicts());
  write_report(folder / "good" / "all_verdicts.json", good);
  write_report(folder / "good" / "without_samples.json", report(run, all_verdicts(), Samples::kLeaveOut));
  write_report(folder / "good" / "extreme.json", report(run, {extreme_case()}));
  write_report(folder / "good" / "empty.json", report({}, {}));
  write_html(folder / "report.html");
  for (const auto& [name, damage] : kBreaks) {
    json broken = good;
    damage(broken);
    if (broken == good) {
      std::cerr << name << " changes nothing\n";
      return 1;
    }
    write_report(folder / "broken" / (name + ".json"), broken);
  }
  return 0;
}
