#pragma once
// What a person may set, in one place: look, start, notices, what is remembered.

namespace wide::gui {

class Workbench;
struct Ui;

class SettingsDialog {
 public:
  void open() { opening_ = true; }
  void draw(Workbench& bench, const Ui& ui);

 private:
  bool opening_ = false;
};

}  // namespace wide::gui
