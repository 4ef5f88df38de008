#pragma once
// The graph of the open model: nodes and links, folded by module, or the text after any stage.

#include <set>
#include <string>

#include "gui/panels/graph_layout.h"
#include "gui/panels/shared/snapshot.h"
#include "gui/views/graph_marks.h"
#include "gui/workbench.h"

namespace wide::gui {

/// What colours say.
enum class GraphColour : std::uint8_t { kStrategy, kTime, kPlan };

struct GraphPanel {
  bool text = false;             ///< the text form instead of nodes
  bool constants = false;        ///< nodes that are computed once, at build, too
  std::string stage;             ///< name of the stage whose text is shown; empty: "widen"
  std::string filter;            ///< of lines and nodes
  std::set<std::string> folded;  ///< module paths
  int level = -1;                ///< of folding, see fold_to(); below 0: as fold_all() has it
  bool fit = false;              ///< all of the picture is to be shown
  GraphColour colour = GraphColour::kStrategy;
  BuildWish other;  ///< what was tried and is compared with, where colours say that

  Snapshot snapshot;

  // Made from the above; see draw().
  GraphPicture picture;
  ModelSource source;         ///< of the model shown
  std::uint64_t made_of = 0;  ///< revision of the session
  std::string made_for;       ///< folded modules and size of the font
  std::string shown_node;     ///< the selection as the picture last showed it
  std::string shown_line;     ///< and the text

  /// What the marks were made of.
  struct MarkedOf {
    std::uint64_t revision = 0;
    GraphColour colour = GraphColour::kStrategy;
    BuildWish wish, other;
    const ProfileData* profile = nullptr;
    bool operator==(const MarkedOf&) const = default;
  };
  MarkedOf marked_of;
  GraphMarks marks;  ///< nothing where colours say how nodes run

  // Where the picture lies.
  ImVec2 room = {};     ///< as it was when last drawn, pixels
  ImVec2 shift = {};    ///< of the first box from the panel's corner, pixels
  float zoom = 1;       ///< pixels of the screen for one of the picture
  bool moved = false;   ///< by the person: another size of the panel leaves it alone
  bool on_map = false;  ///< the mouse was pressed on the map
  ImVec2 origin = {};   ///< of the picture on the screen, as last drawn
  bool mapped = false;  ///< whether the map was drawn
};

/// Whether the filter finds the box: in names, operators, strategies and modules.
bool matches(const GraphBox& box, const ModelView& model, const std::string& filter);
/// How many operations it finds.
std::size_t found_by_filter(const GraphPanel& panel, const ModelView& model);

void add_commands(GraphPanel& panel, Workbench& bench);
void draw(GraphPanel& panel, Workbench& bench, const Ui& ui);

// Parts of draw().
void draw_nodes(GraphPanel& panel, Workbench& bench, const Ui& ui);
void draw_text(GraphPanel& panel, const ModelView& model, const Ui& ui);
void draw_stage_choice(GraphPanel& panel, const ModelView& model, const Ui& ui);

}  // namespace wide::gui
