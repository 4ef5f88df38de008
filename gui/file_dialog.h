#pragma once
// Choosing files: a dialog of our own, which is the same everywhere and needs no program of the desktop.

#include <functional>
#include <string>
#include <vector>

#include "gui/ui.h"

namespace wide::gui {

class FileDialog {
 public:
  /// Opens at the next draw. `chosen` gets what was chosen when the person confirms, one path at least.
  void open(std::string title, std::vector<std::string> extensions,
            std::function<void(std::vector<std::string>)> chosen);
  void draw(const Ui& ui);
  bool is_open() const { return opening_ || open_; }

 private:
  struct Entry {
    std::string name;
    bool folder = false;
    double bytes = 0;
  };
  void read();
  void confirm();
  void draw_entries(const Ui& ui);

  std::string title_, folder_, typed_, problem_;
  std::vector<std::string> extensions_;
  std::vector<Entry> entries_;
  std::vector<std::string> marked_;  ///< names in `folder_`
  std::function<void(std::vector<std::string>)> chosen_;
  bool opening_ = false, open_ = false;
};

}  // namespace wide::gui
