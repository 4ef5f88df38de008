// Menu, shortcuts, look, closing: what belongs to no panel.
#include <imgui_internal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

#include "gui/bed.h"
#include "gui/panels/shared/results_panels.h"

namespace wide::test {
namespace {

void menus(ImGuiTestContext* ctx) {
  fresh(ctx);
  for (const char* menu : {"File", "Edit", "View", "Run", "Help"}) {
    const auto ref = std::string("//##MainMenuBar/##MenuBar/") + menu;
    IM_CHECK(ctx->ItemExists(ref.c_str()));
  }
  for (const auto& command : bench().commands.all()) {
    IM_CHECK(!command.title.empty());
    const std::string menu = command.menu;
    IM_CHECK(menu.empty() || menu == "File" || menu == "Edit" || menu == "View" || menu == "Run" ||
             menu == "Help");
  }
}

void menu_runs_command(ImGuiTestContext* ctx) {
  fresh(ctx);
  const bool dark = bench().settings.dark;
  ctx->SetRef("##MainMenuBar");
  ctx->MenuClick("View/###view.theme");
  ctx->Yield(2);
  IM_CHECK(bench().settings.dark != dark);
}

void menu_refuses(ImGuiTestContext* ctx) {
  fresh(ctx);
  IM_CHECK_STR_EQ(bench().commands.refusal("strategies.build").c_str(), "no model is open");
  IM_CHECK_STR_EQ(bench().commands.run("no.such").c_str(), "no command is called no.such");
}

void themes(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().commands.run("view.theme", "light");
  ctx->Yield(2);
  IM_CHECK(ImGui::GetStyle().Colors[ImGuiCol_WindowBg].x > 0.8F);
  bench().commands.run("view.theme", "dark");
  ctx->Yield(2);
  IM_CHECK(ImGui::GetStyle().Colors[ImGuiCol_WindowBg].x < 0.2F);
}

// Contrast of two colours as WCAG has it.
double contrast(const ImVec4& a, const ImVec4& b) {
  const auto light = [](const ImVec4& c) {
    const auto linear = [](double x) {
      return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(c.x) + 0.7152 * linear(c.y) + 0.0722 * linear(c.z) + 0.05;
  };
  return std::max(light(a), light(b)) / std::min(light(a), light(b));
}

void contrasts(ImGuiTestContext* ctx) {
  fresh(ctx);
  for (const auto& theme : {gui::dark_theme(), gui::light_theme()}) {
    IM_CHECK(contrast(theme.text, theme.panel) > 10);
    for (const auto& colour :
         {theme.faint, theme.good, theme.bad, theme.warning, theme.neutral, theme.accent}) {
      IM_CHECK(contrast(colour, theme.panel) > 4.5);
    }
    for (const auto& colour : {theme.wide, theme.rival, theme.other})
      IM_CHECK(contrast(colour, theme.panel) > 3);
    gui::apply(theme);
    const auto& bar = ImGui::GetStyle().Colors[ImGuiCol_PlotHistogram];
    const auto over = [&](float a, float b) { return a * bar.w + b * (1 - bar.w); };
    const ImVec4 filled{over(bar.x, theme.raised.x), over(bar.y, theme.raised.y), over(bar.z, theme.raised.z),
                        1};
    IM_CHECK(contrast(theme.text, filled) > 4.5);  // of a progress bar
  }
  bench().restyle(1);
}

void scales(ImGuiTestContext* ctx) {
  fresh(ctx);
  const float before = ImGui::GetFontSize();
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_Equal);
  ctx->Yield(3);
  IM_CHECK(bench().settings.scale > 1.1);
  IM_CHECK(ImGui::GetStyle().FontScaleMain > 1.1F);
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_0);
  ctx->Yield(3);
  IM_CHECK_EQ(bench().settings.scale, 1.0);
  IM_CHECK_EQ(ImGui::GetFontSize(), before);
}

// Nothing reaches beyond what its panel lets be seen, whatever the text's size.
void nothing_cut(ImGuiTestContext* ctx) {
  with_sample(ctx);
  for (const double scale : {1.0, 1.25, 2.0}) {
    bench().settings.scale = scale;
    bench().restyle(1);
    for (const auto& panel : bench().panels) {
      show(ctx, panel.id.c_str());
      const auto* window = ctx->GetWindowByRef(("//###" + panel.title).c_str());
      IM_CHECK_NO_RET(window != nullptr);
      if (window == nullptr) continue;
      const float seen = window->InnerClipRect.Max.x - window->WorkRect.Min.x;
      if (window->ContentSize.x > seen) {
        IM_ERRORF("%s at %.0f %%: %.0f pixels wide, %.0f are seen", panel.id.c_str(), scale * 100,
                  window->ContentSize.x, seen);
      }
    }
  }
}

void layout_resets(ImGuiTestContext* ctx) {
  fresh(ctx);
  for (auto& panel : bench().panels) panel.open = false;
  ctx->Yield(3);
  bench().commands.run("view.reset");
  ctx->Yield(4);
  for (const auto& panel : bench().panels) {
    if (!panel.always) continue;
    IM_CHECK(panel.open);
    const auto* window = ctx->GetWindowByRef(("//###" + panel.title).c_str());
    IM_CHECK(window && window->DockNode != nullptr);
  }
}

void panels_show(ImGuiTestContext* ctx) {
  fresh(ctx);
  for (const auto& panel : bench().panels) {
    show(ctx, panel.id.c_str());
    const auto* window = ctx->GetWindowByRef(("//###" + panel.title).c_str());
    IM_CHECK(window && window->Active && !window->Hidden);
  }
  IM_CHECK(!bench().show("no-such-panel"));
}

void shortcuts_listed(ImGuiTestContext* ctx) {
  fresh(ctx);
  ctx->KeyPress(ImGuiKey_F1);
  ctx->Yield(3);
  IM_CHECK(ctx->GetWindowByRef("//###help") != nullptr && ctx->GetWindowByRef("//###help")->Active);
  ctx->KeyPress(ImGuiKey_Escape);
  ctx->Yield(3);
  IM_CHECK(!ctx->GetWindowByRef("//###help")->Active);
}

void chords_are_unique(ImGuiTestContext* ctx) {
  fresh(ctx);
  std::vector<int> chords;
  for (const auto& command : bench().commands.all()) {
    if (command.chord != 0) chords.push_back(command.chord);
  }
  std::sort(chords.begin(), chords.end());
  IM_CHECK(std::adjacent_find(chords.begin(), chords.end()) == chords.end());
}

// A dialog has the keys for itself.
void shortcuts_wait_for_dialogs(ImGuiTestContext* ctx) {
  fresh(ctx);
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_Comma);
  ctx->Yield(3);
  ctx->KeyPress(ImGuiKey_3);
  ctx->KeyPress(ImGuiKey_F5);
  ctx->Yield(3);
  IM_CHECK(ctx->ItemExists("//Settings###settings/##settings/Light"));
  IM_CHECK(!bench().jobs.busy());
  ctx->KeyPress(ImGuiKey_Escape);
  ctx->Yield(3);
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_O);
  ctx->Yield(3);
  IM_CHECK(bench().files.is_open());
  ctx->KeyPress(ImGuiKey_F1);
  ctx->Yield(3);
  IM_CHECK(bench().files.is_open());
  ctx->KeyPress(ImGuiKey_Escape);
  ctx->Yield(3);
  IM_CHECK(!bench().files.is_open());
}

float share_of(ImGuiTestContext* ctx, const char* panel) {
  const auto* window = ctx->GetWindowByRef(panel);
  return window == nullptr ? 0 : window->Size.x / ImGui::GetIO().DisplaySize.x;
}

// Every column has its share of a window of another size, and tabs their pictures where there is room.
void columns_follow_the_window(ImGuiTestContext* ctx) {
  fresh(ctx);
  const std::array panels = {"//###Models", "//###Graph", "//###Inspector"};
  const auto height = ctx->GetWindowByRef("//###Log")->Size.y;
  ctx->Yield(200);
  IM_CHECK_EQ(ctx->GetWindowByRef("//###Log")->Size.y, height);  // nothing creeps
  std::vector<float> before;
  for (const auto* panel : panels) before.push_back(share_of(ctx, panel));
  for (const ImVec2 size : {ImVec2{640, 480}, ImVec2{1280, 800}, ImVec2{900, 600}}) {
    resize(ctx, size);
    for (std::size_t i = 0; i < panels.size(); ++i)
      IM_CHECK_LT(std::abs(share_of(ctx, panels[i]) - before[i]), 0.02F);
    if (size.x == 640) picture(ctx, "small-again");
  }
  resize(ctx, {640, 480});
  fresh(ctx);
  IM_CHECK_STR_EQ(ctx->GetWindowByRef("//###Graph")->Name, "Graph###Graph");
  resize(ctx);
  IM_CHECK(std::string(ctx->GetWindowByRef("//###Graph")->Name).find("  Graph") != std::string::npos);
}

void number_keys_show_panels(ImGuiTestContext* ctx) {
  fresh(ctx);
  for (std::size_t i = 0; i < bench().panels.size() && i < 9; ++i) {
    const auto* command = bench().commands.find("view." + bench().panels[i].id);
    IM_CHECK(command != nullptr);
    IM_CHECK_EQ(command->chord, static_cast<int>(ImGuiKey_1) + static_cast<int>(i));
  }
  ctx->KeyPress(ImGuiKey_4);
  ctx->Yield(3);
  auto* fourth = ctx->GetWindowByRef(("//###" + bench().panels[3].title).c_str());
  IM_CHECK(fourth != nullptr && !fourth->Hidden);
  show(ctx, "log");
  ctx->ItemInput("//###Log/##filter");
  ctx->KeyChars("2");
  ctx->Yield(3);
  IM_CHECK(!ctx->GetWindowByRef("//###Log")->Hidden);  // a digit in a text is a digit
}

void run_keys_show_their_panels(ImGuiTestContext* ctx) {
  fresh(ctx);
  show(ctx, "graph");
  IM_CHECK(ctx->GetWindowByRef("//###Profile")->Hidden);
  ctx->KeyPress(ImGuiKey_F6);
  ctx->Yield(4);
  IM_CHECK(!ctx->GetWindowByRef("//###Profile")->Hidden);
  bench().jobs.cancel_all();
  settle(ctx);
  IM_CHECK(ctx->GetWindowByRef("//###Sweep")->Hidden);
  ctx->KeyPress(ImGuiKey_F5);
  ctx->Yield(4);
  IM_CHECK(!ctx->GetWindowByRef("//###Sweep")->Hidden);
  bench().jobs.cancel_all();
  settle(ctx);
}

void what_was_open_comes_back(ImGuiTestContext* ctx) {
  with_sample(ctx);
  bench().commands.run("sweep.take_command", "widebench benchmark linear mlp -p ci -n 2,8 --rivals eager");
  const auto node = bench().session.model->graph.front().name;
  const gui::BuildWish chosen{.by_value = {{"%" + node, "sequential"}}, .mode = "default"};
  bench().session.wish = chosen;
  ctx->Yield(2);
  bench().note_what_is_open();
  bench().settings.width = 1000, bench().settings.height = 700;
  const auto file = scratch() / "window.json";
  IM_CHECK_STR_EQ(gui::write_settings(file, bench().settings).c_str(), "");
  const auto kept = gui::read_settings(file);
  IM_CHECK_EQ(kept.width, 1000);
  fresh(ctx);
  bench().settings = kept;
  bench().restore(true);
  settle(ctx);
  IM_CHECK(bench().session.model != nullptr);
  IM_CHECK_STR_EQ(bench().session.model->name.c_str(), "resblock");
  IM_CHECK(bench().session.model->wish == chosen);
  bench().commands.run("edit.undo");
  IM_CHECK(bench().session.wish == gui::BuildWish());
  const auto& form = bench().results->sweep->form;
  IM_CHECK_EQ(form.subjects.size(), 2u);
  IM_CHECK_EQ(form.n.size(), 2u);
  IM_CHECK_STR_EQ(form.preset.c_str(), "ci");
}

void closing_asks(ImGuiTestContext* ctx) {
  fresh(ctx);
  bench().jobs.start(gui::Lane::kFiles, "Long work", [](const gui::JobContext& context) -> gui::Apply {
    while (!context.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    context.check();
    return {};
  });
  ctx->Yield(2);
  bench().ask_to_close();
  ctx->Yield(3);
  IM_CHECK(!bench().closed());
  ctx->ItemClick("//###closing/Keep working");
  ctx->Yield(3);
  IM_CHECK(!bench().closed() && bench().jobs.busy());
  for (const auto key : {ImGuiKey_Escape, ImGuiKey_Enter, ImGuiKey_None}) {  // as every other dialog
    bench().ask_to_close();
    ctx->Yield(3);
    if (key != ImGuiKey_None) {
      ctx->KeyPress(key);
    } else {
      ctx->WindowClose("//###closing");
    }
    ctx->Yield(3);
    IM_CHECK(!ctx->ItemExists("//###closing/Keep working"));
    IM_CHECK(!bench().closed() && bench().jobs.busy());
  }
  bench().ask_to_close();
  ctx->Yield(3);
  ctx->ItemClick("//###closing/Stop and close");
  ctx->Yield(2);
  IM_CHECK(bench().closed());
  settle(ctx);
}

void closing_is_not_forgotten_when_work_ends(ImGuiTestContext* ctx) {
  fresh(ctx);
  static std::atomic<bool> over = false;
  over = false;
  bench().jobs.start(gui::Lane::kFiles, "Long work", [](const gui::JobContext&) -> gui::Apply {
    while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return {};
  });
  ctx->Yield(2);
  bench().ask_to_close();
  ctx->Yield(3);
  IM_CHECK(!bench().closed());
  over = true;
  settle(ctx);
  ctx->Yield(3);
  IM_CHECK(bench().closed());
}

void the_list_of_keys_closes(ImGuiTestContext* ctx) {
  fresh(ctx);
  ctx->KeyPress(ImGuiKey_F1);
  ctx->Yield(3);
  ctx->WindowClose("//###help");
  ctx->Yield(3);
  IM_CHECK(!ctx->ItemExists("//###help/Close"));
}

void closing_at_once(ImGuiTestContext* ctx) {
  fresh(ctx);
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_Q);
  ctx->Yield(2);
  IM_CHECK(bench().closed());
}

void numbers_read_well(ImGuiTestContext* ctx) {
  fresh(ctx);
  IM_CHECK_STR_EQ(gui::time_text(1522).c_str(), "1.52 ms");
  IM_CHECK_STR_EQ(gui::time_text(999.6).c_str(), "1.00 ms");
  IM_CHECK_STR_EQ(gui::time_text(0.5).c_str(), "500 ns");
  IM_CHECK_STR_EQ(gui::time_text(-1).c_str(), "–");
  IM_CHECK_STR_EQ(gui::bytes_text(1.2e6).c_str(), "1.20 MB");
  IM_CHECK_STR_EQ(gui::count_text(74000).c_str(), "74.0 k");
  IM_CHECK_STR_EQ(gui::ratio_text(1.379, 1.35, 1.41).c_str(), "1.38× [1.35, 1.41]");
}

}  // namespace

void add_shell_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "shell", name)->TestFunc = test;
  };
  add("menus", menus);
  add("menu runs a command", menu_runs_command);
  add("menu refuses", menu_refuses);
  add("themes", themes);
  add("contrasts", contrasts);
  add("scales", scales);
  add("nothing is cut", nothing_cut);
  add("layout resets", layout_resets);
  add("panels show", panels_show);
  add("shortcuts are listed", shortcuts_listed);
  add("chords are unique", chords_are_unique);
  add("shortcuts wait for dialogs", shortcuts_wait_for_dialogs);
  add("columns follow the window", columns_follow_the_window);
  add("number keys show panels", number_keys_show_panels);
  add("run keys show their panels", run_keys_show_their_panels);
  add("what was open comes back", what_was_open_comes_back);
  add("closing asks", closing_asks);
  add("closing is not forgotten when work ends", closing_is_not_forgotten_when_work_ends);
  add("the list of keys closes", the_list_of_keys_closes);
  add("closing at once", closing_at_once);
  add("numbers read well", numbers_read_well);
}

}  // namespace wide::test
