// Note [Level of detail]
// A frame must cost what the screen is wide, not what the trace is long. A row therefore walks over stretches
// of `narrow` nanoseconds (two pixels, say) and finds by a galloping search where the next one begins; items
// between are never touched. How full a merged block is comes from running sums, its longest item from a tree
// of maxima with sixteen children a node. Stretches lie on a fixed grid, so that blocks keep still while the
// view is moved.
#include "gui/views/blocks.h"

#include <algorithm>
#include <cmath>

namespace wide::gui {
namespace {

constexpr std::size_t kChildren = 16;

}  // namespace

void BlockRow::push(std::int64_t start, std::int64_t end, std::uint32_t item) {
  if (!end_.empty()) start = std::max(start, end_.back());
  start_.push_back(start);
  end_.push_back(std::max(start, end));
  item_.push_back(item);
}

void BlockRow::finish() {
  before_.assign(size() + 1, 0);
  for (std::size_t i = 0; i < size(); ++i) before_[i + 1] = before_[i] + length(i);
  levels_.clear();
  std::vector<Longest> below(size());
  for (std::size_t i = 0; i < size(); ++i) below[i] = {length(i), static_cast<std::uint32_t>(i)};
  while (below.size() > 1) {
    std::vector<Longest> level;
    level.reserve(below.size() / kChildren + 1);
    for (std::size_t i = 0; i < below.size(); ++i) {
      if (i % kChildren == 0) {
        level.push_back(below[i]);
      } else if (below[i].length > level.back().length) {
        level.back() = below[i];
      }
    }
    levels_.push_back(level);
    below = std::move(level);
  }
}

std::size_t BlockRow::first_after(double time) const {
  const auto found = std::upper_bound(end_.begin(), end_.end(), time, [](double t, std::int64_t end) {
    return t < static_cast<double>(end);
  });
  return static_cast<std::size_t>(found - end_.begin());
}

// First index >= `from` whose item starts at `time` or later: galloping, since it is mostly near.
std::size_t BlockRow::first_starting(std::size_t from, double time) const {
  std::size_t step = 1, low = from;
  while (low + step < size() && static_cast<double>(start_[low + step]) < time) {
    low += step;
    step *= 2;
  }
  const auto high = std::min(size(), low + step + 1);
  const auto found = std::lower_bound(
      start_.begin() + static_cast<std::ptrdiff_t>(low), start_.begin() + static_cast<std::ptrdiff_t>(high),
      time, [](std::int64_t start, double t) { return static_cast<double>(start) < t; });
  return static_cast<std::size_t>(found - start_.begin());
}

std::size_t BlockRow::longest(std::size_t first, std::size_t last) const {
  Longest best{length(first), static_cast<std::uint32_t>(first)};
  std::size_t level = 0;  // 0: items themselves; k: levels_[k - 1]
  const auto consider = [&](std::size_t i) {
    const auto one = level == 0 ? Longest{length(i), static_cast<std::uint32_t>(i)} : levels_[level - 1][i];
    if (one.length > best.length) best = one;
  };
  while (first < last) {
    if (level >= levels_.size()) {
      for (; first < last; ++first) consider(first);
      break;
    }
    for (; first < last && first % kChildren != 0; ++first) consider(first);
    for (; first < last && last % kChildren != 0; --last) consider(last - 1);
    first /= kChildren;
    last /= kChildren;
    ++level;
  }
  return best.item;
}

void BlockRow::blocks(double from, double to, double narrow, std::vector<Block>& out) const {
  out.clear();
  for (auto i = first_after(from); i < size() && static_cast<double>(start_[i]) < to;) {
    if (static_cast<double>(length(i)) >= narrow) {
      out.push_back({start_[i], end_[i], i, 1, length(i), i});
      ++i;
      continue;
    }
    const auto stretch_end = (std::floor(static_cast<double>(start_[i]) / narrow) + 1) * narrow;
    auto next = std::max(i + 1, first_starting(i, stretch_end));
    // Only the last item of a stretch can be wide: it stands by itself.
    if (next > i + 1 && static_cast<double>(length(next - 1)) >= narrow) --next;
    out.push_back({start_[i], end_[next - 1], i, next - i, before_[next] - before_[i], longest(i, next)});
    i = next;
  }
}

std::optional<std::size_t> BlockRow::at(double time, double tolerance) const {
  const auto i = first_after(time);
  const auto after = i < size() ? static_cast<double>(start_[i]) - time : INFINITY;
  if (after <= 0) return i;
  const auto before = i > 0 ? time - static_cast<double>(end_[i - 1]) : INFINITY;
  if (std::min(after, before) >= tolerance) return std::nullopt;
  return before <= after ? i - 1 : i;
}

double BlockRow::busy(double from, double to) const {
  const auto first = first_after(from);
  const auto last = first_starting(first, to);  // first that starts at or after `to`
  if (first >= last) return 0;
  auto total = static_cast<double>(before_[last] - before_[first]);
  total -= std::max(0.0, from - static_cast<double>(start_[first]));
  total -= std::max(0.0, static_cast<double>(end_[last - 1]) - to);
  return std::max(0.0, total);
}

}  // namespace wide::gui
