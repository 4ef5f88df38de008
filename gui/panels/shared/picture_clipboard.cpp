#include "gui/panels/shared/picture_clipboard.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "formats/error.h"

namespace wide::gui {
namespace {

// The program of that name in $PATH; empty: there is none.
std::string program_called(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto end = std::min(rest.find(':'), rest.size());
    const auto file = std::filesystem::path(rest.substr(0, end)) / name;
    if (file.is_absolute() && ::access(file.c_str(), X_OK) == 0) return file.string();
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return "";
}

}  // namespace

std::vector<std::string> picture_tool() {
  const bool wayland = std::getenv("WAYLAND_DISPLAY") != nullptr;
  if (const auto tool = wayland ? program_called("wl-copy") : ""; !tool.empty())
    return {tool, "--type", "image/png"};
  if (const auto tool = program_called("xclip"); !tool.empty())
    return {tool, "-selection", "clipboard", "-t", "image/png", "-i"};
  return {};
}

std::string cannot_copy_pictures() {
  return picture_tool().empty()
             ? "pictures are copied by xclip, or wl-copy on Wayland; install it, or export a PNG"
             : "";
}

void copy_picture(const std::filesystem::path& png) {
  auto words = picture_tool();
  if (words.empty()) throw Error("clipboard", cannot_copy_pictures());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, png.c_str(), O_RDONLY, 0);
  // It stays behind as the clipboard's owner: nothing of ours is kept open by it.
  for (const int output : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&files, output, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = ::posix_spawn(&child, argv[0], &files, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (failed != 0) throw Error("clipboard", words[0] + " cannot be started: " + std::strerror(failed));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw Error("clipboard", words[0] + " did not take the picture; export a PNG instead");
}

}  // namespace wide::gui
