#pragma once
// How far a sweep in a child process is, from the lines that it writes.

#include <cstdint>
#include <string>
#include <string_view>

namespace wide::gui {

struct SweepProgress {
  std::int64_t run = 0;   ///< its number in the database; 0: not begun
  std::size_t total = 0;  ///< cases
  std::size_t done = 0;   ///< stored, those of an earlier start too
  std::string last;       ///< what was measured last and how it went
  std::string left;       ///< time left: "1:20"; empty: not known

  /// In [0, 1]; -1 when nothing is known.
  double fraction() const { return total == 0 ? -1 : static_cast<double>(done) / static_cast<double>(total); }
  /// "12 of 57 cases, 1:20 left"
  std::string text() const;
};

/// Takes in one line. True when it said something.
bool take_line(std::string_view line, SweepProgress& progress);

}  // namespace wide::gui
