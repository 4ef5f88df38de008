#pragma once
// Captures as lanes of blocks on one scale: rivals above wide, each thread and stream a lane, calls within
// calls below each other.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gui/views/blocks.h"
#include "profiler/trace/structure.h"
#include "profiler/trace/trace.h"

namespace wide::gui {

/// A thread or stream of one capture. Times of all its rows are nanoseconds since that capture's origin().
struct TimelineLane {
  std::size_t capture = 0;     ///< index into the traces
  std::uint32_t track = 0;     ///< of that trace
  std::string title;           ///< "main", "stream 7"
  bool stream = false;         ///< of a device
  std::vector<BlockRow> rows;  ///< outermost calls first; items are indices of slices
  BlockRow work;               ///< united time of work; what lies between is idle; items without meaning
};

/// A slice by its place.
struct SlicePlace {
  std::size_t lane = 0, row = 0, index = 0;
  bool operator==(const SlicePlace&) const = default;
};

/// Where everything lies. Knows the traces it was made of by index only: they must be kept beside it.
struct Timeline {
  std::vector<TimelineLane> lanes;
  std::vector<std::int64_t> origins;  ///< by capture: what its lanes call 0, in the trace's own time
  std::int64_t length = 0;            ///< from 0 to the end of the longest capture
  std::size_t slices = 0;
};

/// A capture begins where its first pass does, so that wide and its rivals can be read against each other;
/// `aligned` false: all keep their place on the common clock.
Timeline make_timeline(std::span<const profiler::Trace> traces,
                       std::span<const profiler::Structure> structures, bool aligned = true);

/// The slice in that place.
profiler::Slice slice_at(const Timeline& timeline, std::span<const profiler::Trace> traces, SlicePlace place);

/// What is known of one slice, as lines for a tooltip: name, node, members, duration, delay since its launch.
std::vector<std::string> describe(const profiler::Trace& trace, const profiler::Structure& structure,
                                  std::size_t slice);

/// Start of a device's slice less that of the call that launched it, nanoseconds; nothing without a launch.
std::optional<std::int64_t> launch_delay(const profiler::Trace& trace, std::size_t slice);

/// Which slices a text is found in: in their own name or in that of their node. Case does not count.
class Search {
 public:
  /// An empty `text` finds nothing.
  void look_for(std::string_view text, const Timeline& timeline, std::span<const profiler::Trace> traces);
  void clear();

  const std::string& text() const { return text_; }
  std::size_t found() const { return found_; }
  /// How many of items [first, first + count) of a row are found.
  std::size_t within(std::size_t lane, std::size_t row, std::size_t first, std::size_t count) const;
  /// The next one found after (or before) `time`, around the end when there is none; ties by lane and row.
  std::optional<SlicePlace> next(const Timeline& timeline, double time, bool forwards) const;

 private:
  std::string text_;
  std::size_t found_ = 0;
  std::vector<std::vector<std::vector<std::uint32_t>>> before_;  ///< [lane][row][index]: found before it
};

/// What two points in time enclose.
struct Measure {
  double from = 0, to = 0;  ///< nanoseconds, from <= to
  double length() const { return to - from; }
};

/// Time of work within it on one lane, and how many slices lie in it, wholly or partly.
struct Measured {
  double busy_ns = 0;
  std::size_t slices = 0;
};
Measured measured(const TimelineLane& lane, const Measure& stretch);

/// `time`, or the nearest begin or end of a slice on any of the lanes within `tolerance` nanoseconds.
double snapped(const Timeline& timeline, double time, double tolerance);

}  // namespace wide::gui
