// One window from the first look to the exported report, as a person goes through it with mouse and keyboard:
// each step checks what is to be seen then. docs/tour.md has the pictures.
#include <array>
#include <chrono>
#include <cmath>
#include <thread>

#include "gui/panels/graph_panel.h"
#include "gui/results_bed.h"
#include "gui/tour_home.h"
#include "gui/views/sweep_rows.h"
#include "results/reliability.h"
#include "results/report.h"

namespace wide::test {
namespace {

using results::Verdict;

void first_look(ImGuiTestContext* ctx) {
  IM_CHECK(bench().session.model == nullptr);
  IM_CHECK(ctx->ItemExists("//###Models/###open"));
  IM_CHECK(ctx->ItemExists("//###Graph/###sample"));
  IM_CHECK(ctx->ItemExists("//###First steps/###step_open"));  // who opens it for the first time is guided
  picture(ctx, "tour-1-start");
  ctx->ItemClick("//###First steps/###close_guide");
  ctx->Yield(3);
}

void open_by_dialog(ImGuiTestContext* ctx) {
  ctx->ItemClick("//###Models/###open");
  ctx->Yield(3);
  IM_CHECK(bench().files.is_open());
  ctx->ItemDoubleClick("//###files/**/models/###entry");
  ctx->Yield(3);
  ctx->ItemDoubleClick("//###files/**/resblock/###entry");
  ctx->Yield(3);
  ctx->ItemClick("//###files/**/model.pt2/###entry");
  ctx->KeyDown(ImGuiMod_Shift);
  ctx->ItemClick("//###files/**/seed3.safetensors/###entry");
  ctx->KeyUp(ImGuiMod_Shift);
  ctx->Yield(2);
  picture(ctx, "tour-2-open");
  ctx->ItemClick("//###files/Open");
  settle(ctx);
  IM_CHECK(!bench().files.is_open());
  check_model();
}

// The same once more by keyboard: Ctrl+O, a path, Enter.
void open_by_typing(ImGuiTestContext* ctx) {
  bench().commands.run("file.close");
  settle(ctx);
  IM_CHECK(bench().session.model == nullptr);
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_O);
  ctx->Yield(5);
  ctx->KeyChars("~/models/resblock/");
  ctx->KeyPress(ImGuiKey_Enter);
  settle(ctx);
  IM_CHECK(!bench().files.is_open());
  check_model();
}

void see_the_graph(ImGuiTestContext* ctx) {
  click_tab(ctx, "Graph");
  IM_CHECK(ctx->ItemExists("//###Graph/###fit"));
  IM_CHECK(ctx->ItemExists("//###Models/###copy_line"));
  const auto& model = *bench().session.model;
  IM_CHECK_EQ(model.sequential, 0);
  const auto* selected = model.find(bench().selection.node);  // something is in the inspector
  IM_CHECK(selected != nullptr && selected->choosable());
  picture(ctx, "tour-3-graph");
}

void conv_to_sequential(ImGuiTestContext* ctx) {
  click_tab(ctx, "Strategies");
  ctx->ItemClick("//###Strategies/Kinds");
  ctx->Yield(3);
  ctx->ItemClick(beside(ctx, "//###Strategies/**/conv2d/###kind", "##strategy"));
  ctx->Yield(3);
  picture(ctx, "tour-4-strategies");
  ctx->ItemClick("//##Combo_00/###sequential");
  ctx->Yield(3);
  IM_CHECK(bench().session.edited());
  // What is not built cannot be validated, and says why.
  IM_CHECK_STR_EQ(bench().commands.refusal("strategies.validate").c_str(),
                  "build the changed strategies first");
  ctx->ItemClick("//###Strategies/###build");
  settle(ctx);
  IM_CHECK(!bench().session.edited());
  const auto& model = *bench().session.model;
  IM_CHECK_GT(model.sequential, 0);
  for (const auto& node : model.graph) {
    if (node.kind != "conv2d") continue;
    IM_CHECK_STR_EQ(node.strategy.c_str(), "sequential");
    IM_CHECK(ctx->ItemExists(("//###Models/###sequential_" + node.name).c_str()));
  }
}

void validate(ImGuiTestContext* ctx) {
  ctx->ItemClick("//###Strategies/###validate");
  settle(ctx);
  const auto& proof = bench().session.proof;
  IM_CHECK(proof && proof->passed);
  IM_CHECK_EQ(proof->members.size(), 4U);
  for (const auto& member : proof->members)
    IM_CHECK(member.passed && member.max_abs >= 0 && member.max_abs <= member.tolerance);
  IM_CHECK(noticed("Validated resblock"));
  IM_CHECK(ctx->ItemExists("//###Strategies/##members"));  // the table of members is in front
  bench().notices.dismiss_all();
  picture(ctx, "tour-5-validate");
}

// What the table says of a case, also where other work has the machine: no verdict from noise, and no
// speed-up that the times beside it contradict.
void check_honest(const results::CaseRecord& record) {
  const auto word = gui::verdict_word(record);
  const bool decided = word == "faster" || word == "slower" || word == "same";
  if (!decided) return;
  const auto& noise = record.noise_floor;
  IM_CHECK(noise.known() && std::abs(noise.value - 1) <= 0.1);
  IM_CHECK(record.wide.median_us > 0 && record.circumstances.disturbed.empty());
  for (const auto& rival : record.rivals) {
    if (rival.name != record.best_rival) continue;
    IM_CHECK(
        !results::contradicts(record.speedup_best_rival.value, rival.time.median_us, record.wide.median_us));
  }
}

void check_sweep() {
  const auto& run = panels().sweep->run;
  IM_CHECK(run != nullptr);
  IM_CHECK_EQ(run->cases.size(), 3U);
  constexpr std::array<std::int64_t, 3> kMembers = {2, 4, 8};
  std::size_t measured = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    IM_CHECK_EQ(run->cases[i].n, kMembers[i]);
    IM_CHECK(run->cases[i].verdict == Verdict::kPass);
    IM_CHECK_STR_EQ(run->cases[i].subject.c_str(), "resblock");
    IM_CHECK_STR_EQ(run->cases[i].strategy.c_str(), "conv2d=sequential");  // the open model as it is built
    // On a busy machine there is no speed-up, but the reason why.
    const bool disturbed = !run->cases[i].circumstances.disturbed.empty();
    IM_CHECK_EQ(run->cases[i].speedup.value > 0, !disturbed);
    measured += disturbed ? 0 : 1;
    check_honest(run->cases[i]);
    IM_CHECK_GT(run->cases[i].plan.value("weight_bytes", 0), 0);
    IM_CHECK_GT(run->cases[i].plan.value("activation_bytes", 0), 0);
  }
  IM_CHECK_EQ(panels().sweep->plot.series.size(), measured > 0 ? 1U : 0U);
  if (measured > 0) IM_CHECK_EQ(panels().sweep->plot.series[0].n.size(), measured);
  IM_CHECK_EQ(panels().sweep->broken, 0U);
}

void sweep(ImGuiTestContext* ctx) {
  click_tab(ctx, "Sweep");
  IM_CHECK(panels().sweep->open_model);  // what is open is what will be measured
  pick(ctx, "//###Sweep/##form/##preset", "ci");
  ctx->ItemClick("//###Sweep/##form/##n");
  ctx->KeyCharsReplace("2, 4, 8");
  ctx->Yield(3);
  IM_CHECK_EQ(panels().sweep->cases, 3U);
  picture(ctx, "tour-6-form");
  ctx->ItemClick("//###Sweep/###start");
  while (bench().jobs.busy() && panels().sweep->progress.done < 1) {
    ctx->Yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // what is measured is not disturbed
  }
  IM_CHECK(ctx->ItemExists("//###Sweep/###cancel"));
  picture(ctx, "tour-30-running");
  settle(ctx);
  IM_CHECK(noticed("The sweep is done"));
  check_sweep();
  bench().notices.dismiss_all();
  picture(ctx, "tour-7-sweep");
  ctx->ItemClick("//###Sweep/###export_plot");
  ctx->Yield(3);
  IM_CHECK(ctx->ItemExists("//$FOCUSED/Export the plot over N as SVG…"));
  picture(ctx, "tour-34-plot-exports");
  ctx->KeyPress(ImGuiKey_Escape);
  ctx->Yield(2);
}

void profile(ImGuiTestContext* ctx) {
  click_tab(ctx, "Profile");
  ctx->ItemClick("//###Profile/Profile resblock");
  settle(ctx);
  const auto& data = panels().profile->data;
  IM_CHECK(data != nullptr);
  IM_CHECK_EQ(data->traces.size(), 2U);
  IM_CHECK_EQ(data->traces[data->wide].members, 4);
  IM_CHECK_STR_EQ(data->traces[data->timeline.lanes[0].capture].contender.c_str(), "eager");
  IM_CHECK_GT(panels().profile->timeline.drawn, 10U);
  picture(ctx, "tour-8-profile");
  ctx->ItemClick("//###Profile/##tabs/Flame");
  ctx->Yield(4);
  IM_CHECK_GT(data->flames[data->wide].frames.size(), 10U);
  picture(ctx, "tour-20-flame");
  ctx->ItemClick("//###Profile/##tabs/Gain");
  ctx->Yield(3);
  IM_CHECK(ctx->ItemExists("//###Profile/##tabs/Gain/launches removed"));
  picture(ctx, "tour-9-gain");
  ctx->ItemClick("//###Profile/##tabs/Limits");
  ctx->Yield(3);
  // Nothing above the roof without a word of doubt.
  if (data->roofline) {
    for (const auto& point : data->roofline->nodes)
      IM_CHECK(point.fraction() <= 1.1 || !data->roofline->doubts.empty());
  }
  const auto& limits = data->limits;
  IM_CHECK(!limits.nodes.empty());
  IM_CHECK_GT(limits.speedup(), 0.0);
  click_row(ctx, "//###Profile/##tabs/Limits/##limit_nodes/$$0/##row");
  ctx->Yield(2);
  IM_CHECK_STR_EQ(bench().selection.node.c_str(), gui::selection_name(limits.nodes[0].name).c_str());
  picture(ctx, "tour-12-limits");
}

// The graph says by its colours what the profile has captured.
void see_the_heat(ImGuiTestContext* ctx) {
  click_tab(ctx, "Graph");
  pick(ctx, "//###Graph/##colour", "###time");
  ctx->MouseMove("//###Graph/##nodes");
  for (int i = 0; i < 3; ++i) {
    ctx->MouseWheelY(1);
    ctx->Yield();
  }
  ctx->Yield(2);
  auto& panel = *bench().graph_panel;
  IM_CHECK_GT(panel.marks.captured, 3U);
  IM_CHECK(panel.mapped);
  picture(ctx, "tour-18-heat");
  pick(ctx, "//###Graph/##colour", "###strategy");
  bench().commands.run("graph.fit");
  ctx->Yield(2);
}

// Once more, held against the first run: the gate has a verdict.
void sweep_again(ImGuiTestContext* ctx) {
  click_tab(ctx, "Sweep");
  const auto before = panels().sweep->run->run.id;
  bench().commands.run("sweep.gate", std::to_string(before));
  panels().sweep->form.gate.repeats = 0;  // what seems slower is not measured again here
  ctx->Yield(3);
  ctx->KeyPress(ImGuiKey_F5);
  settle(ctx);
  check_sweep();
  IM_CHECK_GT(panels().sweep->run->run.id, before);
  IM_CHECK(!panels().sweep->gate.verdict.empty());
  bench().notices.dismiss_all();
  picture(ctx, "tour-22-gate");
}

void compare(ImGuiTestContext* ctx) {
  click_tab(ctx, "History");
  settle(ctx);
  IM_CHECK_EQ(panels().history->data->runs.size(), 3U);  // two sweeps, and the profile between them
  click_row(ctx, "//###History/##runs/$$2/##row");       // the earlier one: the newest stands first
  settle(ctx);
  IM_CHECK(panels().history->run != nullptr);
  ctx->KeyDown(ImGuiMod_Ctrl);
  click_row(ctx, "//###History/##runs/$$0/##row");
  ctx->KeyUp(ImGuiMod_Ctrl);
  ctx->Yield(2);
  IM_CHECK_EQ(bench().selection.runs.size(), 2U);
  ctx->ItemClick("//###History/###compare");
  settle(ctx);
  IM_CHECK_EQ(panels().history->comparisons.size(), 1U);
  const auto& seen = panels().history->comparisons[0];
  IM_CHECK(seen.comparison.barriers.empty());
  IM_CHECK_EQ(seen.comparison.cases.size(), 3U);
  for (const auto& change : seen.comparison.cases) {
    IM_CHECK(change.change != results::Change::kNotComparable);
    const bool disturbed = change.change == results::Change::kInconclusive && !change.reasons.empty();
    IM_CHECK(std::isfinite(change.ratio.value) || disturbed);
  }
  IM_CHECK(ctx->ItemExists("//###History/##tabs/Compare/###copy_compare"));  // the verdicts are in front
  bench().notices.dismiss_all();
  picture(ctx, "tour-10-compare");
}

void forest_and_over_n(ImGuiTestContext* ctx) {
  pick(ctx, "//###History/##tabs/Compare/##as", "as a forest plot");
  IM_CHECK(ctx->ItemExists("//###History/##tabs/Compare/##forest/$$0/##row"));
  picture(ctx, "tour-14-forest");
  ctx->ItemClick("//###History/##tabs/Over N");
  settle(ctx);
  IM_CHECK_EQ(panels().history->laid_over.size(), 2U);
  pick(ctx, "//###History/##tabs/Over N/##over_n",
       "latency: time of a pass");  // known also where other work disturbed it
  IM_CHECK_EQ(panels().history->over_n.series.size(), 2U);
  picture(ctx, "tour-15-over-n");
}

void pin_it(ImGuiTestContext* ctx) {
  bench().commands.run("history.pin_subject", "resblock");
  ctx->ItemClick("//###History/##tabs/Dashboard");
  settle(ctx);
  IM_CHECK_EQ(panels().history->pinned.size(), 1U);
  picture(ctx, "tour-21-dashboard");
}

void tries(ImGuiTestContext* ctx) {
  click_tab(ctx, "Strategies");
  ctx->ItemClick("//###Strategies/Tries");
  ctx->Yield(2);
  IM_CHECK_EQ(bench().session.tries.size(), 2U);  // as AUTO planned it, and conv2d one member after the other
  ctx->ItemClick("//###Strategies/###measure_try");
  settle(ctx);
  const auto& tried = bench().session.tries[1];
  IM_CHECK_GT(tried.run, 0);
  IM_CHECK(tried.time.value > 0 || !tried.doubt.empty());
  click_row(ctx, "//###Strategies/##tries/$$0/##row");
  ctx->KeyDown(ImGuiMod_Ctrl);
  click_row(ctx, "//###Strategies/##tries/$$1/##row");
  ctx->KeyUp(ImGuiMod_Ctrl);
  ctx->Yield(3);
  IM_CHECK(ctx->ItemExists("//###Strategies/##compared/$$0/##row"));
  bench().notices.dismiss_all();
  picture(ctx, "tour-16-tries");
  bench().commands.run("graph.compare");  // the same in the graph
  ctx->Yield(4);
  IM_CHECK_GT(bench().graph_panel->marks.differing, 0U);
  picture(ctx, "tour-19-plans");
}

void ask_the_events(ImGuiTestContext* ctx) {
  ctx->ItemClick("//###Profile/##tabs/SQL");
  ctx->Yield(2);
  ctx->ItemClick("//###Profile/##tabs/SQL/###ask");
  settle(ctx);
  IM_CHECK(panels().profile->query.answer != nullptr);
  IM_CHECK_GT(panels().profile->query.answer->rows(), 0U);
  picture(ctx, "tour-17-sql");
}

void export_json(ImGuiTestContext* ctx) {
  ctx->ItemClick("//###History/###export");
  ctx->Yield(3);
  ctx->ItemClick("//$FOCUSED/Export the run as JSON…");
  ctx->Yield(4);
  picture(ctx, "tour-11-export");
  ctx->KeyCharsReplaceEnter("~/report.json");  // the field has the keyboard
  settle(ctx);
  const auto file = std::filesystem::current_path() / "report.json";
  IM_CHECK(noticed("~/report.json"));
  IM_CHECK(std::filesystem::exists(file));
  const auto report = results::read_report(file);
  IM_CHECK_EQ(report.cases.size(), 3U);
  IM_CHECK_EQ(report.run.uid, panels().history->run->run.uid);
  for (const auto& record : report.cases) IM_CHECK(!record.samples.empty());
}

void the_walk(ImGuiTestContext* ctx) {
  const Home home;
  with_no_results(ctx, {.first = true});
  for (const auto step : {first_look, open_by_dialog, open_by_typing, see_the_graph, conv_to_sequential,
                          validate, sweep, profile, ask_the_events, see_the_heat, sweep_again, compare,
                          forest_and_over_n, pin_it, export_json, tries}) {
    step(ctx);
    if (ctx->IsError()) return;
  }
}

}  // namespace

void check_model() {
  const auto model = bench().session.model;
  IM_CHECK(model != nullptr);
  IM_CHECK_STR_EQ(model->name.c_str(), "resblock");
  IM_CHECK_EQ(model->members.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i)
    IM_CHECK_STR_EQ(model->members[i].c_str(), ("seed" + std::to_string(i)).c_str());
}

void add_tour_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "tour", name)->TestFunc = test;
  };
  add("the walk", the_walk);
}

}  // namespace wide::test
