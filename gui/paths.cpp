#include "gui/paths.h"

#include <algorithm>
#include <cstdlib>

namespace wide::gui {
namespace {

// Empty: there is none, or it is the root, below which everything lies.
std::string home() {
  const char* value = std::getenv("HOME");
  std::string path = value != nullptr && *value == '/' ? value : "";
  while (path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace

std::string shown_path(const std::filesystem::path& path) {
  const auto text = path.string();
  const auto base = home();
  if (base.empty() || !text.starts_with(base)) return text;
  const auto rest = text.substr(base.size());
  if (!rest.empty() && rest.front() != '/') return text;
  std::string shown = "~";
  return shown.append(rest);
}

std::filesystem::path typed_path(const std::string& text, const std::filesystem::path& folder) {
  std::string path = text;
  while (path.ends_with(' ') || path.ends_with('\n')) path.pop_back();
  path.erase(0, std::min(path.find_first_not_of(' '), path.size()));
  if (path == "~" || path.starts_with("~/")) path = home() + path.substr(1);
  auto whole = (folder / path).lexically_normal();
  if (!whole.has_filename() && whole.has_relative_path()) whole = whole.parent_path();  // "models/"
  return whole;
}

}  // namespace wide::gui
