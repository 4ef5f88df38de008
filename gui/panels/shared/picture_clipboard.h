#pragma once
// Pictures on the clipboard: GLFW has texts only, so a program of the desktop takes them.

#include <filesystem>
#include <string>
#include <vector>

namespace wide::gui {

/// The program that takes a PNG from its standard input, with its arguments: wl-copy or xclip, whichever is
/// in $PATH; empty: neither.
std::vector<std::string> picture_tool();
/// Why no picture can be copied; empty: one can.
std::string cannot_copy_pictures();
/// For a job: gives the file to that program. Throws wide::Error.
void copy_picture(const std::filesystem::path& png);

}  // namespace wide::gui
