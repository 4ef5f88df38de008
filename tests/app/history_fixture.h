#pragma once
// Sweeps of made-up times into a history of the test's own.

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/cli_fixture.h"

namespace wide::cli {

using nlohmann::json;

class HistoryFixture : public CliFixture {
 protected:
  void SetUp() override {
    CliFixture::SetUp();
    ::unsetenv("GITHUB_STEP_SUMMARY");
    write_preset("p.json", {2, 4, 8, 16, 32}, {"mlp", "deep_mlp"});
  }
  void TearDown() override {
    ::unsetenv("FAKE_SLOW");
    ::unsetenv("FAKE_UNSTEADY");
    ::unsetenv("FAKE_AGAIN");
    ::unsetenv("FAKE_PLANNING_DIES");
    ::unsetenv("FAKE_PLAN");
    ::unsetenv("FAKE_SEEN");
    ::unsetenv("GITHUB_STEP_SUMMARY");
    CliFixture::TearDown();
  }

  void write_preset(const std::string& file, const std::vector<int>& n,
                    const std::vector<std::string>& subjects) {
    json cases = json::array();
    for (const auto& subject : subjects) {
      const bool zoo = subject == "mlp" || subject == "deep_mlp" || subject == "slow";
      cases.push_back(
          {{"subject", subject}, {"kind", zoo ? "zoo" : "primitive"}, {"shape", {{"batch", 3}}}, {"n", n}});
    }
    std::ofstream(path(file)) << json{
        {"schema_version", 1}, {"name", "mine"}, {"timeout_seconds", 20}, {"cases", cases}};
  }

  Ran run(std::vector<std::string> arguments) {
    if (!arguments.empty()) arguments.insert(arguments.end(), {"--db", path("r.db")});
    return run_words(arguments);
  }
  Ran sweep(std::vector<std::string> more = {}, const std::string& preset = "p.json") {
    more.insert(more.begin(), {"--preset", path(preset)});
    return run(more);
  }
  std::string text_of(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

}  // namespace wide::cli
