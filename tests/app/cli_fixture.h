#pragma once
// The command line with a fake engine behind it, in a folder of the test's own.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "app/cli/cli.h"
#include "app/fake_engine.h"
#include "app/fake_widebench.h"

namespace wide::cli {

struct Ran {
  int code;
  std::string out, err;
};

class CliFixture : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    auto name = std::string("widebench_").append(test->test_suite_name()).append("_").append(test->name());
    for (char& letter : name) letter = letter == '/' ? '_' : letter;
    folder_ = std::filesystem::path(testing::TempDir()) / name;
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    ::setenv("XDG_CONFIG_HOME", folder_.c_str(), 1);
    ::setenv("XDG_DATA_HOME", (folder_ / "data").c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static Ran run_words(const std::vector<std::string>& arguments) {
    std::ostringstream out, err;
    Context context{.engine = test::fake_engine(), .out = out, .err = err};
    const int code = cli::run(arguments, context, test::fake_commands());
    return {code, out.str(), err.str()};
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

class Cli : public CliFixture {
 protected:
  Ran run(const std::vector<std::string>& arguments) { return run_words(arguments); }

  std::string preset(const std::vector<std::string>& subjects, const std::string& device = "auto") {
    nlohmann::json cases = nlohmann::json::array();
    for (const auto& subject : subjects) {
      const bool zoo = subject == "mlp" || subject == "deep_mlp";
      cases.push_back({{"subject", subject}, {"kind", zoo ? "zoo" : "primitive"}, {"shape", {{"batch", 3}}}});
    }
    const nlohmann::json document = {{"schema_version", 1},
                                     {"name", "mine"},
                                     {"timeout_seconds", 20},
                                     {"defaults", {{"n", {2, 4}}, {"devices", {device}}}},
                                     {"cases", cases}};
    std::ofstream(path("mine.json")) << document;
    return path("mine.json");
  }

  nlohmann::json read(const std::string& name) {
    std::ifstream in(path(name));
    return nlohmann::json::parse(in);
  }
};

}  // namespace wide::cli
