#pragma once
// The selected node: what it reads and gives, how it runs, what else could run it.

#include "gui/workbench.h"

namespace wide::gui {

struct InspectorPanel {};

void add_commands(InspectorPanel& panel, Workbench& bench);
void draw(InspectorPanel& panel, Workbench& bench, const Ui& ui);

}  // namespace wide::gui
