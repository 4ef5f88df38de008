// Profile: reading traces, moving in the timeline, searching, measuring, exporting.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "app/capture/peaks_folder.h"
#include "gui/results_bed.h"
#include "gui/views/samples.h"
#include "profiler/trace/chrome_export.h"
#include "profiler/trace/sample_traces.h"

namespace wide::test {
namespace {

constexpr const char* kLanes = "//###Profile/##tabs/Timeline/##lanes";

gui::TimelinePanel& timeline() {
  return panels().profile->timeline;
}

// The sample trace of wide and its rival, from a file.
void with_trace(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  const auto file = scratch() / "trace.json";
  const auto wide = test::wide_trace(), eager = test::eager_trace();
  profiler::write_chrome_file(file, std::array{&wide, &eager});
  bench().commands.run("profile.open", file.string());
  settle(ctx);
  bench().commands.run("profile.show_tab", "timeline");
  ctx->Yield(3);
}

void empty_says_what_to_do(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "profile");
  IM_CHECK(ctx->ItemExists("//###Profile/Profile resblock"));
  IM_CHECK_STR_EQ(bench().commands.refusal("profile.fit").c_str(), "no profile is open");
}

void a_trace_is_opened(ImGuiTestContext* ctx) {
  with_trace(ctx);
  const auto& data = panels().profile->data;
  IM_CHECK(data != nullptr);
  IM_CHECK_EQ(data->timeline.lanes.size(), 2u);
  IM_CHECK_STR_EQ(data->traces[data->timeline.lanes[0].capture].contender.c_str(), "eager");
  IM_CHECK(ctx->ItemExists(kLanes));
  IM_CHECK_GT(timeline().drawn, 10u);
}

void no_trace_is_told(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  bench().commands.run("profile.open", (scratch() / "nothing.json").string());
  settle(ctx);
  IM_CHECK(noticed("nothing.json"));
  IM_CHECK(!panels().profile->data);
}

void wheel_zooms_at_the_cursor(ImGuiTestContext* ctx) {
  with_trace(ctx);
  ctx->MouseMove(kLanes);
  const auto low = ctx->ItemInfo(kLanes).RectFull.Min.x;
  const double before = timeline().view.time_of(ImGui::GetIO().MousePos.x - low),
               scale = timeline().view.scale();
  ctx->MouseWheelY(4);
  ctx->Yield(2);
  IM_CHECK_LT(timeline().view.scale(), scale / 2);
  const double after = timeline().view.time_of(ImGui::GetIO().MousePos.x - low);
  IM_CHECK_LT(std::abs(after - before), 2 * timeline().view.scale());
}

void drag_moves_and_f_fits(ImGuiTestContext* ctx) {
  with_trace(ctx);
  ctx->MouseMove(kLanes);
  ctx->MouseWheelY(5);
  ctx->Yield(2);
  const double from = timeline().view.from();
  ctx->MouseDown();
  ctx->MouseMoveToPos({ImGui::GetIO().MousePos.x - 60, ImGui::GetIO().MousePos.y});
  ctx->MouseUp();
  ctx->Yield(2);
  IM_CHECK_GT(timeline().view.from(), from);
  ctx->KeyPress(ImGuiKey_F);
  ctx->Yield(2);
  IM_CHECK(timeline().view.fits_all());
}

void a_click_selects_and_z_zooms(ImGuiTestContext* ctx) {
  with_trace(ctx);
  const auto rect = ctx->ItemInfo(kLanes).RectFull;
  // The first row of the first lane: the first pass of eager, from 0 to 2000 ns.
  const float y = rect.Min.y + 1.9F * ImGui::GetStyle().FontSizeBase;
  ctx->MouseMoveToPos({rect.Min.x + static_cast<float>(timeline().view.x_of(700)), y});
  ctx->MouseClick();
  ctx->Yield(2);
  IM_CHECK(timeline().selected.has_value());
  IM_CHECK_EQ(timeline().selected->row, 0u);
  ctx->KeyPress(ImGuiKey_Z);
  ctx->Yield(2);
  IM_CHECK_LT(timeline().view.to() - timeline().view.from(), 2300);
}

void shift_drag_measures(ImGuiTestContext* ctx) {
  with_trace(ctx);
  const auto rect = ctx->ItemInfo(kLanes).RectFull;
  const float y = rect.Max.y - 10;
  const auto x = [&](double time) { return rect.Min.x + static_cast<float>(timeline().view.x_of(time)); };
  ctx->MouseMoveToPos({x(500), y});
  ctx->KeyDown(ImGuiMod_Shift);
  ctx->MouseDown();
  ctx->MouseMoveToPos({x(3000), y});
  ctx->MouseUp();
  ctx->KeyUp(ImGuiMod_Shift);
  ctx->Yield(2);
  IM_CHECK(timeline().measured.has_value());
  IM_CHECK_GT(timeline().measured->length(), 1500);
  ctx->KeyPress(ImGuiKey_Escape);
  ctx->Yield(2);
  IM_CHECK(!timeline().measured.has_value());
}

void search_goes_from_one_to_the_next(ImGuiTestContext* ctx) {
  with_trace(ctx);
  ctx->ItemInputValue("//###Profile/##tabs/Timeline/##search", "addmm");
  ctx->Yield(3);
  IM_CHECK_EQ(timeline().search.found(), 18u);
  IM_CHECK(timeline().selected.has_value());
  const auto first = *timeline().selected;
  bench().commands.run("profile.next");
  ctx->Yield(2);
  IM_CHECK(!(*timeline().selected == first));
  bench().commands.run("profile.previous");
  ctx->Yield(2);
  IM_CHECK(*timeline().selected == first);
}

void a_node_is_the_same_everywhere(ImGuiTestContext* ctx) {
  with_trace(ctx);
  bench().selection.choose_node("1");  // %1 aten.relu.default
  ctx->Yield(3);
  IM_CHECK(timeline().selected.has_value());
  const auto& data = *panels().profile->data;
  IM_CHECK_EQ(gui::slice_at(data.timeline, data.traces, *timeline().selected).node, 1);
}

void tabs_show_kernels_gain_and_roofline(ImGuiTestContext* ctx) {
  with_trace(ctx);
  ctx->ItemClick("//###Profile/##tabs/Kernels");
  ctx->Yield(2);
  IM_CHECK(panels().profile->shown == gui::ProfileTab::kKernels);
  ctx->ItemClick("//###Profile/##tabs/Gain");
  ctx->Yield(2);
  IM_CHECK(ctx->ItemExists("//###Profile/##tabs/Gain/launches removed"));
  ctx->ItemClick("//###Profile/##tabs/Roofline");
  ctx->Yield(2);
  IM_CHECK(ctx->ItemExists("//###Profile/##tabs/Roofline/###profile_now"));
}

// By keyboard alone: mark what is in sight, explain it, go through the slowest, ask in SQL.
void a_stretch_is_explained_by_keys(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "profile");
  gui::show_profile(*panels().profile, std::make_shared<gui::ProfileData>(gui::sample_profile()));
  ctx->Yield(3);
  auto& panel = *panels().profile;
  IM_CHECK(bench().commands.refusal("profile.explain").starts_with("mark a stretch first"));
  ctx->ItemClick("//###Profile/##tabs/Timeline/##lanes");
  ctx->KeyPress(ImGuiKey_S);
  ctx->Yield(2);
  IM_CHECK(timeline().selected.has_value());
  const auto slowest = *timeline().selected;
  IM_CHECK(slowest == gui::slowest(*panel.data, std::nullopt, 1)[0]);
  ctx->KeyPress(ImGuiKey_S);
  ctx->Yield(2);
  IM_CHECK(!(*timeline().selected == slowest));
  ctx->KeyPress(ImGuiMod_Shift | ImGuiKey_S);
  ctx->Yield(2);
  IM_CHECK(*timeline().selected == slowest);
  ctx->KeyPress(ImGuiKey_M);
  ctx->Yield(2);
  IM_CHECK(timeline().measured.has_value());
  ctx->KeyPress(ImGuiKey_R);
  settle(ctx);
  IM_CHECK(panel.span.part != nullptr);
  IM_CHECK(panel.shown == gui::ProfileTab::kKernels);
  IM_CHECK_LT(panel.span.part->kernels[0].rows(), panel.data->kernels[0].rows());
  click_row(ctx, "//###Profile/##tabs/Kernels/##kernels/$$0/##row");
  ctx->Yield(3);
  IM_CHECK(ctx->ItemExists("//###Profile/##tabs/Kernels/##histogram"));
  picture(ctx, "tour-26-stretch");
  ctx->ItemClick("//###Profile/##tabs/Kernels/###explain_all");
  ctx->Yield(2);
  IM_CHECK(panel.span.part == nullptr);
  picture(ctx, "histogram");
}

void events_are_asked_in_sql(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "profile");
  gui::show_profile(*panels().profile, std::make_shared<gui::ProfileData>(gui::sample_profile()));
  bench().commands.run("profile.show_tab", "query");
  ctx->Yield(3);
  auto& query = panels().profile->query;
  ctx->ItemClick("//###Profile/##tabs/SQL/##sql");
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_Enter);
  settle(ctx);
  IM_CHECK_STR_EQ(query.fault.c_str(), "");
  IM_CHECK(query.answer != nullptr);
  const auto& kernels = panels().profile->data->kernels[panels().profile->data->wide];
  IM_CHECK_EQ(query.answer->rows(), kernels.rows());
  picture(ctx, "sql");
  bench().commands.run("profile.ask", "DELETE FROM events");
  settle(ctx);
  IM_CHECK(query.fault.find("only SELECT is allowed") != std::string::npos);
  IM_CHECK(query.answer == nullptr);
  bench().commands.run("profile.ask", "SELECT 1e-12 AS tiny, 12345678.25 AS long, NULL AS none");
  settle(ctx);
  IM_CHECK_STR_EQ((query.answer->cell(0, 0) + " " + query.answer->cell(0, 1)).c_str(), "1e-12 12345678.25");
  IM_CHECK(!query.answer->is_empty(2));
  bench().commands.run("profile.ask", "SELECT 9007199254740993 AS whole, 1e999 AS most");
  settle(ctx);
  IM_CHECK_STR_EQ((query.answer->cell(0, 0) + " " + query.answer->cell(0, 1)).c_str(),
                  "9007199254740993 Inf");
  bench().commands.run("profile.ask", "SELECT node, count(*) FROM events WHERE node <> '' GROUP BY node");
  settle(ctx);
  IM_CHECK_STR_EQ(query.fault.c_str(), "");
  click_row(ctx, "//###Profile/##tabs/SQL/##answer/$$0/##row");
  ctx->Yield(2);
  IM_CHECK_STR_EQ(bench().selection.node.c_str(), gui::selection_name(query.answer->text(0, 0)).c_str());
}

// On a trace that has a rival; the profile of a real model is in profiles_in_a_child.
void limits_say_what_holds_the_speed_up_back(ImGuiTestContext* ctx) {
  with_trace(ctx);
  bench().commands.run("profile.limits");
  ctx->Yield(3);
  IM_CHECK(panels().profile->shown == gui::ProfileTab::kLimits);
  const auto& data = *panels().profile->data;
  IM_CHECK(!data.limits.nodes.empty());
  IM_CHECK_EQ(data.limit_nodes.rows(), data.limits.nodes.size());
  IM_CHECK(gui::limits_headline(data.limits).find("holds it back most") != std::string::npos);
  bench().selection.choose_node("");
  click_row(ctx, "//###Profile/##tabs/Limits/##limit_nodes/$$0/##row");
  ctx->Yield(2);
  IM_CHECK_STR_EQ(bench().selection.node.c_str(), gui::selection_name(data.limits.nodes[0].name).c_str());
  const auto file = scratch() / "limits.csv";
  bench().commands.run("profile.export_csv", file.string());
  settle(ctx);
  IM_CHECK(bytes_of(file).find("action") != std::string::npos);
  picture(ctx, "limits");
}

void a_profile_is_exported(ImGuiTestContext* ctx) {
  with_trace(ctx);
  for (const char* format : {"csv", "json", "svg", "png"}) {
    const auto file = scratch() / (std::string("profile.") + format);
    bench().commands.run(std::string("profile.export_") + format, file.string());
    settle(ctx);
    ctx->Yield(6);
    IM_CHECK_GT(bytes_of(file).size(), 100u);
  }
  IM_CHECK(bytes_of(scratch() / "profile.svg").find("aten::addmm") != std::string::npos);
  IM_CHECK(bytes_of(scratch() / "profile.png").starts_with("\x89PNG"));
  const auto trace = scratch() / "again.json.gz";
  bench().commands.run("profile.export_trace", trace.string());
  settle(ctx);
  bench().commands.run("profile.open", trace.string());
  settle(ctx);
  IM_CHECK_EQ(panels().profile->data->traces.size(), 2u);
}

void the_command_line_is_copied(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "profile");
  ctx->ItemClick("//###Profile/###copy");
  ctx->Yield(2);
  IM_CHECK_STR_EQ(
      clipboard().c_str(),
      "widebench profile resblock -p quick -n 4 --device cpu --rivals eager --passes 20 --roofline --trace "
      "trace.json");
}

// What Graph and Strategies show is what is profiled: the same sizes and the same plan.
void the_open_model_is_profiled_as_it_is(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  bench().open_source({.subject = "resblock"});
  settle(ctx);
  bench().session.wish.by_kind["conv2d"] = "sequential";
  bench().build();
  settle(ctx);
  show(ctx, "profile");
  ctx->Yield(2);
  bench().commands.run("profile.start");
  settle(ctx);
  IM_CHECK(panels().profile->data != nullptr);
  const auto& data = *panels().profile->data;
  const auto& wide = data.traces[data.wide];
  const auto& model = *bench().session.model;
  std::size_t seen = 0;
  for (const auto& node : wide.nodes) {
    const auto* shown = model.find(gui::selection_name(node.name));
    if (shown == nullptr || node.at_build || !shown->choosable()) continue;
    IM_CHECK_STR_EQ(node.strategy.c_str(), shown->strategy.c_str());
    seen += shown->kind == "conv2d" ? 1 : 0;
  }
  IM_CHECK_GT(seen, 0u);
  // What runs one member after the other could run otherwise, and Limits says so.
  bool other = false;
  for (const auto& limit : data.limits.nodes)
    other = other || (limit.strategy == "sequential" && limit.action.what.starts_with("strategy "));
  IM_CHECK(other);
  // The plan went with the job; only a copied command line leaves one.
  const auto plans = app::peaks_folder().parent_path() / "plans";
  IM_CHECK(!std::filesystem::exists(plans));
  bench().commands.run("profile.copy_command");
  IM_CHECK(clipboard().find("--plan " + plans.string()) != std::string::npos);
  IM_CHECK(!std::filesystem::is_empty(plans));
  const auto words = gui::profile_arguments(*panels().profile, bench(), "t.json");
  IM_CHECK(std::find(words.begin(), words.end(), "ci") != words.end());
  IM_CHECK(gui::form_of(*panels().sweep, bench()).preset == "ci");
}

void profiles_in_a_child(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  show(ctx, "profile");
  panels().profile->form.subject = "mlp";
  panels().profile->form.preset = "ci";
  ctx->Yield(2);
  ctx->ItemClick("//###Profile/###start");
  settle(ctx);
  const auto& data = panels().profile->data;
  IM_CHECK(data != nullptr);
  IM_CHECK_EQ(data->traces.size(), 2u);
  IM_CHECK_EQ(data->comparisons.size(), 1u);
  IM_CHECK(data->comparisons[0].aligned);
  IM_CHECK(data->roofline.has_value());
  bench().commands.run("profile.show_tab", "roofline");
  ctx->Yield(3);
  IM_CHECK(panels().profile->shown == gui::ProfileTab::kRoofline);
  picture(ctx, "roofline");
  bench().commands.run("profile.limits");
  ctx->Yield(3);
  IM_CHECK(data->limits.speedup() > 0);
  for (const auto& node : data->limits.nodes) IM_CHECK(node.roof_us > 0 || node.lost_us == 0);
  picture(ctx, "limits-of-mlp");
  {
    const auto store = results::Store::open(database(), results::OpenMode::kReadOnly);
    IM_CHECK_EQ(store.runs().size(), 1u);  // History has it
    IM_CHECK_STR_EQ(store.runs().at(0).preset.c_str(), "profile");
  }
  bench().commands.run("profile.measure_peaks");
  settle(ctx);
  IM_CHECK(panels().profile->data->roofline.has_value());
}

// The promise is 60 frames a second; others use the machine that tests run on, hence the median and the room.
void a_million_events(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  std::vector<profiler::Trace> traces;
  traces.push_back(test::large_trace(1'000'000));
  gui::show_profile(*panels().profile, std::make_shared<gui::ProfileData>(gui::make_profile(
                                           std::move(traces), "", [](double, const char*) {})));
  show(ctx, "profile");
  bench().commands.run("profile.show_tab", "timeline");
  ctx->Yield(3);
  ctx->MouseMove(kLanes);
  std::vector<double> frames;
  for (int i = 0; i < 60; ++i) {
    timeline().view.zoom(i < 30 ? 1.3 : 1 / 1.3, 300);
    timeline().view.pan(7);
    const auto start = std::chrono::steady_clock::now();
    ctx->Yield();
    frames.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  std::sort(frames.begin(), frames.end());
  ctx->LogInfo("median frame %.1f ms", 1e3 * frames[frames.size() / 2]);
  IM_CHECK_LT(frames[frames.size() / 2], 0.1);
  IM_CHECK_LT(timeline().drawn, 20'000u);
}

}  // namespace

void add_profile_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, void (*run)(ImGuiTestContext*)) {
    IM_REGISTER_TEST(engine, "profile", name)->TestFunc = run;
  };
  add("a stretch is explained by keys", a_stretch_is_explained_by_keys);
  add("events are asked in sql", events_are_asked_in_sql);
  add("empty_says_what_to_do", empty_says_what_to_do);
  add("a_trace_is_opened", a_trace_is_opened);
  add("no_trace_is_told", no_trace_is_told);
  add("wheel_zooms_at_the_cursor", wheel_zooms_at_the_cursor);
  add("drag_moves_and_f_fits", drag_moves_and_f_fits);
  add("a_click_selects_and_z_zooms", a_click_selects_and_z_zooms);
  add("shift_drag_measures", shift_drag_measures);
  add("search_goes_from_one_to_the_next", search_goes_from_one_to_the_next);
  add("a_node_is_the_same_everywhere", a_node_is_the_same_everywhere);
  add("tabs_show_kernels_gain_and_roofline", tabs_show_kernels_gain_and_roofline);
  add("limits say what holds the speed-up back", limits_say_what_holds_the_speed_up_back);
  add("a_profile_is_exported", a_profile_is_exported);
  add("the_command_line_is_copied", the_command_line_is_copied);
  add("the open model is profiled as it is", the_open_model_is_profiled_as_it_is);
  add("profiles_in_a_child", profiles_in_a_child);
  add("a_million_events", a_million_events);
}

}  // namespace wide::test
