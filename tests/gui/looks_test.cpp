// Every panel at 100, 125 and 200 %: no letter cut, no scrollbar within a scrollbar.
#include <imgui_internal.h>

#include <chrono>
#include <cmath>
#include <set>
#include <thread>

#include "gui/results_bed.h"
#include "gui/views/samples.h"

namespace wide::test {
namespace {

// One letter as it was drawn: a rectangle out of the picture of the fonts.
struct Letter {
  ImVec2 low, high;
};

std::optional<Letter> letter_at(const ImDrawList& list, const ImDrawCmd& command, int i) {
  const auto* index = list.IdxBuffer.Data + command.IdxOffset + i;
  if (index[1] != index[0] + 1 || index[2] != index[0] + 2 || index[3] != index[0] || index[4] != index[2] ||
      index[5] != index[0] + 3)
    return std::nullopt;
  const auto* corner = list.VtxBuffer.Data + command.VtxOffset + index[0];
  const auto &a = corner[0], &b = corner[1], &c = corner[2], &d = corner[3];
  const bool box = a.pos.y == b.pos.y && b.pos.x == c.pos.x && c.pos.y == d.pos.y && d.pos.x == a.pos.x;
  const bool textured = a.uv.x != b.uv.x && a.uv.y != d.uv.y;
  const float width = b.pos.x - a.pos.x, height = d.pos.y - a.pos.y;
  if (!box || !textured || !(width > 0) || width > 2 * gui::em() || height > 2 * gui::em())
    return std::nullopt;
  return Letter{a.pos, c.pos};
}

// Letters that the edge of what may be seen goes through, left or right.
int cut_letters(const ImGuiWindow& window, ImVec2& where) {
  const auto& list = *window.DrawList;
  int cut = 0;
  for (const auto& command : list.CmdBuffer) {
    if (command.UserCallback != nullptr) continue;
    const auto& seen = command.ClipRect;
    const auto count = static_cast<int>(command.ElemCount);
    for (int i = 0; i + 6 <= count;) {
      const auto letter = letter_at(list, command, i);
      i += letter ? 6 : 3;
      if (!letter || letter->high.y < seen.y || letter->low.y > seen.w) continue;
      const bool right = letter->low.x < seen.z && letter->high.x > seen.z + 1.5F;
      const bool left = letter->high.x > seen.x && letter->low.x < seen.x - 1.5F;
      if (!right && !left) continue;
      if (cut++ == 0) where = letter->low;
    }
  }
  return cut;
}

bool scrolls_sideways(const ImGuiWindow& window) {
  for (const auto* one = &window; one != nullptr; one = one->ParentWindow) {
    if ((one->Flags & ImGuiWindowFlags_HorizontalScrollbar) != 0) return true;
    if (one == window.RootWindow) break;
  }
  return false;
}

bool is_below(const ImGuiWindow& window, const ImGuiWindow* root) {
  for (const auto* one = &window; one != nullptr; one = one->ParentWindow) {
    if (one == root) return true;
  }
  return false;
}

// What is wrong with the panel as it was drawn last.
void look(ImGuiTestContext* ctx, const char* title, const std::string& what) {
  const auto* panel = ctx->GetWindowByRef((std::string("//###") + title).c_str());
  IM_CHECK_SILENT(panel != nullptr);
  for (const auto* window : ImGui::GetCurrentContext()->Windows) {
    if (!window->WasActive || window->Hidden || !is_below(*window, panel)) continue;
    ImVec2 where;
    if (!scrolls_sideways(*window)) {
      const int cut = cut_letters(*window, where);
      if (cut > 0)
        IM_ERRORF("%s: %d letters are cut in %s, the first at %.0f, %.0f", what.c_str(), cut, window->Name,
                  where.x, where.y);
    }
    if (!window->ScrollbarY) continue;
    for (const auto* around = window->ParentWindow; around != nullptr; around = around->ParentWindow) {
      if (around->ScrollbarY && is_below(*around, panel))
        IM_ERRORF("%s: the scrollbar of %s is within that of %s", what.c_str(), window->Name, around->Name);
    }
  }
}

// Labels of buttons, boxes and rows: these are cut by the library itself, letter parts and all.
void look_at_labels(ImGuiTestContext* ctx, const char* title, const std::string& what) {
  ImGuiTestItemList items;
  ctx->GatherItems(&items, (std::string("//###") + title).c_str(), -1);
  constexpr std::size_t kKept = 30;  // of a label the library notes no more
  for (int i = 0; i < items.GetSize(); ++i) {
    const auto& item = *items.GetByIndex(i);
    const std::string label = item.DebugLabel;
    if (label.empty() || label.size() >= kKept || label.starts_with("##") || item.RectFull.GetWidth() <= 0)
      continue;
    if (item.Window != nullptr && scrolls_sideways(*item.Window)) continue;
    const float wanted = ImGui::CalcTextSize(label.c_str(), nullptr, true).x;
    if (wanted > item.RectFull.GetWidth() + 1.5F)
      IM_ERRORF("%s: \"%s\" wants %.0f pixels and has %.0f", what.c_str(), label.c_str(), wanted,
                item.RectFull.GetWidth());
  }
}

void with_everything(ImGuiTestContext* ctx) {
  with_history(ctx);
  bench().commands.run("file.sample");
  settle(ctx);
  gui::show_run(*panels().sweep, std::make_shared<gui::RunData>(gui::sample_run_data()));
  gui::show_profile(*panels().profile, std::make_shared<gui::ProfileData>(gui::sample_profile()));
  bench().commands.run("history.look", "2");
  settle(ctx);
  bench().commands.run("strategies.validate");
  settle(ctx);
  bench().notices.dismiss_all();
}

void look_everywhere(ImGuiTestContext* ctx, double scale, const std::string& where = "") {
  with_everything(ctx);
  bench().settings.scale = scale;
  bench().restyle(1);
  ctx->Yield(4);
  bench().commands.run("view.reset");  // the layout of a window that is opened at this scale
  ctx->Yield(6);
  const auto percent = " at " + std::to_string(static_cast<int>(std::lround(100 * scale))) + " %" + where;
  const auto see = [&](const char* panel, const char* title, const std::string& which) {
    show(ctx, panel);
    ctx->Yield(6);
    look(ctx, title, which + percent);
    look_at_labels(ctx, title, which + percent);
  };
  for (const auto& panel : bench().panels) see(panel.id.c_str(), panel.title.c_str(), panel.id);
  for (const char* tab : {"flame", "kernels", "gain", "roofline", "limits", "query", "timeline"}) {
    bench().commands.run("profile.show_tab", tab);
    see("profile", "Profile", std::string("profile, ") + tab);
  }
  bench().commands.run("graph.heat");
  see("graph", "Graph", "graph by time");
  bench().commands.run("graph.heat");
  bench().commands.run("sweep.gate", "1");
  see("sweep", "Sweep", "sweep, gate");
  bench().commands.run("graph.text");
  see("graph", "Graph", "graph as text");
  bench().commands.run("graph.text");
  ctx->Yield(2);
  for (const char* way : {"Nodes", "Kinds"}) {
    show(ctx, "strategies");
    ctx->ItemClick((std::string("//###Strategies/") + way).c_str());
    see("strategies", "Strategies", std::string("strategies, ") + way);
  }
  bench().selection.runs = {1, 2};
  bench().commands.run("history.compare");
  settle(ctx);
  see("history", "History", "history, comparison");
  panels().history->forest = true;
  see("history", "History", "history, forest plot");
  bench().commands.run("history.over_n");
  settle(ctx);
  see("history", "History", "history, over N");
  bench().commands.run("history.follow", panels().history->run->cases.at(0).subject);
  settle(ctx);
  see("history", "History", "history, trend");
  bench().settings.pinned = panels().history->run->subjects;
  bench().commands.run("history.dashboard");
  settle(ctx);
  see("history", "History", "history, dashboard");
}

void at_100(ImGuiTestContext* ctx) {
  look_everywhere(ctx, 1);
}
void at_125(ImGuiTestContext* ctx) {
  look_everywhere(ctx, 1.25);
}
void at_200(ImGuiTestContext* ctx) {
  look_everywhere(ctx, 2);
}

// From the smallest window that is promised to a large one, in both themes.
void at_size(ImGuiTestContext* ctx, ImVec2 size, double scale, bool dark) {
  resize(ctx, size);
  const auto where =
      ", " + std::to_string(static_cast<int>(size.x)) + "x" + std::to_string(static_cast<int>(size.y));
  look_everywhere(ctx, scale, where);
  bench().settings.dark = dark;
  bench().restyle(1);
  show(ctx, "sweep");
  picture(ctx, "looks-" + std::to_string(static_cast<int>(size.x)) + "-" +
                   std::to_string(static_cast<int>(std::lround(100 * scale))) + (dark ? "-dark" : "-light"));
  resize(ctx);
}
void small_at_100(ImGuiTestContext* ctx) {
  at_size(ctx, {1024, 700}, 1, true);
}
void small_at_150(ImGuiTestContext* ctx) {
  at_size(ctx, {1024, 700}, 1.5, false);
}
void large_at_100(ImGuiTestContext* ctx) {
  at_size(ctx, {2560, 1440}, 1, false);
}
void large_at_150(ImGuiTestContext* ctx) {
  at_size(ctx, {2560, 1440}, 1.5, true);
}

// Text that was larger for a while leaves no table behind that is made for it.
void after_another_scale(ImGuiTestContext* ctx) {
  with_everything(ctx);
  for (const double scale : {2.0, 1.0, 1.25, 1.0}) {
    bench().settings.scale = scale;
    bench().restyle(1);
    ctx->Yield(6);
    show(ctx, "strategies");
    ctx->Yield(6);
    if (scale != 1) continue;
    look(ctx, "Strategies", "strategies, normal again");
    look_at_labels(ctx, "Strategies", "strategies, normal again");
  }
}

// A column that was made narrow is as it was when the layout is reset.
void the_layout_resets_columns(ImGuiTestContext* ctx) {
  with_sample(ctx);
  bench().commands.run("view.reset");  // the panel is as large as it will be then
  ctx->Yield(4);
  show(ctx, "strategies");
  ctx->Yield(6);  // what moves under the mouse would be dragged
  ctx->ItemClick("//###Strategies/Nodes");
  ctx->Yield(4);
  const auto* panel = ctx->GetWindowByRef("//###Strategies");
  ImGuiTable* table = nullptr;
  auto& tables = ImGui::GetCurrentContext()->Tables;
  for (int i = 0; i < tables.GetMapSize(); ++i) {
    auto* one = tables.TryGetMapData(i);
    if (one != nullptr && one->OuterWindow == panel && one->LastFrameActive >= ImGui::GetFrameCount() - 1)
      table = one;
  }
  IM_CHECK(table != nullptr);
  int column = 0;
  while (column + 1 < table->ColumnsCount &&
         (table->Columns[column].Flags & ImGuiTableColumnFlags_WidthFixed) == 0)
    ++column;
  const float before = table->Columns[column].WidthGiven;
  table->Columns[column].WidthRequest = before / 2;  // as dragging its edge does
  ctx->Yield(2);
  IM_CHECK_LT(table->Columns[column].WidthGiven, 0.8F * before);
  bench().commands.run("view.reset");
  ctx->Yield(4);
  show(ctx, "strategies");
  ctx->Yield(4);
  IM_CHECK_LT(std::abs(table->Columns[column].WidthGiven - before), 2);
}

void empty_at_200(ImGuiTestContext* ctx) {
  with_no_results(ctx);
  bench().settings.scale = 2;
  bench().restyle(1);
  for (const auto& panel : bench().panels) {
    show(ctx, panel.id.c_str());
    ctx->Yield(6);
    look(ctx, panel.title.c_str(), panel.id + ", empty");
    look_at_labels(ctx, panel.title.c_str(), panel.id + ", empty");
  }
}

// Letters @ in all that is drawn, whole ones: what the library cuts has less of the letter's picture.
int whole_letters(ImGuiTestContext* ctx) {
  ctx->Yield(2);
  int count = 0;
  const auto& glyph = *ImGui::GetFont()->GetFontBaked(ImGui::GetFontSize())->FindGlyph('@');
  for (const auto* window : ImGui::GetCurrentContext()->Windows) {
    if (!window->WasActive || window->Hidden) continue;
    const auto& list = *window->DrawList;
    for (const auto& command : list.CmdBuffer) {
      const auto elements = static_cast<int>(command.ElemCount);
      for (int i = 0; command.UserCallback == nullptr && i + 6 <= elements; ++i) {
        const auto letter = letter_at(list, command, i);
        if (!letter) continue;
        const auto* corner =
            list.VtxBuffer.Data + command.VtxOffset + list.IdxBuffer[static_cast<int>(command.IdxOffset) + i];
        count += corner[0].uv.x == glyph.U0 && corner[2].uv.x == glyph.U1 && corner[2].uv.y == glyph.V1 &&
                         letter->high.x <= command.ClipRect.z + 1
                     ? 1
                     : 0;
      }
    }
  }
  return count;
}

// What a job says of itself can be read to its end wherever it stands, in a small window with large text.
void progress_is_told_whole(ImGuiTestContext* ctx) {
  constexpr int kWords = 6;
  resize(ctx, {1024, 700});
  with_no_results(ctx);
  bench().settings.scale = 1.5;
  bench().restyle(1);
  bench().commands.run("view.reset");
  std::string text;
  for (int i = 0; i < kWords; ++i) text += "@@@@@ ";
  const auto id = bench().jobs.start(gui::Lane::kFiles, "Reading", [text](const gui::JobContext& context) {
    context.progress(0.4, text);
    while (!context.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return gui::Apply();
  });
  const std::string left(20, '@');
  panels().profile->job = panels().sweep->job = id;
  panels().sweep->progress = {.run = 1, .total = 1'000'000, .done = 100'000, .last = text, .left = left};
  for (const std::string alone : {"jobs", "profile", "sweep"}) {
    for (auto& panel : bench().panels) panel.open = panel.id == alone;
    show(ctx, alone.c_str());
    panels().sweep->fold = true;
    ctx->Yield(4);
    picture(ctx, "progress-" + alone);
    IM_CHECK_EQ(whole_letters(ctx), 5 * kWords + (alone == "sweep" ? static_cast<int>(left.size()) : 0));
  }
  bench().jobs.cancel(id);
  settle(ctx);
  resize(ctx);
}

// The keyboard alone: from widget to widget, and what has the focus is pressed.
void tab_order(ImGuiTestContext* ctx) {
  fresh(ctx);
  show(ctx, "models");
  ctx->WindowFocus("//###Models");
  const auto* models = ctx->GetWindowByRef("//###Models");
  std::set<ImGuiID> visited;
  for (int i = 0; i < 6; ++i) {
    ctx->KeyPress(ImGuiKey_Tab);
    ctx->Yield(2);
    const auto* context = ImGui::GetCurrentContext();
    if (context->NavWindow != nullptr && is_below(*context->NavWindow, models))
      visited.insert(context->NavId);
  }
  IM_CHECK_GE(visited.size(), 3u);
  IM_CHECK(visited.contains(ctx->ItemInfo("//###Models/###open").ID));
  IM_CHECK(visited.contains(ctx->ItemInfo("//###Models/###sample").ID));
}

// What is seen already is not drawn again, and what changes is.
void the_same_is_not_drawn_again(ImGuiTestContext* ctx) {
  fresh(ctx);
  ctx->MouseMoveToPos({800, 500});
  ctx->Yield(30);  // fades have ended
  note_frames();
  ctx->Yield(10);
  IM_CHECK_LE(noted_pictures(), 2);  // the first ones, since nothing was noted before
  IM_CHECK_GE(noted_frames().size(), 9U);
  note_frames();
  ctx->MouseMove("//##MainMenuBar/##MenuBar/File");
  ctx->Yield(2);
  IM_CHECK_GE(noted_pictures(), 1);
  noted_frames();
  note_frames();
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_Equal);
  ctx->Yield(3);
  IM_CHECK_GE(noted_pictures(), 1);
  noted_frames();
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_0);
  ctx->Yield(3);
}

}  // namespace

void add_looks_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "looks", name)->TestFunc = test;
  };
  add("the same is not drawn again", the_same_is_not_drawn_again);
  add("nothing is cut at 100 %", at_100);
  add("nothing is cut at 125 %", at_125);
  add("nothing is cut at 200 %", at_200);
  add("nothing is cut in a small window", small_at_100);
  add("nothing is cut in a small window at 150 %", small_at_150);
  add("nothing is cut in a large window", large_at_100);
  add("nothing is cut in a large window at 150 %", large_at_150);
  add("nothing is cut in empty panels", empty_at_200);
  add("nothing is cut after another scale", after_another_scale);
  add("progress is told whole", progress_is_told_whole);
  add("the layout resets columns", the_layout_resets_columns);
  add("tab order", tab_order);
}

}  // namespace wide::test
