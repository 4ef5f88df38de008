#include "results/grid.h"

#include <algorithm>

namespace wide::results {

std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

void Grid::row(std::vector<std::string> cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], characters(cells[i]));
  lines_.push_back({std::move(cells), false});
}

std::string Grid::str() const {
  std::string result;
  for (const auto& [cells, spans] : lines_) {
    std::string line = spans ? cells[0] : "";
    for (std::size_t i = 0; !spans && i < cells.size(); ++i) {
      const std::string padding(widths_[i] - characters(cells[i]), ' ');
      line += "  ";
      line += left_[i] ? cells[i] + padding : padding + cells[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

}  // namespace wide::results
