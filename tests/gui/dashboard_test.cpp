// The dashboard of the history, columns of one's choice, the gate as a form.
#include <imgui_internal.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "gui/results_bed.h"

namespace wide::test {
namespace {

void subjects_are_pinned(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  bench().commands.run("history.look", std::to_string(runs[0]));
  settle(ctx);
  const auto subject = panels().history->run->subjects.at(0);
  bench().commands.run("history.follow", subject);
  settle(ctx);
  ctx->ItemClick("//###History/##tabs/Trend/###pin_subject");
  settle(ctx);
  IM_CHECK_EQ(bench().settings.pinned.size(), 1U);
  bench().commands.run("history.dashboard");
  ctx->Yield(4);
  const auto& cards = panels().history->pinned;
  IM_CHECK_EQ(cards.size(), 1U);
  IM_CHECK_STR_EQ(cards[0].subject.c_str(), subject.c_str());
  IM_CHECK_EQ(cards[0].speedups.size(), 3U);  // a run each
  picture(ctx, "dashboard");
  // A click on the card follows the subject.
  panels().history->subject.clear();
  ctx->ItemClick(("//###History/**/" + subject + "/###card").c_str());
  settle(ctx);
  IM_CHECK_STR_EQ(panels().history->subject.c_str(), subject.c_str());
  bench().commands.run("history.dashboard");
  ctx->Yield(4);
  ctx->ItemClick(("//###History/**/" + subject + "/###unpin").c_str());
  settle(ctx);
  IM_CHECK(bench().settings.pinned.empty() && panels().history->pinned.empty());
}

// A new run comes into the cards by itself.
void cards_are_read_anew(ImGuiTestContext* ctx) {
  const auto runs = with_history(ctx);
  bench().settings.pinned = {"unheard of", "resblock"};
  settle(ctx);
  const auto& cards = panels().history->pinned;
  IM_CHECK_EQ(cards.size(), 2U);
  IM_CHECK_STR_EQ(cards[0].state.c_str(), "not measured yet");
  IM_CHECK_EQ(cards[1].speedups.size(), 0U);
  {
    auto store = results::Store::open(database(), results::OpenMode::kReadWrite);
    auto run = store.run(runs[0]);
    run.uid.clear();
    const auto id = store.begin_run(run);
    auto record = passed_case(4, 2);
    record.checks = {{.what = "member against its own run", .max_abs_err = 0, .passed = true}};
    store.add_case(id, record);
    store.finish_run(id, results::RunStatus::kDone);
  }
  ++panels().records->revision;
  settle(ctx);
  IM_CHECK_EQ(cards[1].speedups.size(), 1U);
}

ImGuiTable* table_of_runs(ImGuiTestContext* ctx) {
  const auto item = ctx->ItemInfo("//###History/##runs/$$0/##row");
  for (int i = 0; i < ImGui::GetCurrentContext()->Tables.GetMapSize(); ++i) {
    auto* table = ImGui::GetCurrentContext()->Tables.TryGetMapData(i);
    if (table != nullptr && table->InnerWindow == item.Window) return table;
  }
  return nullptr;
}

void columns_are_chosen(ImGuiTestContext* ctx) {
  with_history(ctx);
  auto* table = table_of_runs(ctx);
  IM_CHECK(table != nullptr);
  const auto label = table->Columns[2];
  IM_CHECK(label.IsUserEnabled);
  ctx->ItemClick("//###History/###columns##run_filter");
  ctx->Yield(2);
  ctx->ItemClick("//$FOCUSED/label");
  ctx->Yield(3);
  table = table_of_runs(ctx);
  IM_CHECK(table != nullptr && !table->Columns[2].IsUserEnabled);
  picture(ctx, "tour-29-columns");
  IM_CHECK((table->Columns[0].Flags & ImGuiTableColumnFlags_NoHide) != 0);  // else no row could be clicked
  // What no run has takes no room.
  const auto& runs = panels().history->data->table;
  IM_CHECK(runs.is_empty(runs.column("tags")) && !runs.is_empty(runs.column("label")));
  IM_CHECK(!table->Columns[static_cast<int>(runs.column("tags"))].IsEnabled);
  // It is kept with the layout.
  std::size_t size = 0;
  const std::string kept = ImGui::SaveIniSettingsToMemory(&size);
  IM_CHECK(kept.find("[Table]") != std::string::npos && kept.find("Visible=0") != std::string::npos);
  ctx->ItemClick("//$FOCUSED/label");  // the menu is still there
  ctx->KeyPress(ImGuiKey_Escape);
  ctx->Yield(3);
  table = table_of_runs(ctx);
  IM_CHECK(table != nullptr && table->Columns[2].IsUserEnabled);
}

// A sweep that is held against the one before it: the verdict stands above its cases.
void a_sweep_goes_through_the_gate(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "sweep");
  bench().commands.run("sweep.take_command", "widebench benchmark mlp -p ci -n 2");
  ctx->Yield(2);
  bench().commands.run("sweep.start");
  settle(ctx);
  IM_CHECK(panels().sweep->run != nullptr);
  const auto first = panels().sweep->run->run.id;
  IM_CHECK(panels().sweep->gate.verdict.empty());
  bench().commands.run("sweep.gate");
  ctx->Yield(3);
  ctx->ItemClick("//###Sweep/###gate/##gate_form/##baseline");
  settle(ctx);
  ctx->ItemClick(("//##Combo_00/###run_" + std::to_string(first)).c_str());
  ctx->Yield(2);
  IM_CHECK_STR_EQ(panels().sweep->form.gate.baseline.c_str(), std::to_string(first).c_str());
  ctx->ItemInputValue("//###Sweep/###gate/##gate_form/##repeats", 2);
  ctx->Yield(2);
  picture(ctx, "gate-form");
  bench().commands.run("sweep.copy_command");
  IM_CHECK(clipboard().find("--baseline " + std::to_string(first) + " --gate-repeats 2") !=
           std::string::npos);
  bench().commands.run("sweep.start");
  settle(ctx);
  const auto& said = panels().sweep->gate;
  IM_CHECK_EQ(said.run, panels().sweep->run->run.id);
  IM_CHECK_GT(said.run, first);
  // On a shared machine it may be any of them, but the gate has an answer.
  IM_CHECK(said.verdict == "passed" || said.verdict == "regressed" || said.verdict == "inconclusive");
  IM_CHECK(said.counts.starts_with("1 case,"));
  ctx->Yield(3);
  picture(ctx, "gate-verdict");
  ctx->ItemClick("//###Sweep/###gate_compare");
  settle(ctx);
  IM_CHECK_EQ(panels().history->comparisons.size(), 1U);
}

// A baseline that nobody knows is refused before anything is measured, and the window says so.
void a_baseline_that_is_not_there(ImGuiTestContext* ctx) {
  with_history(ctx);
  show(ctx, "sweep");
  bench().commands.run("sweep.take_command", "widebench benchmark mlp -p ci -n 2 --baseline nowhere");
  ctx->Yield(2);
  bench().commands.run("sweep.start");
  settle(ctx);
  IM_CHECK(noticed("nowhere"));
  IM_CHECK(panels().sweep->gate.verdict.empty());
}

// $PATH is as it was when the object goes.
struct KeptPath {
  std::string before = std::getenv("PATH");
  ~KeptPath() { setenv("PATH", before.c_str(), 1); }
};

// A plot goes to the clipboard as a picture where a program of the desktop takes it; here one that writes a
// file.
void a_plot_is_copied_as_a_picture(ImGuiTestContext* ctx) {
  with_history(ctx);
  const auto folder = scratch() / "tools", copied = folder / "copied.png";
  std::filesystem::create_directories(folder);
  const KeptPath kept;
  setenv("PATH", folder.c_str(), 1);
  bench().selection.runs = {1, 2};
  bench().commands.run("history.compare");
  settle(ctx);
  panels().history->forest = true;
  ctx->Yield(3);
  IM_CHECK(bench().commands.refusal("history.forest_copy_png").find("xclip") != std::string::npos);
  const auto make_tool = [&](const std::string& does) {
    std::ofstream(folder / "xclip") << "#!/bin/sh\n" << does << "\n";
    std::filesystem::permissions(folder / "xclip", std::filesystem::perms::owner_all);
  };
  make_tool("[ \"$4\" = image/png ] && /bin/cat > '" + copied.string() + "'");
  IM_CHECK_STR_EQ(bench().commands.run("history.forest_copy_png").c_str(), "");
  ctx->Yield(6);
  settle(ctx);
  IM_CHECK(noticed("as a picture"));
  IM_CHECK(bytes_of(copied).starts_with("\x89PNG"));
  make_tool("exit 1");
  bench().commands.run("history.forest_copy_png");
  ctx->Yield(6);
  settle(ctx);
  IM_CHECK(noticed("did not take the picture"));
}

}  // namespace

void add_dashboard_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* group, const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, group, name)->TestFunc = test;
  };
  add("history", "subjects are pinned", subjects_are_pinned);
  add("history", "cards are read anew", cards_are_read_anew);
  add("history", "columns are chosen", columns_are_chosen);
  add("history", "a plot is copied as a picture", a_plot_is_copied_as_a_picture);
  add("sweep", "a sweep goes through the gate", a_sweep_goes_through_the_gate);
  add("sweep", "a baseline that is not there", a_baseline_that_is_not_there);
}

}  // namespace wide::test
