#pragma once
// The graph of the open model: nodes and links, folded by module, or the text after any stage.

#include <memory>
#include <set>
#include <string>

#include "gui/panels/graph_layout.h"
#include "gui/panels/shared/save_dialog.h"
#include "gui/panels/shared/snapshot.h"
#include "gui/workbench.h"

namespace wide::gui {

struct GraphPanel {
  GraphPanel();
  ~GraphPanel();
  GraphPanel(const GraphPanel&) = delete;
  GraphPanel& operator=(const GraphPanel&) = delete;

  bool text = false;             ///< the text form instead of nodes
  bool constants = false;        ///< nodes that are computed once, at build, too
  std::string stage;             ///< name of the stage whose text is shown; empty: "widen"
  std::string filter;            ///< of lines and nodes
  std::set<std::string> folded;  ///< module paths
  int level = -1;                ///< of folding, see fold_to(); below 0: as fold_all() has it
  int fit = 0;                   ///< frames until the picture is fitted into the panel; 0: not asked for

  SaveDialog save;
  Snapshot snapshot;

  // Made from the above; see draw().
  struct Editor;
  std::unique_ptr<Editor> editor;
  GraphPicture picture;
  ModelSource source;         ///< of the model shown
  std::uint64_t made_of = 0;  ///< revision of the session
  std::string made_for;       ///< folded modules and size of the font
  std::string shown_node;     ///< the selection as the editor was told
  std::string shown_line;     ///< the selection as the text last showed it
  ImVec2 room = {};           ///< as it was when last drawn
  ImVec2 fitted = {};         ///< where the first box stood once all was fitted; moved since: left alone
  bool has_fitted = false;
  ImVec2 origin = {};  ///< of the picture on the screen, as last drawn
  float zoom = 1;      ///< pixels of the screen for one of the picture
};

/// Whether the filter finds the box: in names, operators, strategies and modules.
bool matches(const GraphBox& box, const ModelView& model, const std::string& filter);

void add_commands(GraphPanel& panel, Workbench& bench);
void draw(GraphPanel& panel, Workbench& bench, const Ui& ui);

}  // namespace wide::gui
