#pragma once
// One row of a timeline with any number of items, cut down to what a screen can show: items too narrow to
// draw become merged blocks. See Note [Level of detail] in blocks.cpp.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace wide::gui {

/// What is drawn as one rectangle. Times in nanoseconds.
struct Block {
  std::int64_t start = 0, end = 0;
  std::size_t first = 0;    ///< index within the row of its first item
  std::size_t count = 1;    ///< items in it; 1: an item by itself
  std::int64_t busy = 0;    ///< summed length of its items, <= end - start
  std::size_t longest = 0;  ///< index within the row of the longest item in it

  bool merged() const { return count > 1; }
  /// Share of the block that its items fill; 1 for an item by itself.
  double filled() const {
    return end > start ? static_cast<double>(busy) / static_cast<double>(end - start) : 1.0;
  }
  bool operator==(const Block&) const = default;
};

/// Items side by side, none over another, in order of time.
class BlockRow {
 public:
  /// `start` must not lie before the previous item's. What lies before its end is cut off. `item` is the
  /// caller's number.
  void push(std::int64_t start, std::int64_t end, std::uint32_t item);
  /// To be called once, after the last push().
  void finish();

  std::size_t size() const { return start_.size(); }
  bool empty() const { return start_.empty(); }
  std::int64_t start(std::size_t i) const { return start_[i]; }
  std::int64_t end(std::size_t i) const { return end_[i]; }
  std::uint32_t item(std::size_t i) const { return item_[i]; }

  /// What there is to draw of [from, to), in order, into `out` (cleared first). Items shorter than `narrow`
  /// nanoseconds are merged with what starts in the same stretch of that length; hence at most
  /// 2 (to - from) / narrow + 2 blocks, found in logarithmic time each.
  void blocks(double from, double to, double narrow, std::vector<Block>& out) const;
  /// The item at `time`, or else the nearest one less than `tolerance` nanoseconds away.
  std::optional<std::size_t> at(double time, double tolerance = 0) const;
  /// Nanoseconds of [from, to) that items fill.
  double busy(double from, double to) const;
  /// Index of the first item that ends after `time`; size() when none does.
  std::size_t first_after(double time) const;
  /// Index of the longest item of [first, last).
  std::size_t longest(std::size_t first, std::size_t last) const;

 private:
  std::size_t first_starting(std::size_t from, double time) const;
  /// Length and number side by side: looking for the longest then touches no other memory.
  struct Longest {
    std::int64_t length = 0;
    std::uint32_t item = 0;
  };
  std::int64_t length(std::size_t i) const { return end_[i] - start_[i]; }

  std::vector<std::int64_t> start_, end_;
  std::vector<std::int64_t> before_;  ///< summed length of all items before; one more than items
  std::vector<std::uint32_t> item_;
  /// levels_[k][j]: the longest item of those numbered [j 16^(k+1), (j + 1) 16^(k+1)).
  std::vector<std::vector<Longest>> levels_;
};

}  // namespace wide::gui
