#pragma once
// The seam between the program and its window: what the program gives, and what it is asked to show.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "app/bench.h"
#include "app/engine.h"

namespace wide::gui {

inline constexpr int kSeamVersion = 2;

/// What the program brings.
struct Host {
  app::Engine engine;
  std::shared_ptr<Bench> bench;
  std::string program;         ///< path of this program, for child processes
  std::string database;        ///< of results; empty: the default one
  std::string device = "cpu";  ///< that models run on: "cpu" or "cuda"
};

struct WindowOptions {
  std::vector<std::string> files;  ///< models and checkpoints to open at once
  std::string subject;             ///< or a built-in subject
  std::string panel;               ///< to bring to the front: "graph"; empty: as it was
  std::string screenshot;          ///< PNG to write; the program then ends. Empty: none
  int width = 1280, height = 800;  ///< pixels
  bool demo = false;               ///< a sample model, a fixed clock, nothing read or kept
  std::string theme;               ///< "dark" or "light"; empty: as it was
  double scale = 0;                ///< of the text, 1.25 for 125 %; 0: as it was
  std::string database;            ///< of results; empty: the default one
};

/// How a window ended.
struct WindowEnd {
  int exit_code = 0;
  std::string error;  ///< why there was none, with what to try; empty: all went well
  bool no_display = false;
};

/// Opens the window and returns when it is closed.
WindowEnd run_window(const Host& host, const WindowOptions& options);

}  // namespace wide::gui

extern "C" {
/// wide::gui::kSeamVersion of the library: another one is not used.
int wide_window_seam_version();
/// run_window(), out of libwide_window.so. Throws nothing.
void wide_window_run(const wide::gui::Host* host, const wide::gui::WindowOptions* options,
                     wide::gui::WindowEnd* end);
}
