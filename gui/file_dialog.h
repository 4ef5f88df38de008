#pragma once
// Choosing files: a dialog of our own, which is the same everywhere and needs no program of the desktop.

#include <functional>
#include <string>
#include <vector>

#include "gui/ui.h"

namespace wide::gui {

class FileDialog {
 public:
  /// Opens at the next draw. `chosen` gets what was chosen when the person confirms, one path at least; a
  /// folder where `folders` allows it.
  void open(std::string title, std::vector<std::string> extensions,
            std::function<void(std::vector<std::string>)> chosen, bool folders = false);
  void draw(const Ui& ui);
  bool is_open() const { return opening_ || open_; }

 private:
  struct Entry {
    std::string name;
    bool folder = false;
    double bytes = 0;
  };
  void read();
  void enter(const std::string& folder);
  bool has_files(const std::string& folder) const;
  void mark(std::size_t index);
  void confirm();
  void draw_entries(const Ui& ui);
  void draw_folder();

  std::string title_, folder_, folder_text_, typed_, problem_;
  std::vector<std::string> extensions_;
  std::vector<Entry> entries_;
  std::vector<std::string> marked_;  ///< names in `folder_`
  std::size_t last_ = 0;             ///< entry that was marked last: where a range begins
  std::function<void(std::vector<std::string>)> chosen_;
  bool opening_ = false, open_ = false, folders_ = false;
};

}  // namespace wide::gui
