#include "gui/panels/shared/plot_export.h"

#include "gui/icons.h"
#include "gui/panels/shared/choices.h"

namespace wide::gui {
namespace {

constexpr const char* kLabel = "\xef\x95\xae  Plot###export_plot";

void add_file(Workbench& bench, const PlotExport& plot, const char* ending, const char* format,
              const std::function<std::string()>& text) {
  bench.commands.add(
      {.id = plot.id + "_" + ending,
       .title = "Export " + plot.what + " as " + format + "…",
       .icon = icon::kExport,
       .run =
           [&bench, save = plot.save, name = plot.file + "." + ending, text](const std::string& path) {
             save->open(
                 bench.ui(), "Where to write it", name,
                 [written = text()](const auto& file) { write_file(file, written); }, path);
           },
       .refuse = plot.refuse});
}

void add_copy(Workbench& bench, const PlotExport& plot, const char* ending, const char* format,
              const std::function<std::string()>& text) {
  bench.commands.add({.id = plot.id + "_copy_" + ending,
                      .title = "Copy " + plot.what + " as " + format,
                      .icon = icon::kCopy,
                      .run =
                          [&bench, what = plot.what, format, text](const std::string&) {
                            ImGui::SetClipboardText(text().c_str());
                            bench.notices.post(Level::kInfo, "Copied", what + " as " + format);
                          },
                      .refuse = plot.refuse});
}

}  // namespace

void add_plot_exports(Workbench& bench, const PlotExport& plot) {
  add_file(bench, plot, "svg", "SVG", plot.svg);
  bench.commands.add(
      {.id = plot.id + "_png",
       .title = "Export " + plot.what + " as PNG…",
       .icon = icon::kExport,
       .run =
           [picture = plot.picture, save = plot.save, name = plot.file + ".png"](const std::string& path) {
             if (!path.empty()) return picture->want(path);
             save->open_here("Where to write it", name, [picture](const auto& file) { picture->want(file); });
           },
       .refuse = plot.refuse});
  add_file(bench, plot, "csv", "CSV", plot.csv);
  add_copy(bench, plot, "svg", "SVG", plot.svg);
  add_copy(bench, plot, "csv", "CSV", plot.csv);
}

void draw_plot_exports(const Ui& ui, const std::string& id) {
  beside(kLabel);
  if (ImGui::Button(kLabel)) ImGui::OpenPopup("plot_exports");
  if (!ImGui::BeginPopup("plot_exports")) return;
  for (const char* ending : {"_svg", "_png", "_csv", "_copy_svg", "_copy_csv"}) {
    const auto* command = ui.commands.find(id + ending);
    if (command != nullptr &&
        ImGui::MenuItem(command->title.c_str(), nullptr, false, ui.commands.refusal(id + ending).empty()))
      ui.commands.run(id + ending);
  }
  ImGui::EndPopup();
}

}  // namespace wide::gui
