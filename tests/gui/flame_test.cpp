// The flame graph of a profile, and bookmarks in its timeline.
#include <algorithm>
#include <array>

#include "gui/results_bed.h"
#include "gui/views/samples.h"
#include "profiler/trace/chrome_export.h"
#include "profiler/trace/sample_traces.h"

namespace wide::test {
namespace {

void with_two_captures(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  const auto file = scratch() / "flame.json";
  const auto wide = test::wide_trace(), eager = test::eager_trace();
  profiler::write_chrome_file(file, std::array{&wide, &eager});
  show(ctx, "profile");
  bench().commands.run("profile.open", file.string());
  settle(ctx);
}

void a_flame_graph_by_mouse_and_keys(ImGuiTestContext* ctx) {
  with_two_captures(ctx);
  auto& panel = *panels().profile;
  panel.capture = panel.data->wide;
  bench().commands.run("profile.show_tab", "flame");
  ctx->Yield(4);
  picture(ctx, "flame");
  const auto& flame = panel.data->flames[panel.capture];
  IM_CHECK_GT(flame.frames.size(), 4U);
  const auto item = ctx->ItemInfo("//###Profile/**/##frames");
  const auto row = 1.5F * gui::em();
  // The longest node of the pass fills the left: a click zooms to it and selects it everywhere.
  const auto pass = flame.frames[0].children.front(), longest = flame.frames[pass].children.front();
  ctx->MouseMoveToPos({item.RectFull.Min.x + gui::em(), item.RectFull.Min.y + 2.5F * row});
  ctx->MouseClick();
  ctx->Yield(3);
  IM_CHECK_EQ(panel.flame.root, longest);
  const auto& trace = panel.data->traces[panel.capture];
  IM_CHECK_STR_EQ(
      bench().selection.node.c_str(),
      gui::selection_name(trace.nodes[static_cast<std::size_t>(flame.frames[longest].node)].name).c_str());
  ctx->KeyPress(ImGuiKey_F);
  ctx->Yield(2);
  IM_CHECK_EQ(panel.flame.root, 0U);
  ctx->KeyPress(ImGuiKey_DownArrow);
  ctx->Yield(2);
  IM_CHECK_EQ(panel.flame.chosen, flame.frames[longest].children.front());
  ctx->KeyPress(ImGuiKey_UpArrow);
  ctx->KeyPress(ImGuiKey_RightArrow);
  ctx->Yield(2);
  IM_CHECK_EQ(panel.flame.chosen, flame.frames[pass].children[1]);
  ctx->KeyPress(ImGuiKey_Enter);
  ctx->Yield(2);
  IM_CHECK_EQ(panel.flame.root, flame.frames[pass].children[1]);
  ctx->ItemClick("//###Profile/##tabs/Flame/###flame_all");
  ctx->Yield(2);
  IM_CHECK_EQ(panel.flame.root, 0U);
  const auto file = scratch() / "flame.csv";
  bench().commands.run("profile.export_csv", file.string());
  settle(ctx);
  IM_CHECK(bytes_of(file).find("aten::") != std::string::npos);
}

// Another capture is another graph; a marked stretch has one of its own.
void a_flame_graph_of_what_is_marked(ImGuiTestContext* ctx) {
  with_two_captures(ctx);
  auto& panel = *panels().profile;
  panel.capture = panel.data->wide;
  const double whole = panel.data->flames[panel.capture].frames[0].total_us;
  panel.timeline.measured = gui::Measure{0, 1500};  // one of the two passes
  bench().commands.run("profile.explain");
  settle(ctx);
  bench().commands.run("profile.show_tab", "flame");
  ctx->Yield(3);
  const double part = gui::explained(panel).flames[panel.capture].frames[0].total_us;
  IM_CHECK_LT(std::abs(part - whole / 2), 1e-9);
  panel.flame.root = panel.flame.chosen = 2;
  panel.capture = 1 - panel.capture;
  ctx->Yield(3);
  IM_CHECK_EQ(panel.flame.root, 0U);
}

void bookmarks_by_key(ImGuiTestContext* ctx) {
  with_two_captures(ctx);
  bench().commands.run("profile.show_tab", "timeline");
  ctx->Yield(3);
  auto& timeline = panels().profile->timeline;
  const auto lanes = ctx->ItemInfo("//###Profile/##tabs/Timeline/##lanes");
  const auto at = [&](float share) {
    ctx->MouseMoveToPos({lanes.RectFull.Min.x + share * lanes.RectFull.GetWidth(), lanes.RectFull.Max.y - 3});
    ctx->Yield(2);
  };
  for (const float share : {0.7F, 0.2F}) {
    at(share);
    ctx->KeyPress(ImGuiKey_B);
    ctx->Yield(2);
  }
  IM_CHECK_EQ(timeline.bookmarks.size(), 2U);
  IM_CHECK_LT(timeline.bookmarks[0].time, timeline.bookmarks[1].time);  // in the order of time
  picture(ctx, "tour-27-bookmarks");
  at(0.5F);
  for (int i = 0; i < 8; ++i) ctx->MouseWheelY(1);
  const auto in_sight = [&](std::size_t which) {
    const double time = timeline.bookmarks[which].time;
    return time >= timeline.view.from() && time <= timeline.view.to();
  };
  ctx->KeyPress(ImGuiKey_N);
  ctx->Yield(2);
  IM_CHECK(in_sight(0));
  IM_CHECK(!in_sight(1));
  ctx->KeyPress(ImGuiKey_N);
  ctx->Yield(2);
  IM_CHECK(in_sight(1));
  ctx->KeyPress(ImGuiMod_Shift | ImGuiKey_N);
  ctx->Yield(2);
  IM_CHECK(in_sight(0));
  // What is selected names one; once more takes it away.
  bench().commands.run("profile.fit");
  bench().commands.run("profile.slowest");
  ctx->Yield(2);
  bench().commands.run("profile.bookmark");
  IM_CHECK_EQ(timeline.bookmarks.size(), 3U);
  IM_CHECK(std::any_of(timeline.bookmarks.begin(), timeline.bookmarks.end(),
                       [](const gui::Bookmark& one) { return !one.name.empty(); }));
  bench().commands.run("profile.bookmark");
  IM_CHECK_EQ(timeline.bookmarks.size(), 2U);
  ctx->ItemClick("//###Profile/##tabs/Timeline/##bookmarks");
  ctx->Yield(2);
  ctx->ItemClick("//##Combo_00/$$1/###bookmark");
  ctx->Yield(2);
  IM_CHECK(in_sight(1));
}

// They come back with the profile that they are of: after another was open, and after a restart.
void bookmarks_outlive_the_profile(ImGuiTestContext* ctx) {
  with_two_captures(ctx);
  bench().commands.run("profile.show_tab", "timeline");
  ctx->Yield(3);
  const auto profile = panels().profile;
  const auto mine = profile->data;
  bench().commands.run("profile.slowest");
  ctx->Yield(2);
  bench().commands.run("profile.bookmark");
  ctx->Yield(2);
  const auto set = profile->timeline.bookmarks;
  IM_CHECK_EQ(set.size(), 1U);
  gui::show_profile(*profile, std::make_shared<gui::ProfileData>(gui::sample_profile()));
  ctx->Yield(3);
  IM_CHECK(profile->timeline.bookmarks.empty());  // they are of the other one
  gui::show_profile(*profile, mine);
  ctx->Yield(3);
  IM_CHECK(profile->timeline.bookmarks == set);
  // What is kept is read by the next window.
  const auto file = scratch() / "bookmarks.json";
  IM_CHECK_STR_EQ(gui::write_settings(file, bench().settings).c_str(), "");
  const auto kept = gui::read_settings(file).bookmarks;
  with_no_results(ctx);
  bench().settings.bookmarks = kept;
  gui::show_profile(*panels().profile, mine);
  show(ctx, "profile");
  ctx->Yield(3);
  IM_CHECK(panels().profile->timeline.bookmarks == set);
  bench().commands.run("profile.slowest");
  bench().commands.run("profile.bookmark");  // taken away again: nothing of it is kept
  ctx->Yield(3);
  IM_CHECK(bench().settings.bookmarks.empty());
}

// Mark from the slowest on to what is in sight, by keys alone.
void edges_of_the_mark_by_key(ImGuiTestContext* ctx) {
  with_two_captures(ctx);
  bench().commands.run("profile.show_tab", "timeline");
  ctx->Yield(3);
  auto& timeline = panels().profile->timeline;
  ctx->MouseMove("//###Profile/##tabs/Timeline/##lanes");
  ctx->KeyPress(ImGuiKey_S);
  ctx->KeyPress(ImGuiKey_M);
  ctx->Yield(2);
  IM_CHECK(timeline.measured.has_value());
  const auto first = *timeline.measured;
  timeline.selected.reset();
  ctx->KeyPress(ImGuiKey_O);
  ctx->Yield(2);
  IM_CHECK_EQ(timeline.measured->from, first.from);
  IM_CHECK_GT(timeline.measured->to, first.to);
  ctx->KeyPress(ImGuiKey_I);
  ctx->Yield(2);
  IM_CHECK_LT(timeline.measured->from, first.from + 1);
  ctx->KeyPress(ImGuiKey_R);
  settle(ctx);
  IM_CHECK(panels().profile->span.part != nullptr);
}

}  // namespace

void add_flame_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "profile", name)->TestFunc = test;
  };
  add("a flame graph by mouse and keys", a_flame_graph_by_mouse_and_keys);
  add("a flame graph of what is marked", a_flame_graph_of_what_is_marked);
  add("bookmarks by key", bookmarks_by_key);
  add("bookmarks outlive the profile", bookmarks_outlive_the_profile);
  add("edges of the mark by key", edges_of_the_mark_by_key);
}

}  // namespace wide::test
