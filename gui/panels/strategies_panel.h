#pragma once
// How each node runs and what else could run it; overriding, building, validating.

#include <string>

#include "gui/panels/tries_panel.h"
#include "gui/workbench.h"

namespace wide::gui {

struct StrategiesPanel {
  bool by_kind = false;  ///< a row per kind of operation instead of per node
  bool proof = false;    ///< the table of errors instead of the strategies
  bool tried = false;    ///< the table of tries instead of either
  std::shared_ptr<TriesPanel> tries = std::make_shared<TriesPanel>();
  std::string filter;
  std::string shown_node;    ///< the selection as it was when last drawn
  std::uint64_t proved = 0;  ///< revision of the session whose proof was brought to the front
};

void add_commands(StrategiesPanel& panel, Workbench& bench);
void draw(StrategiesPanel& panel, Workbench& bench, const Ui& ui);

/// How the panel's tables look.
inline constexpr auto kStrategiesTable = ImGuiTableFlags_RowBg | ImGuiTableFlags_BordersInnerH |
                                         ImGuiTableFlags_ScrollY | ImGuiTableFlags_Resizable |
                                         ImGuiTableFlags_Hideable | ImGuiTableFlags_SizingStretchProp;
void draw_by_node(StrategiesPanel& panel, Session& session, const Ui& ui);
void draw_by_kind(StrategiesPanel& panel, Session& session, const Ui& ui);
void draw_proof(const ProofView& proof, const Ui& ui);

}  // namespace wide::gui
