#pragma once
// What a model of the user's own is called in tables and in the history.

#include <filesystem>
#include <string>

namespace wide::app {

/// "net" of net.pt2. A model.pt2 says nothing: its folder does.
inline std::string model_title(const std::filesystem::path& model) {
  const auto stem = model.stem().string();
  std::error_code ignored;
  const auto folder = std::filesystem::absolute(model, ignored).parent_path().filename().string();
  return stem == "model" && !folder.empty() ? folder : stem;
}

}  // namespace wide::app
