#pragma once
// What the window keeps between runs: theme, scale, recent models, pinned subjects, bookmarks, the layout of
// its panels.

#include <filesystem>
#include <string>
#include <vector>

#include "app/bench.h"
#include "gui/views/bookmarks.h"

namespace wide::gui {

struct Settings {
  bool dark = true;
  double scale = 1;                      ///< of the text, beside the display's own scale; [0.5, 3]
  std::vector<ModelSource> recent;       ///< newest first, at most 8
  std::string layout;                    ///< as ImGui writes it; empty: the default
  bool open = false;                     ///< the newest of `recent` was open when the window was closed
  BuildWish wish;                        ///< what was chosen for it then
  int width = 0, height = 0;             ///< of the window, pixels; 0: the default
  std::string sweep;                     ///< what to measure, as a command line; empty: the default
  bool reopen = true;                    ///< opens at start what was open at the end
  double notice_seconds = 6;             ///< how long a notice stays that is no warning; [2, 60]
  bool first_steps = true;               ///< the panel that guides a new user is open
  std::vector<std::string> pinned;       ///< subjects on the dashboard of the history, at most 24
  std::vector<KeptBookmarks> bookmarks;  ///< of profiles, newest first

  /// Puts a source first.
  void remember(const ModelSource& source);
};

/// `$XDG_CONFIG_HOME/widebench/window.json`, else below ~/.config; empty where there is no home.
std::filesystem::path settings_file();
/// The defaults where the file is not there; what cannot be read is left out, and `fault` then says why,
/// where it is given. Throws nothing.
Settings read_settings(const std::filesystem::path& file, std::string* fault = nullptr);
/// Copies the file to FILE.old, since the next settings replace it. False where that cannot be done.
bool keep_old_settings(const std::filesystem::path& file);
/// Replaces the file as a whole. Returns why it could not, or nothing.
std::string write_settings(const std::filesystem::path& file, const Settings& settings);

}  // namespace wide::gui
