#include "gui/views/lowered.h"

namespace wide::gui {

std::string lowered(std::string_view text) {
  std::string result(text);
  for (auto& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

}  // namespace wide::gui
