// The same case from the command line and from the window: the same settings, and times that agree within
// what noise explains. The line is the one that the window gives, and a shell runs it.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "gui/results_bed.h"
#include "gui/views/child.h"
#include "results/compare.h"

namespace wide::test {
namespace {

using results::Change;
using results::OpenMode;
using results::Side;
using results::Store;

constexpr int kTurns = 3;           // of each way; as many again where the first do not agree
constexpr double kNoiseFactor = 3;  // a difference below so many times the A/A noise is none

void add_newest(Side& side) {
  const auto store = Store::open(database(), OpenMode::kReadOnly);
  std::int64_t newest = 0;
  for (const auto& run : store.runs()) newest = std::max(newest, run.id);
  side.runs.push_back({store.run(newest), store.cases(newest, false)});
}

// A shell that finds the program under its name.
int run_line(const std::string& line) {
  const auto folder = scratch() / "bin";
  std::error_code there;
  std::filesystem::create_directories(folder);
  std::filesystem::create_symlink(program_beside(), folder / "widebench", there);
  std::string script = "PATH=";
  script.append(folder.string()).append(":$PATH; ").append(line);
  return gui::run_child({.argv = {"/bin/sh", "-c", script}}).code;
}

// Logarithm of the largest deviation that the A/A twins of any run showed.
double noise_of(const Side& a, const Side& b) {
  double noise = 0;
  for (const auto* side : {&a, &b}) {
    for (const auto& run : side->runs) {
      for (const auto& record : run.cases) {
        if (!record.noise_floor.known()) continue;
        noise = std::max(
            {noise, std::abs(std::log(record.noise_floor.low)), std::abs(std::log(record.noise_floor.high))});
      }
    }
  }
  return noise;
}

// In what the two differ; empty: they agree.
std::string difference(const Side& first, const Side& second) {
  const auto seen = results::compare(first, second);
  if (!seen.barriers.empty()) return seen.barriers.front();
  if (!seen.only_in_first.empty() || !seen.only_in_second.empty()) return "other cases";
  for (const auto& one : seen.cases) {
    const auto reason = one.reasons.empty() ? std::string() : one.reasons.front();
    if (one.change == Change::kNotComparable) return "not comparable: " + reason;
    if (one.change != Change::kFaster && one.change != Change::kSlower) continue;
    if (std::abs(std::log(one.ratio.value)) > kNoiseFactor * noise_of(first, second))
      return one.key + " costs " + std::to_string(one.ratio.value) + " times as much";
  }
  return "";
}

// The first run as often as there are runs, had the wide model taken `slow` times as long on a machine that
// has nothing else to do and measures within a percent: whatever the run was measured beside, its times and
// speed-ups are of one piece.
Side planted(Side side, double slow) {
  const auto within_a_percent = [](double value) {
    return profiler::Interval{value, 0.99 * value, 1.01 * value};
  };
  const auto first = side.runs.front().cases;
  for (auto& run : side.runs) {
    run.cases = first;
    for (auto& record : run.cases) {
      record.load_1min = 0;
      record.circumstances = {};
      record.noise_floor = within_a_percent(1);
      record.wide.median_us *= slow;
      for (auto& rival : record.rivals)
        rival.speedup = within_a_percent(rival.time.median_us / record.wide.median_us);
    }
  }
  return side;
}

void sweep_in_window(ImGuiTestContext* ctx, Side& side) {
  ctx->ItemClick("//###Sweep/###start");
  settle(ctx);
  IM_CHECK(panels().sweep->run != nullptr);
  IM_CHECK_EQ(panels().sweep->broken, 0U);
  add_newest(side);
}

// In turns, each first as often as the other.
void measure_in_turns(ImGuiTestContext* ctx, const std::string& line, Side& shell, Side& window) {
  for (int turn = 0; turn < kTurns && !ctx->IsError(); ++turn) {
    if (turn % 2 != 0) sweep_in_window(ctx, window);
    IM_CHECK_EQ(run_line(line), 0);
    add_newest(shell);
    if (turn % 2 == 0) sweep_in_window(ctx, window);
  }
}

void command_line_and_window_agree(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "sweep");
  bench().commands.run("sweep.take_command", "widebench benchmark linear -p ci -n 4");
  ctx->Yield(2);
  ctx->ItemClick("//###Sweep/###copy");
  ctx->Yield(2);
  const auto line = clipboard();
  Side shell{.name = "command line"}, window{.name = "window"};
  measure_in_turns(ctx, line, shell, window);
  if (!ctx->IsError() && !difference(shell, window).empty()) measure_in_turns(ctx, line, shell, window);
  if (ctx->IsError()) return;
  IM_CHECK_STR_EQ(difference(shell, window).c_str(), "");
  IM_CHECK(shell.runs[0].run.settings == window.runs[0].run.settings);

  // It can fail: on a time that differs, and on a case that does.
  IM_CHECK_STR_NE(difference(planted(shell, 1), planted(shell, 2)).c_str(), "");
  ctx->ItemOpen("//###Sweep/###form");
  ctx->ItemInputValue("//###Sweep/##form/##n", "8");
  ctx->Yield(2);
  Side other{.name = "other N"};
  sweep_in_window(ctx, other);
  IM_CHECK_STR_EQ(difference(shell, other).c_str(), "other cases");
}

}  // namespace

void add_agreement_tests(ImGuiTestEngine* engine) {
  IM_REGISTER_TEST(engine, "agreement", "command line and window agree")->TestFunc =
      command_line_and_window_agree;
}

}  // namespace wide::test
