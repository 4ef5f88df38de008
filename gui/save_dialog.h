#pragma once
// Asks where to write a file, and writes it on a job.

#include <filesystem>
#include <functional>
#include <string>

#include "gui/ui.h"

namespace wide::gui {

/// Writes the file; runs on a job, so it owns all that it needs. Throws what went wrong.
using Write = std::function<void(const std::filesystem::path& file)>;

class SaveDialog {
 public:
  /// `name` is proposed, in the folder that was last saved to. `path` not empty: written at once, nothing is
  /// asked.
  void open(const Ui& ui, std::string title, const std::string& name, Write write,
            const std::string& path = {});
  /// For what must be written on the window's thread in a coming frame, as pictures are.
  void open_here(std::string title, const std::string& name, Write write);
  void draw(const Ui& ui);

 private:
  void propose(const std::string& name);
  void save(const Ui& ui, const std::filesystem::path& file);

  std::string title_, path_, folder_;
  Write write_;
  bool opening_ = false, here_ = false;
};

/// Writes a text, whole or not at all. Throws wide::Error.
void write_file(const std::filesystem::path& file, const std::string& text);

}  // namespace wide::gui
