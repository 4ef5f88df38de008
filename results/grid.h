#pragma once
// Cells as aligned text.

#include <string>
#include <string_view>
#include <vector>

namespace wide::results {

/// Characters that a terminal shows, not bytes.
std::size_t characters(std::string_view text);

/// Rows of cells, each column as wide as its widest cell, two blanks between. Cells must be printable().
class Grid {
 public:
  /// One entry per column: whether its cells stand left.
  explicit Grid(std::vector<bool> left) : left_(std::move(left)), widths_(left_.size()) {}

  void row(std::vector<std::string> cells);
  /// A line over all columns.
  void heading(std::string text) { lines_.push_back({{std::move(text)}, true}); }
  std::string str() const;

 private:
  struct Line {
    std::vector<std::string> cells;
    bool spans;
  };
  std::vector<bool> left_;
  std::vector<std::size_t> widths_;
  std::vector<Line> lines_;
};

}  // namespace wide::results
