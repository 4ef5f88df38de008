#pragma once
// The timeline of a profile: state, mouse and keys.

#include <optional>
#include <string>
#include <vector>

#include "gui/panels/shared/table_view.h"
#include "gui/ui.h"
#include "gui/views/bookmarks.h"
#include "gui/views/profile_data.h"
#include "gui/views/time_view.h"
#include "gui/views/timeline.h"

namespace wide::gui {

struct TimelinePanel {
  TimeView view;
  bool fitted = false;  ///< false: shows everything at the next frame
  Search search;
  std::string looked_for;                   ///< as typed
  std::optional<SlicePlace> selected;       ///< a slice
  std::optional<SlicePlace> hovered;        ///< in this frame
  std::optional<Measure> measured;          ///< kept until Escape
  std::optional<double> measuring;          ///< where a drag that measures began
  float scroll = 0;                         ///< pixels that the lanes are moved up
  float height = 0;                         ///< of all lanes, pixels, as last drawn
  std::uint64_t seen = 0;                   ///< revision of the selection that is shown
  std::vector<Block> blocks;                ///< kept to save allocations
  std::vector<std::vector<Block>> minimap;  ///< by lane, of a minimap of this width
  float minimap_width = 0;
  std::size_t drawn = 0;                                ///< rectangles of the last frame
  std::vector<Bookmark> bookmarks;                      ///< by time
  std::size_t bookmark = static_cast<std::size_t>(-1);  ///< the one that was gone to last; beyond: none
  std::optional<double> pointed;                        ///< time under the mouse, in this frame
};

/// Forgets all that belongs to another trace.
void reset(TimelinePanel& panel);
/// Draws and reacts, in all the room that is left but for `below` pixels.
void draw_timeline(TimelinePanel& panel, const ProfileData& data, const Ui& ui, float below);

void fit(TimelinePanel& panel);
/// To the measured stretch, or else to the selected slice; false when there is neither.
bool zoom_to_selection(TimelinePanel& panel, const ProfileData& data);
void look_for(TimelinePanel& panel, const ProfileData& data, const std::string& text);
/// Selects the next slice that is found and brings it into view. False when there is none.
bool go_to_next(TimelinePanel& panel, const ProfileData& data, bool forwards);
/// The node that the selected slice works for becomes the selected one.
void choose_node_of(TimelinePanel& panel, const ProfileData& data, Selection& selection);

/// A table whose first column is a node: its rows and the selected node are one.
void draw_nodes(const Ui& ui, Table& table, TableView& view, const char* id);

/// At what is selected, else under the mouse, else in the middle of what is in sight; takes away what is
/// there.
void toggle_bookmark(TimelinePanel& panel, const ProfileData& data);
/// False where there is none.
bool go_to_bookmark(TimelinePanel& panel, bool forwards);
void show_bookmark(TimelinePanel& panel, std::size_t which);
/// A drop-down of them.
void choose_bookmark(TimelinePanel& panel);
/// Begin or end of what is marked: that of what is selected, else the edge of what is in sight.
void mark_edge(TimelinePanel& panel, const ProfileData& data, bool begin);

// For drawing.

/// Places of lanes and rows on the screen, in pixels.
struct LaneLayout {
  ImVec2 low, high;  ///< corners of the lanes' area
  float header = 0;  ///< height of a lane's title
  float row = 0;     ///< height of a row with its gap
  float bar = 0;     ///< height of a block
  float scroll = 0;
};
/// Top of each lane's header; one more than lanes: the end of the last.
std::vector<float> lane_tops(const Timeline& timeline, const LaneLayout& layout);
void draw_ruler(const TimelinePanel& panel, const Ui& ui, ImVec2 low, ImVec2 high);
void draw_bookmarks(const TimelinePanel& panel, const Ui& ui, ImVec2 low, ImVec2 high, float ruler);
void draw_lanes(TimelinePanel& panel, const ProfileData& data, const Ui& ui, const LaneLayout& layout);
void draw_measure(const TimelinePanel& panel, const ProfileData& data, const Ui& ui,
                  const LaneLayout& layout);
void draw_minimap(TimelinePanel& panel, const ProfileData& data, const Ui& ui, ImVec2 low, ImVec2 high);
/// Colour of a slice by its kind.
ImVec4 colour_of(const Theme& theme, profiler::Kind kind, bool copy);
/// What the colours mean, in one line.
void draw_legend(const Ui& ui);

}  // namespace wide::gui
