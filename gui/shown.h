#pragma once
// Whether a frame would show anything new.

#include <cstddef>

struct ImDrawData;

namespace wide::gui {

/// What the window shows, so that the same picture is not drawn again: without a GPU, pixels take most of a
/// frame's time.
class Shown {
 public:
  /// Whether this is to be drawn; it counts as shown then.
  bool differs(const ImDrawData& picture);
  /// The window lost what it showed.
  void forget() { hash_ = 0; }

 private:
  std::size_t hash_ = 0;
};

}  // namespace wide::gui
