#include "core/strategy/mode.h"

#include <string>

#include "formats/error.h"

namespace wide {

std::string_view name(Mode mode) {
  constexpr std::array<std::string_view, kAllModes.size()> names = {"eager", "default", "reduce-overhead",
                                                                    "max-autotune"};
  return names[static_cast<std::size_t>(mode)];
}

Mode parse_mode(std::string_view text) {
  std::string names;
  for (const auto mode : kAllModes) {
    if (name(mode) == text) return mode;
    names.append(names.empty() ? "" : ", ").append(name(mode));
  }
  throw Error("usage", "the mode '" + std::string(text) + "' does not exist; there are " + names);
}

}  // namespace wide
