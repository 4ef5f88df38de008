#pragma once
// The picture of a graph on the screen: boxes, links, the map of the whole.

#include <string>
#include <vector>

#include "gui/panels/graph_panel.h"

namespace wide::gui {

inline constexpr float kBoxWidth = 9.8F, kBoxHeight = 3.9F, kBoxGapX = 1.9F, kBoxGapY = 1.1F;  // em

/// Where it lies.
struct GraphPlace {
  ImVec2 low, high;  ///< corners of what is drawn on
  ImVec2 origin;     ///< of the picture on the screen
  float unit = 1;    ///< pixels of the screen for an em of the picture

  ImVec2 corner(const GraphBox& box) const {
    return {origin.x + static_cast<float>(box.x) * (kBoxWidth + kBoxGapX) * unit,
            origin.y + static_cast<float>(box.y) * (kBoxHeight + kBoxGapY) * unit};
  }
  ImVec2 size() const { return {kBoxWidth * unit, kBoxHeight * unit}; }
  bool in_sight(ImVec2 from, ImVec2 to) const {
    return to.x >= low.x && to.y >= low.y && from.x <= high.x && from.y <= high.y;
  }
};

/// Corners of all boxes, in em of the picture.
struct GraphBounds {
  ImVec2 low = {}, high = {};
};
GraphBounds bounds_of(const GraphPicture& picture);

/// What stands in a box.
struct BoxText {
  std::string title, line, time;
};
BoxText text_of(const GraphPanel& panel, const GraphBox& box, const ModelView& model);
/// A box in full: its text may be cut where it stands.
std::string about(const GraphPanel& panel, const GraphBox& box, const ModelView& model);

/// `hovered`, `selected`: indices of boxes; beyond them: none.
void paint_graph(const GraphPanel& panel, const ModelView& model, const Ui& ui, const GraphPlace& place,
                 std::size_t hovered, std::size_t selected);
/// Corners of the map in a corner of the panel; both equal where all is in sight anyway.
GraphPlace place_of_map(const GraphPanel& panel, const GraphPlace& place);
void paint_map(const GraphPanel& panel, const ModelView& model, const Ui& ui, const GraphPlace& map,
               const GraphPlace& place);
/// What the colours say, in one line; nothing where they say how nodes run.
void draw_graph_legend(const GraphPanel& panel, const Ui& ui);

}  // namespace wide::gui
