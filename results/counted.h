#pragma once
// How many there are of something, in words.

#include <concepts>
#include <string>
#include <string_view>

namespace wide::results {

/// "1 case", "2 cases".
std::string counted(std::integral auto count, std::string_view what) {
  return std::to_string(count).append(" ").append(what).append(count == 1 ? "" : "s");
}

}  // namespace wide::results
