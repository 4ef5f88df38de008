#pragma once
// Speed-up, time, throughput or memory over N: both axes logarithms, so that twice as fast is as far up as
// half as fast is down.

#include "gui/panels/shared/snapshot.h"
#include "gui/views/over_n.h"

namespace wide::gui {

struct OverNPlot {
  OverN what = OverN::kOverEager;
  std::vector<Series> series;
  std::size_t left_out = 0;  ///< curves beyond the most that are drawn
  bool fit = false;          ///< it is to show everything at the next frame
  Snapshot picture;
};

/// The curves of these runs.
void take_curves(OverNPlot& plot, std::span<const RunCurves> runs);
/// A drop-down of what is plotted; true when changed.
bool choose_over_n(OverNPlot& plot);
/// `height` in pixels.
void draw_over_n(OverNPlot& plot, const Ui& ui, float height);

}  // namespace wide::gui
