#pragma once
// A child process of the window, heard line by line: what is measured is measured there, as from a shell.

#include <functional>
#include <string>
#include <vector>

namespace wide::gui {

struct ChildTask {
  std::vector<std::string> argv;  ///< program (a path) and arguments
  std::function<void(const std::string&)>
      line;                         ///< each line of its standard error, as it comes; may be empty
  std::function<bool()> cancelled;  ///< asked ten times a second; may be empty
  double grace_seconds = 10;        ///< from the polite signal (SIGINT) to the other one
  std::size_t longest_output = std::size_t{64} << 20;
};

struct ChildEnd {
  int code = -1;           ///< exit code; 128 + the signal's number
  bool cancelled = false;  ///< we ended it
  std::string output;      ///< its standard output, cut at longest_output
  std::string errors;      ///< the last 8 KiB of its standard error
};

/// Runs it in a process group of its own and waits. Throws wide::Error ("process") when it cannot be started.
ChildEnd run_child(const ChildTask& task);

/// What a failed child said, for a notice: its last line that begins with "error:", else its last lines.
std::string complaint(const ChildEnd& end);

}  // namespace wide::gui
