#pragma once
// A window on a display that nobody sees, with the real engine behind it, driven by imgui_test_engine as a
// person would.

#include <imgui.h>
#include <imgui_te_context.h>
#include <imgui_te_engine.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gui/workbench.h"

namespace wide::test {

/// The window under test.
gui::Workbench& bench();
struct Start {
  std::string device = "cpu";  ///< where models are
  bool first = false;          ///< as on the first start of a new user, with the guide
};
/// Starts each test: a new workbench with the default layout, no settings kept, the corpus as the working
/// folder.
void fresh(ImGuiTestContext* ctx, const Start& start = {});
/// The program that lies beside this one: children are started of it.
std::string program_beside();
/// Draws until no job waits or runs; an error after two minutes.
void settle(ImGuiTestContext* ctx);
/// fresh(), and the sample is open.
void with_sample(ImGuiTestContext* ctx);
/// Brings a panel to the front.
void show(ImGuiTestContext* ctx, const char* panel);
/// Clicks the tab of a panel, by its title: "Sweep".
void click_tab(ImGuiTestContext* ctx, const char* title);
/// At its left end: its middle may be the border of two columns, which is dragged.
void click_row(ImGuiTestContext* ctx, const char* row);
/// What GLFW does when files are dropped into the window: calls its callback.
void drop(const std::vector<std::string>& paths);
/// Writes what the window shows to NAME.png in the folder that $WIDEBENCH_TEST_PICTURES names; does nothing
/// where it names none. The mouse is moved out of the way.
void picture(ImGuiTestContext* ctx, const std::string& name);

/// A folder of the corpus: "resblock".
std::filesystem::path corpus(const std::string& name);
/// An empty folder of this run.
std::filesystem::path scratch();
/// Text of the newest notice, title and text; empty: none is shown.
std::string newest_notice();
/// True when a notice shown has all of this text.
bool noticed(const std::string& text);
std::string clipboard();
/// All text of the next frame, as far as it was drawn.
std::string drawn_text(ImGuiTestContext* ctx);
/// Makes the window that large, in pixels; {}: as it was at the start.
void resize(ImGuiTestContext* ctx, ImVec2 size = {});
/// Opens a combo and chooses an item of it by label or "###id".
void pick(ImGuiTestContext* ctx, ImGuiTestRef combo, const char* item);
/// An item with this label where `item` is: combos say no label, so that a search does not find them.
ImGuiID beside(ImGuiTestContext* ctx, const std::string& item, const char* label);

/// One frame as it was drawn: until the picture is whole, and processor time of the window's thread alone.
struct Frame {
  double seconds = 0, processor_seconds = 0;
};
/// From here on frames are noted, whole ones with all pixels; ends with noted_frames().
void note_frames();
std::vector<Frame> noted_frames();
/// Of those so far, the ones that the window would have drawn: they show something new.
int noted_pictures();
/// While it lives, frames come when the program would draw them and not one after the other.
class AtThePaceOfTheProgram {
 public:
  AtThePaceOfTheProgram();
  ~AtThePaceOfTheProgram();
  /// As if the person did something now.
  void touch() const;
  AtThePaceOfTheProgram(const AtThePaceOfTheProgram&) = delete;
  AtThePaceOfTheProgram& operator=(const AtThePaceOfTheProgram&) = delete;
};

/// The groups, a file each.
void add_shell_tests(ImGuiTestEngine* engine);
void add_palette_tests(ImGuiTestEngine* engine);
void add_notices_tests(ImGuiTestEngine* engine);
void add_models_tests(ImGuiTestEngine* engine);
void add_graph_tests(ImGuiTestEngine* engine);
void add_graph_picture_tests(ImGuiTestEngine* engine);
void add_strategies_tests(ImGuiTestEngine* engine);
void add_jobs_tests(ImGuiTestEngine* engine);
void add_cancel_tests(ImGuiTestEngine* engine);
void add_inspector_tests(ImGuiTestEngine* engine);
void add_looks_tests(ImGuiTestEngine* engine);
void add_settings_tests(ImGuiTestEngine* engine);
void add_speed_tests(ImGuiTestEngine* engine);
void add_dashboard_tests(ImGuiTestEngine* engine);
void add_defects_tests(ImGuiTestEngine* engine);
void add_ordinary_tests(ImGuiTestEngine* engine);
void add_flame_tests(ImGuiTestEngine* engine);
void add_faults_tests(ImGuiTestEngine* engine);
void add_sweep_tests(ImGuiTestEngine* engine);
void add_profile_tests(ImGuiTestEngine* engine);
void add_history_tests(ImGuiTestEngine* engine);
void add_tour_tests(ImGuiTestEngine* engine);
void add_tour_more_tests(ImGuiTestEngine* engine);
void add_agreement_tests(ImGuiTestEngine* engine);
void add_gpu_tests(ImGuiTestEngine* engine);

}  // namespace wide::test
