#pragma once
// What is plotted as a file (SVG, PNG, CSV) and on the clipboard.

#include <functional>
#include <string>

#include "gui/panels/shared/snapshot.h"
#include "gui/workbench.h"

namespace wide::gui {

struct PlotExport {
  std::string id;    ///< "sweep.plot": its commands are sweep.plot_svg, …
  std::string what;  ///< "the plot over N"
  std::string file;  ///< proposed name without ending: "over-n"
  std::function<std::string()> svg, csv;
  Snapshot* picture;
  std::function<std::string()> refuse;  ///< why there is nothing to export; empty text: there is
};

/// Adds ID_svg, ID_png, ID_csv (which write where their argument says, or ask) and ID_copy_svg, ID_copy_csv,
/// ID_copy_png.
void add_plot_exports(Workbench& bench, const PlotExport& plot);

/// A button that offers them.
void draw_plot_exports(const Ui& ui, const std::string& id);

}  // namespace wide::gui
