#include "gui/results_bed.h"

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "profiler/random.h"
#include "results/sample_records.h"
#include "results/simulated_runs.h"

namespace wide::test {
namespace {

constexpr int kCases = 12;

std::int64_t add_run(results::Store& store, double slow, int changed, std::uint64_t seed,
                     const std::string& label) {
  auto run = results::test::sample_run();
  run.uid.clear(), run.label = label, run.tags.clear(), run.notes.clear();
  run.started = "2026-05-0" + std::to_string(seed) + "T10:00:00Z";
  const auto id = store.begin_run(run);
  profiler::Random random(seed);
  for (int i = 0; i < kCases; ++i)
    store.add_case(id, results::test::simulated_case({}, i, i < changed ? slow : 1, 0, random));
  store.finish_run(id, results::RunStatus::kDone);
  return id;
}

}  // namespace

void with_no_results(ImGuiTestContext* ctx, const Start& start) {
  static int count = 0;
  const auto folder = scratch() / ("data-" + std::to_string(++count));
  setenv("XDG_DATA_HOME", folder.c_str(), 1);
  fresh(ctx, start);
  settle(ctx);
}

std::vector<std::int64_t> with_history(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  std::filesystem::create_directories(database().parent_path());
  std::vector<std::int64_t> runs;
  {
    auto store = results::Store::open(database(), results::OpenMode::kReadWrite);
    runs = {add_run(store, 1, 0, 1, "first"), add_run(store, 1.7, 2, 2, "second"),
            add_run(store, 1, 0, 3, "third")};
  }
  show(ctx, "history");
  bench().commands.run("history.refresh");
  settle(ctx);
  return runs;
}

results::CaseRecord passed_case(std::int64_t n, double speedup) {
  results::CaseRecord record;
  record.subject = "resblock", record.n = n, record.device = "cpu", record.dtype = "float32",
  record.mode = "eager";
  record.strategy = "auto", record.key = "resblock/n=" + std::to_string(n);
  record.verdict = results::Verdict::kPass;
  record.wide.median_us = 100;
  record.speedup = record.speedup_best_rival = {speedup, speedup * 0.98, speedup * 1.02};
  record.noise_floor = {1, 0.99, 1.01};
  return record;
}

gui::ResultsPanels& panels() {
  return *bench().results;
}

std::filesystem::path database() {
  return panels().records->database;
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace wide::test
