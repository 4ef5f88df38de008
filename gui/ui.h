#pragma once
// What a panel gets. A panel is a value with its own state and a function beside it,
//
//     void draw(SweepPanel& panel, const Ui& ui);
//
// which the shell calls each frame inside the panel's own window (Begin and End are the shell's). A panel has
// no logic and blocks nothing: it issues commands, starts jobs, posts notices, changes the selection. Sizes
// are in em. Widgets have stable ids ("##table", "Start"), since tests find them by path: "//Sweep/Start".

#include <imgui.h>

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "gui/commands.h"
#include "gui/jobs.h"
#include "gui/notices.h"
#include "gui/selection.h"
#include "gui/theme.h"

namespace wide::gui {

struct Fonts {
  ImFont* text = nullptr;  ///< has the icons of Font Awesome 6 too: "\xef\x81\x8b" (gui/icons.h names them)
  ImFont* bold = nullptr;  ///< headings; the icons too
  ImFont* mono = nullptr;  ///< code, graph text, command lines
};

struct Ui {
  const Theme& theme;
  const Fonts& fonts;
  Commands& commands;
  Jobs& jobs;
  Notices& notices;
  Selection& selection;
  double now = 0;       ///< seconds since the window opened; fixed while a screenshot is taken
  bool demo = false;    ///< shows prepared samples and a fixed clock, so that pictures do not change
  std::string program;  ///< path of this program, for child processes
};

/// Size of the font: the unit of all sizes.
inline float em() {
  return ImGui::GetFontSize();
}

/// A button that issues a command; greyed, with the reason as tooltip, when the command cannot run now. Its
/// label is `label` or else the command's title.
bool command_button(const Ui& ui, std::string_view command, const char* label = nullptr,
                    const std::string& argument = {});

/// Puts the next button on this line where one with this label fits, else on the next line.
void same_line_if_fits(const char* label);

/// What an empty panel shows, in its middle: what it will show, and the one button that fills it.
void empty_state(const Ui& ui, const char* icon, const char* title, const char* text,
                 std::string_view command, const char* button);

/// "Copy as command line": a button ("###copy_line") that puts `command_line` on the clipboard and says so.
void copy_command_line(const Ui& ui, const std::string& command_line);

/// A heading with a hairline below.
void heading(const Ui& ui, const char* text);
/// Text in the faint colour, wrapped at the panel's edge.
void faint_text(const Ui& ui, std::string_view text);
/// What a column of texts takes at most by itself, pixels; a person may make it wider.
inline float widest_text() {
  return 28 * em();
}
/// As much of a text as fits into `width` pixels, with an ellipsis where something is left out.
std::string fitting(const std::string& text, float width);
/// One line of text; what does not fit into `width` pixels (0: the cell or space left) becomes an ellipsis,
/// and the tooltip then says it all. True where all fits.
bool fitted_text(std::string_view text, float width = 0);
/// ImGui::BeginCombo with an ellipsis and a tooltip where what is chosen does not fit.
bool begin_combo(const char* id, const std::string& preview, int flags = 0);
/// One of a few names by its index; true when it changed.
bool combo(const char* id, int& which, std::initializer_list<const char*> names);
/// Text at the right edge of the cell or of the space left: numbers in tables.
void right_text(std::string_view text);
/// The heading of the current column of a table; `number`: at the right, as right_text is.
void table_heading(const char* title, bool number);
/// The row of headings; `numbers`: the columns that hold numbers.
void table_headings(std::initializer_list<int> numbers);
/// Word and icon in the colour of its meaning.
void badge(const Ui& ui, Level level, std::string_view word);
/// How far something is, 0 to 1, below 0: unknown. What does not fit into the bar stands below it, wrapped.
/// `width` in pixels; 0: all that is left.
void progress_bar(const Ui& ui, double fraction, const std::string& text, float width = 0);
/// Tooltip for the last item, wrapped, after ImGui's usual delay.
void tooltip(std::string_view text);

/// To be called behind what stands for a whole row: a right click on it offers to copy each of these cells,
/// or the row. Empty cells are left out.
void row_menu(const Ui& ui, const std::vector<std::string>& cells);

/// Three significant figures with a unit: "1.52 ms", "38.0 MB", "74.0 k". `microseconds` below 0 or not
/// finite: "–".
std::string time_text(double microseconds);
std::string time_text(double microseconds, bool measured);  ///< with "~" before what is estimated
std::string bytes_text(double bytes);
std::string count_text(double count);
/// "1.38× [1.35, 1.41]"; without the brackets where no interval is known (low > high).
std::string ratio_text(double ratio, double low = 1, double high = 0);

}  // namespace wide::gui
