// What a person may set, and the guide of the first start.
#include <fstream>

#include "gui/bed.h"
#include "gui/panels/first_steps_panel.h"
#include "gui/panels/shared/results_panels.h"
#include "gui/results_bed.h"
#include "gui/settings_keeper.h"

namespace wide::test {
namespace {

bool is_open(const char* panel) {
  for (const auto& one : bench().panels) {
    if (one.id == panel) return one.open;
  }
  return false;
}

void settings_are_kept(ImGuiTestContext* ctx) {
  fresh(ctx);
  const auto file = scratch() / "deep" / "window.json";
  gui::Settings settings;
  settings.dark = false;
  settings.scale = 1.25;
  settings.layout = "[Docking]\n";
  settings.remember({.subject = "mlp", .copies = 8});
  settings.remember({.models = {"/a/m.pt2"}, .weights = {"/a/s.safetensors"}});
  settings.remember({.subject = "mlp", .copies = 16});
  IM_CHECK_STR_EQ(gui::write_settings(file, settings).c_str(), "");
  const auto read = gui::read_settings(file);
  IM_CHECK(!read.dark && read.scale == 1.25 && read.layout == settings.layout);
  IM_CHECK_EQ(read.recent.size(), 2U);
  IM_CHECK(read.recent[0].subject == "mlp" && read.recent[0].copies == 16);
  std::string fault;
  IM_CHECK(gui::read_settings(file, &fault).recent.size() == 2 && fault.empty());
  IM_CHECK(gui::read_settings(scratch() / "none.json", &fault).recent.empty() && fault.empty());
  std::ofstream(file) << "{\"dark\": 3, broken";
  IM_CHECK(gui::read_settings(file, &fault).recent.empty() && !fault.empty());
  IM_CHECK(gui::keep_old_settings(file));
  IM_CHECK_STR_EQ(gui::write_settings(file, settings).c_str(), "");
  IM_CHECK_STR_EQ(bytes_of(scratch() / "deep" / "window.json.old").c_str(), "{\"dark\": 3, broken");
  IM_CHECK(!gui::write_settings("/proc/none/window.json", settings).empty());
  std::ofstream(file) << "{\"schema_version\": 99, \"dark\": false}";
  fault.clear();
  IM_CHECK(!gui::read_settings(file, &fault).dark && fault.find("newer release") != std::string::npos);
  std::ofstream(file)
      << R"({"dark": false, "scale": "large", "width": 1e300, "schema_version": 1e300, "recent": 5, "sweep": "-n 4"})";
  fault.clear();
  const auto partly = gui::read_settings(file, &fault);  // what is wrong is named, and loses nothing else
  IM_CHECK(!partly.dark && partly.scale == 1 && partly.width == 8192 && partly.sweep == "-n 4");
  IM_CHECK(fault.find("'scale', 'recent'") != std::string::npos);
}

void all_is_kept(ImGuiTestContext* ctx) {
  fresh(ctx);
  const auto file = scratch() / "all-settings.json";
  gui::Settings settings{
      .reopen = false, .notice_seconds = 11, .first_steps = false, .pinned = {"mlp", "gpt"}};
  IM_CHECK_STR_EQ(gui::write_settings(file, settings).c_str(), "");
  const auto read = gui::read_settings(file);
  IM_CHECK(!read.reopen && !read.first_steps && read.notice_seconds == 11);
  IM_CHECK(read.pinned == settings.pinned);
  const auto before = gui::read_settings(scratch() / "none.json");  // a new user
  IM_CHECK(before.reopen && before.first_steps && before.pinned.empty());
}

// The window does not wait for the disk, but for what it writes at its end.
void the_last_are_kept(ImGuiTestContext* ctx) {
  fresh(ctx);
  const auto file = scratch() / "kept-settings.json";
  gui::Settings settings;
  {
    gui::SettingsKeeper keeper(file);
    for (const double scale : {1.25, 1.5, 0.75}) {
      settings.scale = scale;
      IM_CHECK_STR_EQ(keeper.keep(settings).c_str(), "");
    }
    settings.notice_seconds = 9;
    keeper.close(settings);
  }
  const auto read = gui::read_settings(file);
  IM_CHECK(read.scale == 0.75 && read.notice_seconds == 9);
  gui::SettingsKeeper nowhere("/proc/none/window.json");
  IM_CHECK(!nowhere.keep(settings).empty());  // told the first time
  IM_CHECK_STR_EQ(gui::SettingsKeeper("").keep(settings).c_str(), "");
}

void the_dialog_sets(ImGuiTestContext* ctx) {
  fresh(ctx);
  int kept = 0;
  bench().settings_changed = [&] { ++kept; };
  bench().settings.remember({.subject = "mlp"});
  ctx->KeyPress(ImGuiMod_Ctrl | ImGuiKey_Comma);
  ctx->Yield(3);
  const std::string dialog = "//Settings###settings/";
  picture(ctx, "settings");
  ctx->ItemClick((dialog + "##settings/Light").c_str());
  ctx->Yield(2);
  IM_CHECK(!bench().settings.dark);
  ctx->ItemClick((dialog + "##settings/###larger").c_str());
  ctx->Yield(3);
  IM_CHECK_EQ(bench().settings.scale, 1.125);
  ctx->ItemClick((dialog + "##settings/###reopen").c_str());
  IM_CHECK(!bench().settings.reopen);
  ctx->ItemInputValue((dialog + "##settings/##notice_seconds").c_str(), 20);
  ctx->Yield(2);
  IM_CHECK_EQ(bench().settings.notice_seconds, 20);
  IM_CHECK_EQ(bench().notices.seconds, 20);
  ctx->ItemClick((dialog + "##settings/###forget").c_str());
  ctx->Yield(2);
  IM_CHECK(bench().settings.recent.empty());
  IM_CHECK_GE(kept, 5);  // each was kept as it was made
  ctx->ItemClick((dialog + "###defaults").c_str());
  ctx->Yield(3);
  IM_CHECK(bench().settings.dark && bench().settings.scale == 1 && bench().settings.reopen);
  ctx->KeyPress(ImGuiKey_Escape);
  ctx->Yield(3);
  IM_CHECK(ctx->GetWindowByRef("//Settings###settings") == nullptr ||
           !ctx->GetWindowByRef("//Settings###settings")->Active);
}

void notices_stay_as_long_as_wanted(ImGuiTestContext* ctx) {
  fresh(ctx);
  gui::Notices notices;
  notices.seconds = 10;
  notices.expire(0);
  notices.post(gui::Level::kInfo, "info");
  notices.post(gui::Level::kWarning, "warning");
  notices.post(gui::Level::kError, "error");
  notices.expire(9);
  IM_CHECK_EQ(notices.shown().size(), 3U);
  notices.expire(11);
  IM_CHECK_EQ(notices.shown().size(), 2U);
  notices.expire(31);
  IM_CHECK_EQ(notices.shown().size(), 1U);
  notices.post(gui::Level::kError, "error", "again");
  IM_CHECK_EQ(notices.shown().size(), 1U);  // in the place of the first; the log has both
  IM_CHECK_EQ(notices.shown()[0].times, 2);
  IM_CHECK_STR_EQ(notices.shown()[0].text.c_str(), "again");
  IM_CHECK_EQ(notices.lines().size(), 4U);
}

// Nothing is opened at start by who does not want it.
void nothing_is_opened_unasked(ImGuiTestContext* ctx) {
  for (const bool wanted : {false, true}) {
    fresh(ctx);
    bench().settings.remember({.subject = "mlp"});
    bench().settings.open = true, bench().settings.reopen = wanted;
    bench().restore(true);
    settle(ctx);
    IM_CHECK_EQ(bench().session.model != nullptr, wanted);
  }
}

void the_first_start_is_guided(ImGuiTestContext* ctx) {
  with_no_results(ctx, {.first = true});
  IM_CHECK(is_open("first_steps"));
  const gui::FirstStepsPanel untouched;
  const auto done = [&] { return gui::steps_done(untouched, bench()).done; };
  IM_CHECK_EQ(done(), 0U);
  picture(ctx, "first-steps");
  IM_CHECK(!ctx->GetWindowByRef("//###First steps")->Hidden);
  ctx->ItemClick("//###First steps/###step_open");
  settle(ctx);
  IM_CHECK(bench().session.model != nullptr);
  IM_CHECK_EQ(done(), 1U);
  ctx->ItemClick("//###First steps/###step_graph");
  ctx->ItemClick("//###First steps/###step_strategies");
  ctx->Yield(2);
  IM_CHECK(!ctx->ItemExists("//###First steps/###step_graph"));  // done, with a tick
  ctx->ItemClick("//###First steps/###step_validate");
  settle(ctx);
  IM_CHECK_EQ(done(), 2U);
  bench().commands.run("sweep.take_command", "widebench benchmark mlp -p ci -n 2");
  ctx->ItemClick("//###First steps/###step_sweep");
  settle(ctx);
  IM_CHECK_EQ(done(), 3U);
  // Closed, it stays so.
  ctx->ItemClick("//###First steps/###close_guide");
  ctx->Yield(3);
  IM_CHECK(!is_open("first_steps") && !bench().settings.first_steps);
  bench().note_what_is_open();
  IM_CHECK(!bench().settings.first_steps);
  bench().commands.run("view.reset");
  ctx->Yield(4);
  IM_CHECK(!is_open("first_steps"));
  bench().commands.run("view.first_steps");
  ctx->Yield(3);
  IM_CHECK(is_open("first_steps"));
}

void later_starts_are_not(ImGuiTestContext* ctx) {
  fresh(ctx);
  IM_CHECK(!is_open("first_steps"));
}

}  // namespace

void add_settings_tests(ImGuiTestEngine* engine) {
  const auto add = [engine](const char* name, ImGuiTestTestFunc* test) {
    IM_REGISTER_TEST(engine, "settings", name)->TestFunc = test;
  };
  add("the last are kept", the_last_are_kept);
  add("settings are kept", settings_are_kept);
  add("all is kept", all_is_kept);
  add("the dialog sets", the_dialog_sets);
  add("notices stay as long as wanted", notices_stay_as_long_as_wanted);
  add("nothing is opened unasked", nothing_is_opened_unasked);
  add("the first start is guided", the_first_start_is_guided);
  add("later starts are not", later_starts_are_not);
}

}  // namespace wide::test
