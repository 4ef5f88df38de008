#pragma once
// The whole window but for the window: what is open, commands, panels. Knows ImGui, no GLFW and no OpenGL, so
// that tests drive it as a person would.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/window.h"
#include "gui/file_dialog.h"
#include "gui/palette.h"
#include "gui/save_dialog.h"
#include "gui/session.h"
#include "gui/settings.h"
#include "gui/settings_dialog.h"
#include "gui/status.h"
#include "gui/ui.h"
#include "profiler/machine.h"

namespace wide::gui {

struct GraphPanel;
struct ResultsPanels;

/// Where a panel is docked at first.
enum class Place { kLeft, kLeftBelow, kMiddle, kRight, kBelow };

struct Panel {
  std::string id;     ///< "graph": in commands ("view.graph") and for --open
  std::string title;  ///< of its window, an id for tests: "//Graph"
  const char* icon = "";
  Place place = Place::kMiddle;
  std::function<void(const Ui&)> draw;
  bool open = true;
  bool always = true;  ///< open in a fresh layout, too
  bool raise = false;  ///< bring it to the front in the next frame
};

class Workbench {
 public:
  Workbench(Host host, Settings settings, bool demo);
  ~Workbench();
  Workbench(const Workbench&) = delete;
  Workbench& operator=(const Workbench&) = delete;

  /// Adds a panel and its command. Before the first frame.
  void add_panel(Panel panel);
  /// Draws all, between ImGui's NewFrame and Render.
  void frame(double now);
  /// Files and folders that were dropped, chosen, or named on the command line.
  void open_files(const std::vector<std::string>& paths);
  /// Then builds what was chosen, where that is not what AUTO builds.
  void open_source(const ModelSource& source, const BuildWish& wish = {});
  /// Builds what `session.wish` says.
  void build();
  /// Says of a job that it waits for what is being timed, so that it does not look as if nothing happened.
  void say_if_waiting(const std::string& title);
  void prove();
  /// Runs a pass and keeps what each node called, for the inspector.
  void look_at_calls();
  /// Lets a child process time what no earlier run has timed, then builds with what it found.
  void measure();

  /// What was open and what was to be measured when the window was closed, out of the settings.
  void restore(bool model);
  /// And into them.
  void note_what_is_open();

  /// Takes over settings that were changed, and has them kept.
  void apply_settings();

  /// Asks first when work goes on.
  void ask_to_close();
  bool closed() const { return closed_; }
  bool restyles() const { return restyle_; }  ///< the next frame has another theme or letters of another size
  /// Brings a panel to the front; false when there is none of that name.
  bool show(const std::string& panel);
  /// The theme and scale of the settings, in ImGui's style. Also when the display's scale changes.
  void restyle(float display_scale);
  Ui ui() const;
  /// Facts of this machine, as they key its results; looked up when first asked for.
  const profiler::Facts& machine() const;

  Host host;
  Settings settings;
  bool demo = false;
  Theme theme;
  Fonts fonts;
  Commands commands;
  Notices notices;
  Selection selection;
  Session session;
  FileDialog files;
  SaveDialog save;
  std::shared_ptr<ResultsPanels> results;   ///< state of sweep, profile and history
  std::shared_ptr<GraphPanel> graph_panel;  ///< and of the graph
  Palette palette;
  SettingsDialog settings_dialog;
  StatusBar status;
  std::vector<Panel> panels;
  std::function<void()> settings_changed;  ///< the window keeps them
  std::function<bool()> watch;  ///< of what is shown: whether somebody else changed it; empty: nobody could
  std::chrono::steady_clock::time_point changed;  ///< when a job last had something to show

 private:
  void add_commands();
  void add_view_commands();
  void shortcuts();
  void draw_menu(const Ui& ui);
  void draw_menu_items(const Ui& ui, const std::string& menu);
  void draw_dock();
  void default_layout(unsigned dock);
  bool is_compact() const;
  void draw_notices(const Ui& ui);
  void draw_closing();
  void draw_choice();
  void draw_help(const Ui& ui);
  void show_model(std::shared_ptr<const ModelView> model);
  void change_scale(double scale);

  double now_ = 0;
  float display_scale_ = 1;
  bool compact_ = false;  ///< there is little room for this size of text
  bool popup_ = false;    ///< a dialog or menu was open at the end of the last frame: it has the keys
  bool restyle_ = true, reset_layout_ = false, laid_out_ = false;
  bool closing_ = false, closed_ = false, help_ = false;
  std::optional<ModelSource> choice_;  ///< models of a folder, of which one is to be chosen
  mutable std::optional<profiler::Facts> machine_;

 public:
  Jobs jobs;  ///< the last member: its threads end before what they use
};

/// The panels of this library, in the order of the work.
void add_panels(Workbench& bench);

}  // namespace wide::gui
