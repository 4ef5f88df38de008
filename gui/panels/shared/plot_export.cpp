#include "gui/panels/shared/plot_export.h"

#include <memory>

#include "app/temporary_folder.h"
#include "gui/icons.h"
#include "gui/panels/shared/choices.h"
#include "gui/panels/shared/picture_clipboard.h"

namespace wide::gui {
namespace {

constexpr const char* kPicture = "plot.png";
constexpr const char* kLabel = "\xef\x95\xae  Plot###export_plot";

std::string no_picture(const PlotExport& plot) {
  const auto reason = plot.refuse ? plot.refuse() : std::string();
  return reason.empty() ? plot.picture->refusal() : reason;
}

void add_file(Workbench& bench, const PlotExport& plot, const char* ending, const char* format,
              const std::function<std::string()>& text) {
  bench.commands.add({.id = plot.id + "_" + ending,
                      .title = "Export " + plot.what + " as " + format + "…",
                      .icon = icon::kExport,
                      .run =
                          [&bench, name = plot.file + "." + ending, text](const std::string& path) {
                            bench.save.open(
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

// A picture of the screen goes to the clipboard by way of a file.
void copy_from(Workbench& bench, const std::string& what,
               const std::shared_ptr<app::TemporaryFolder>& folder) {
  bench.jobs.start(Lane::kFiles, "Copying " + what, [&bench, what, folder](const JobContext&) -> Apply {
    copy_picture(folder->path() / kPicture);
    return [&bench, what] { bench.notices.post(Level::kInfo, "Copied", what + " as a picture"); };
  });
}

void add_copy_picture(Workbench& bench, const PlotExport& plot) {
  bench.commands.add({.id = plot.id + "_copy_png",
                      .title = "Copy " + plot.what + " as a picture",
                      .icon = icon::kCopy,
                      .run =
                          [&bench, picture = plot.picture, what = plot.what](const std::string&) {
                            const auto folder = std::make_shared<app::TemporaryFolder>("widebench-picture");
                            picture->want(folder->path() / kPicture,
                                          [&bench, what, folder] { copy_from(bench, what, folder); });
                          },
                      .refuse =
                          [plot] {
                            const auto reason = no_picture(plot);
                            return reason.empty() ? cannot_copy_pictures() : reason;
                          }});
}

}  // namespace

void add_plot_exports(Workbench& bench, const PlotExport& plot) {
  add_file(bench, plot, "svg", "SVG", plot.svg);
  bench.commands.add(
      {.id = plot.id + "_png",
       .title = "Export " + plot.what + " as PNG…",
       .icon = icon::kExport,
       .run =
           [&bench, picture = plot.picture, name = plot.file + ".png"](const std::string& path) {
             if (!path.empty()) return picture->want(path);
             bench.save.open_here("Where to write it", name,
                                  [picture](const auto& file) { picture->want(file); });
           },
       .refuse = [plot] { return no_picture(plot); }});
  add_file(bench, plot, "csv", "CSV", plot.csv);
  add_copy(bench, plot, "svg", "SVG", plot.svg);
  add_copy(bench, plot, "csv", "CSV", plot.csv);
  add_copy_picture(bench, plot);
}

void draw_plot_exports(const Ui& ui, const std::string& id) {
  beside(kLabel);
  if (ImGui::Button(kLabel)) ImGui::OpenPopup("plot_exports");
  if (!ImGui::BeginPopup("plot_exports")) return;
  for (const char* ending : {"_svg", "_png", "_csv", "_copy_svg", "_copy_csv", "_copy_png"}) {
    const auto* command = ui.commands.find(id + ending);
    if (command == nullptr) continue;
    const auto reason = ui.commands.refusal(id + ending);
    if (ImGui::MenuItem(command->title.c_str(), nullptr, false, reason.empty())) ui.commands.run(id + ending);
    if (!reason.empty() &&
        ImGui::IsItemHovered(ImGuiHoveredFlags_AllowWhenDisabled | ImGuiHoveredFlags_ForTooltip))
      tooltip(reason);
  }
  ImGui::EndPopup();
}

}  // namespace wide::gui
