#pragma once
// Which stretch of time a timeline shows, and how zooming and panning change it. Times in nanoseconds as
// doubles, places in pixels from the left edge of the lanes.

#include <cstdint>
#include <string>
#include <vector>

namespace wide::gui {

class TimeView {
 public:
  /// How far the trace goes: the view stays within it and half a screen beyond.
  void set_extent(double from, double to);
  /// Keeps the stretch that is shown when the panel becomes wider or narrower.
  void set_width(double pixels);

  double from() const { return from_; }
  double to() const { return from_ + width_ * scale_; }
  double width() const { return width_; }
  /// Nanoseconds per pixel.
  double scale() const { return scale_; }
  double x_of(double time) const { return (time - from_) / scale_; }
  double time_of(double x) const { return from_ + x * scale_; }

  /// Shows everything.
  void fit();
  /// Shows [from, to) with a margin of 5 % on either side.
  void show(double from, double to);
  /// What lies at pixel `x` stays there. `factor` above 1 shows more detail.
  void zoom(double factor, double x);
  /// Moves the contents by so many pixels to the right.
  void pan(double pixels);
  /// Where `time` is not in sight: moves the view with the same scale, so that it is in the middle half.
  void reveal(double time);
  bool fits_all() const;

  static constexpr double kFinest = 0.02;  ///< nanoseconds per pixel: 25 ns fill a window of 1280

 private:
  void clamp();
  double first_ = 0, last_ = 1;  ///< the extent
  double from_ = 0, scale_ = 1, width_ = 1;
};

struct Tick {
  double time = 0;
  std::string text;  ///< "1.5 us"; empty for a tick between two with a text
};

/// Ticks at round times (1, 2 or 5 times a power of ten), those with a text at least `apart` pixels from each
/// other.
std::vector<Tick> ticks(const TimeView& view, double apart);

/// A stretch of time: "1.52 us", three significant figures. A negative one has its sign.
std::string span_text(double nanoseconds);

}  // namespace wide::gui
