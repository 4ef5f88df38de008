// Writes FOLDER/good/*.json, which the schema must accept, and FOLDER/broken/*.json, which it must reject.

#include <cmath>
#include <functional>
#include <iostream>
#include <map>

#include "results/report.h"
#include "tests/results/sample_records.h"

using namespace wide::results;  // NOLINT: a short program
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
