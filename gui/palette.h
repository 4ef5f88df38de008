#pragma once
// The command palette: every command by a few letters of its name.

#include <string>

#include "gui/ui.h"

namespace wide::gui {

class Palette {
 public:
  void open() { opening_ = true; }
  void draw(const Ui& ui);
  bool is_open() const { return opening_ || open_; }

 private:
  std::string query_;
  int at_ = 0;
  bool opening_ = false, open_ = false;
};

/// "Ctrl+Shift+P"; empty for no chord.
std::string chord_text(int chord);

}  // namespace wide::gui
