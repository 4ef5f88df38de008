// What is open, what it takes, and what else could be opened.
#include <imgui_stdlib.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/icons.h"
#include "gui/paths.h"
#include "gui/workbench.h"

namespace wide::gui {
namespace {

struct ModelsPanel {
  std::int64_t copies = 4;     ///< members of the next built-in subject or model without checkpoints
  std::int64_t memory_n = 32;  ///< for how many members memory is shown
  std::string filter;          ///< of the built-in subjects
  /// Built in; asked for once: all their graphs are built for it.
  std::optional<std::vector<app::SubjectInfo>> subjects;
};

void fact(const Ui& ui, const char* name, const std::string& value) {
  ImGui::TableNextRow();
  ImGui::TableNextColumn();
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  ImGui::TextUnformatted(name);
  ImGui::PopStyleColor();
  ImGui::TableNextColumn();
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(value.c_str());
  ImGui::PopTextWrapPos();
}

std::string joined(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) text.append(i == 0 ? "" : ", ").append(names[i]);
  if (names.size() > most) text.append(" and ").append(std::to_string(names.size() - most)).append(" more");
  return text;
}

void draw_facts(ModelsPanel& panel, const ModelView& model, const Ui& ui) {
  if (!ImGui::BeginTable("##facts", 2, ImGuiTableFlags_SizingStretchProp)) return;
  ImGui::TableSetupColumn("name", ImGuiTableColumnFlags_WidthFixed);
  ImGui::TableSetupColumn("value", ImGuiTableColumnFlags_WidthStretch);
  const auto n = static_cast<std::int64_t>(model.members.size());
  fact(ui, "members", "N = " + std::to_string(n) + ": " + joined(model.members, 6));
  fact(ui, "inputs", joined(model.inputs, 4));
  std::string types;
  for (const auto& [dtype, count] : model.dtypes) types.append(types.empty() ? "" : ", ").append(dtype);
  fact(ui, "parameters", count_text(static_cast<double>(model.parameters)) + " each, " + types);
  fact(ui, "weights",
       bytes_text(static_cast<double>(model.member_bytes)) + " each, " +
           bytes_text(static_cast<double>(model.kept_bytes)) + " for all");
  fact(ui, "activations", "about " + bytes_text(static_cast<double>(model.activation_bytes)) + " at once");
  ImGui::EndTable();
  ImGui::AlignTextToFramePadding();
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  ImGui::TextUnformatted("memory, N =");
  ImGui::PopStyleColor();
  same_line_if_fits("88888888");
  ImGui::SetNextItemWidth(3.5F * em());
  ImGui::InputScalar("##memory_n", ImGuiDataType_S64, &panel.memory_n);
  panel.memory_n = std::clamp<std::int64_t>(panel.memory_n, 1, 100000);
  same_line_if_fits("888 MB");
  const double activations = static_cast<double>(model.activation_bytes) / static_cast<double>(n) *
                             static_cast<double>(panel.memory_n);
  ImGui::TextUnformatted(bytes_text(model.weights_for(panel.memory_n) + activations).c_str());
}

void draw_coverage(const ModelView& model, const Ui& ui) {
  const auto wide = model.nodes - model.sequential;
  const auto text = std::to_string(wide) + " of " + std::to_string(model.nodes) + " operations wide";
  badge(ui, model.sequential == 0 ? Level::kInfo : Level::kWarning, text);
  std::string more;
  if (model.shared > 0) more = std::to_string(model.shared) + " shared by all members; ";
  if (model.constant > 0) more += std::to_string(model.constant) + " computed at build; ";
  more += std::to_string(model.conversions) + " layout changes, " + std::to_string(model.copies) + " copies";
  faint_text(ui, more);
  if (model.sequential > 0) faint_text(ui, "one member after the other:");
  for (const auto& node : model.graph) {
    if (node.strategy != "sequential") continue;
    const auto shown = fitting(node.name + "  " + node.kind, ImGui::GetContentRegionAvail().x);
    const auto label = shown + "###sequential_" + node.name;
    if (ImGui::Selectable(label.c_str(), ui.selection.node == node.name)) ui.selection.choose_node(node.name);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(node.text);
  }
}

void draw_open(ModelsPanel& panel, Workbench& bench, const Ui& ui) {
  const auto& model = *bench.session.model;
  ImGui::PushFont(ui.fonts.bold, 0);
  fitted_text(std::string(icon::kModel) + "  " + model.name);
  ImGui::PopFont();
  for (const auto& path : model.source.models) faint_text(ui, shown_path(path));
  draw_facts(panel, model, ui);
  draw_coverage(model, ui);
  if (model.source.weights.empty() && model.source.models.size() < 2) {
    ImGui::AlignTextToFramePadding();
    ImGui::TextUnformatted("members");
    ImGui::SameLine();
    ImGui::SetNextItemWidth(3.5F * em());
    ImGui::InputScalar("##copies", ImGuiDataType_S64, &panel.copies);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip("From 1 to 4096");
    panel.copies = std::clamp<std::int64_t>(panel.copies, 1, 4096);
    same_line_if_fits("Apply");
    ImGui::BeginDisabled(panel.copies == static_cast<std::int64_t>(model.members.size()));
    if (ImGui::Button("Apply")) {
      auto source = model.source;
      source.copies = panel.copies;
      bench.open_source(source);
    }
    ImGui::EndDisabled();
  }
  copy_command_line(ui, "widebench trace " + arguments(model.source) + arguments(model.wish));
}

void draw_recent(Workbench& bench, const Ui& ui) {
  if (bench.settings.recent.empty()) return;
  heading(ui, "Recent");
  const auto recent = bench.settings.recent;  // opening changes it
  for (std::size_t i = 0; i < recent.size(); ++i) {
    const auto& source = recent[i];
    std::string label = source.subject.empty() ? icon::kFile : icon::kModel;
    label.append("  ").append(title(source));
    label = fitting(label, ImGui::GetContentRegionAvail().x);
    label.append("###recent").append(std::to_string(i));
    if (ImGui::Selectable(label.c_str())) bench.open_source(source);
    const auto words = arguments(source);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(words);
  }
}

void draw_subjects(ModelsPanel& panel, Workbench& bench, const Ui& ui) {
  if (!ImGui::CollapsingHeader("Built-in###built_in",
                               bench.session.model ? 0 : ImGuiTreeNodeFlags_DefaultOpen))
    return;
  ImGui::SetNextItemWidth(-1);
  ImGui::InputTextWithHint("##filter", "filter", &panel.filter);
  if (!panel.subjects) {
    panel.subjects.emplace();
    if (bench.host.engine.subjects) panel.subjects = bench.host.engine.subjects();
  }
  for (const char* kind : {"zoo", "block", "primitive"}) {
    bool named = false;
    for (const auto& subject : *panel.subjects) {
      if (subject.kind != kind || subject.name.find(panel.filter) == std::string::npos) continue;
      if (!named)
        faint_text(ui, std::string_view(kind) == "zoo"     ? "models"
                       : std::string_view(kind) == "block" ? "blocks"
                                                           : "primitives");
      named = true;
      const auto label = subject.name + "###subject_" + subject.name;
      if (ImGui::Selectable(label.c_str()))
        bench.open_source({.subject = subject.name, .copies = panel.copies});
      if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(subject.summary);
    }
  }
}

void draw(ModelsPanel& panel, Workbench& bench, const Ui& ui) {
  if (bench.session.model) {
    draw_open(panel, bench, ui);
    ImGui::Separator();
  } else {
    faint_text(ui,
               "Open an exported model (.pt2) and its checkpoints (.safetensors), one member each. Files and "
               "folders can "
               "be dropped anywhere in the window.");
  }
  command_button(ui, "file.open", "\xef\x81\xbc  Open…###open");
  same_line_if_fits("xxx Load a sample");
  const bool whole = ImGui::CalcTextSize("xxx Load a sample").x + em() < ImGui::GetContentRegionAvail().x;
  command_button(ui, "file.sample",
                 whole ? "\xef\x86\xb2  Load a sample###sample" : "\xef\x86\xb2  Sample###sample");
  draw_recent(bench, ui);
  draw_subjects(panel, bench, ui);
}

}  // namespace

void add_models_panel(Workbench& bench) {
  const auto panel = std::make_shared<ModelsPanel>();
  bench.add_panel({"models", "Models", icon::kModels, Place::kLeft,
                   [panel, &bench](const Ui& ui) { draw(*panel, bench, ui); }});
}

}  // namespace wide::gui
