#pragma once
// Text without regard to capitals, for searches and filters.

#include <string>
#include <string_view>

namespace wide::gui {

/// Letters of ASCII in lower case, all else as it is.
std::string lowered(std::string_view text);

}  // namespace wide::gui
