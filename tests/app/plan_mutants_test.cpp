// Plan files and files of costs that were damaged or made to hurt: no signal, no hang, one line each.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/bundle/bundle.h"
#include "core/bundle/plan_file.h"
#include "core/tune/cost_book.h"
#include "formats/sha256.h"
#include "mutants.h"
#include "temporary_folder.h"

namespace wide::app {
namespace {

using test::mutants;
using test::objection_of_child;

StoredPlan plan() {
  StoredPlan plan;
  plan.members = 8;
  plan.nodes = {{"relu", "passthrough", {Layout::kFront}, {Layout::kFront}}};
  plan.rest = plan.nodes;
  return plan;
}

TEST(PlanMutants, Plans) {
  const test::TemporaryFolder folder;
  const auto good = to_json(plan()).dump(1);
  profiler::Random random(1);
  for (int i = 0; i < mutants(0.07); ++i) {
    const auto file = folder.write("plan.json", test::mutated(good, random));
    ASSERT_EQ(objection_of_child([&] { return test::objection_to_reading([&] { read_plan(file); }); }), "")
        << i;
  }
}

// Trusted: what a list names is not loaded where it is not what was written.
TEST(PlanMutants, Bundles) {
  const test::TemporaryFolder folder;
  folder.write("model.pt2", "no program"), folder.write("members.safetensors", "no members");
  const auto good =
      nlohmann::json{{"schema_version", 1},
                     {"name", "m"},
                     {"mode", "default"},
                     {"seed", 0},
                     {"plans", {{"float32[3]s", to_json(plan())}}},
                     {"code", {std::string(64, 'a')}},
                     {"files",
                      {{"model.pt2", formats::Sha256().add(std::as_bytes(std::span("no program", 10))).hex()},
                       {"members.safetensors", std::string(64, '0')}}}}
          .dump(1);
  profiler::Random random(3);
  for (int i = 0; i < mutants(0.07); ++i) {
    folder.write("bundle.json", test::mutated(good, random));
    ASSERT_EQ(objection_of_child([&] {
                return test::objection_to_reading([&] { read_bundle(folder.path(), {.trust = true}); });
              }),
              "")
        << i;
  }
}

TEST(PlanMutants, Costs) {
  const test::TemporaryFolder folder;
  std::string good;
  {
    CostBook book(folder / "good.tsv");
    for (int i = 0; i < 20; ++i) book.add("linear: wide " + std::to_string(i), {100.0 * i});
    std::ifstream in(book.file(), std::ios::binary);
    good.assign(std::istreambuf_iterator<char>(in), {});
  }
  ASSERT_GT(good.size(), 100u);
  profiler::Random random(2);
  for (int i = 0; i < mutants(0.03); ++i) {
    const auto file = folder.write("costs.tsv", test::mutated(good, random));
    const auto use = [&] {
      CostBook book(file);
      book.add("new", {1});
    };
    ASSERT_EQ(objection_of_child([&] { return test::objection_to_reading(use); }), "") << i;
  }
}

TEST(PlanFile, ThatCannotBeWrittenLeavesNothingAndSaysWhy) {
  const test::TemporaryFolder folder;
  const auto error_of = [](const std::filesystem::path& file) -> std::string {
    try {
      write_plan(file, plan());
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(error_of("/dev/full").find("/dev/full: cannot be written (No space left on device)"),
            std::string::npos)
      << error_of("/dev/full");
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/full"));
  const auto child = objection_of_child([&] {
    const rlimit little{64, 64};
    ::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &little);
    return error_of(folder / "plan.json");
  });
  EXPECT_NE(child.find("plan.json: cannot be written (File too large)"), std::string::npos) << child;
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace wide::app
