#pragma once
// How strategies are written on the command line and in presets. Nothing of libtorch.

#include <string>
#include <string_view>
#include <vector>

namespace wide {

/// "conv=grouped+linear=fused" -> "conv=grouped", "linear=fused".
inline std::vector<std::string> strategies_in(std::string_view text) {
  std::vector<std::string> all;
  for (auto plus = text.find('+'); plus != std::string_view::npos; plus = text.find('+')) {
    all.emplace_back(text.substr(0, plus));
    text.remove_prefix(plus + 1);
  }
  all.emplace_back(text);
  return all;
}

/// "conv=grouped" -> "grouped"; "grouped" -> "grouped".
inline std::string strategy_name(std::string_view text) {
  return std::string(text.substr(text.find('=') + 1));  // npos + 1 is 0
}

}  // namespace wide
