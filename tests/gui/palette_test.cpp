// The command palette.
#include <imgui_internal.h>

#include "gui/bed.h"
#include "gui/palette.h"

namespace wide::test {
namespace {

void palette_opens(ImGuiTestContext* ctx) {
  fresh(ctx);
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_P);
  ctx->Yield(2);
  IM_CHECK(bench().palette.is_open());
  ctx->KeyPress(ImGuiKey_Escape);
  ctx->Yield(2);
  IM_CHECK(!bench().palette.is_open());
}

void palette_runs(ImGuiTestContext* ctx) {
  fresh(ctx);
  const bool dark = bench().settings.dark;
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_P);
  ctx->Yield(3);
  ctx->KeyChars("dark theme");
  ctx->Yield(2);
  ctx->KeyPress(ImGuiKey_Enter);
  ctx->Yield(3);
  IM_CHECK(bench().settings.dark != dark);
  IM_CHECK(!bench().palette.is_open());
}

void palette_says_why_not(ImGuiTestContext* ctx) {
  fresh(ctx);
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiMod_Shift | ImGuiKey_P);
  ctx->Yield(3);
  ctx->KeyChars("validate");
  ctx->KeyPress(ImGuiKey_Enter);
  ctx->Yield(3);
  IM_CHECK(noticed("no model is open"));
}

void palette_searches(ImGuiTestContext* ctx) {
  fresh(ctx);
  const auto first = [](const char* query) {
    const auto found = gui::search(bench().commands, query);
    return found.empty() ? std::string() : found.front()->id;
  };
  IM_CHECK_STR_EQ(first("open mod").c_str(), "file.open");
  IM_CHECK_STR_EQ(first("reset lay").c_str(), "view.reset");
  IM_CHECK_STR_EQ(first("validate").c_str(), "strategies.validate");
  IM_CHECK_STR_EQ(first("qqqzz").c_str(), "");
  IM_CHECK_EQ(gui::search(bench().commands, "").size(), bench().commands.all().size());
}

void the_palette_puts_first_what_can_run(ImGuiTestContext* ctx) {
  fresh(ctx);
  for (const char* query : {"build", "graph", "profile", "baseline"}) {
    const auto found = search(bench().commands, query);
    bool refused = false;
    for (const auto* command : found) {
      const bool runs = bench().commands.refusal(command->id).empty();
      IM_CHECK(!(runs && refused));
      refused = refused || !runs;
    }
  }
  const auto light = search(bench().commands, "light");
  IM_CHECK(!light.empty());
  IM_CHECK_STR_EQ(light.front()->id.c_str(), "view.theme");
}

}  // namespace

void add_palette_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "palette", name)->TestFunc = test;
  };
  add("opens and closes", palette_opens);
  add("runs a command", palette_runs);
  add("says why not", palette_says_why_not);
  add("searches", palette_searches);
  add("puts first what can run", the_palette_puts_first_what_can_run);
}

}  // namespace wide::test
