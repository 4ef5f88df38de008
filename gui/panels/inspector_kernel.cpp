#include "gui/panels/inspector_kernel.h"

#include <filesystem>

#include "gui/icons.h"
#include "gui/panels/shared/results_panels.h"
#include "gui/views/quantity.h"

namespace wide::gui {
namespace {

// A profile names its subject by the model's file, or as it is built in.
bool is_of(const profiler::Trace& trace, const ModelView& model) {
  if (trace.subject == model.name) return true;
  return !model.source.models.empty() &&
         trace.subject == std::filesystem::path(model.source.models.front()).stem().string();
}

void draw_roofline(const NodeView& node, const Workbench& bench, const Ui& ui) {
  const auto* point = roofline_point(node, bench);
  if (!point) {
    faint_text(ui, "roofline: no profile of this model is open; Profile (F6) measures it");
    return;
  }
  std::string text = "roofline ";
  text.append(three_figures(point->fraction()));
  if (point->bound != profiler::Bound::kNothing) text.append(", ").append(profiler::name(point->bound));
  ImGui::TextUnformatted(text.c_str());
  if (!ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) return;
  const auto& data = *bench.results->profile->data;
  std::string more = "In the profile a pass spends ";
  more.append(show_time({point->time_us})).append(" here; this machine could do it in ");
  more.append(show_time({point->roof_us})).append(". Held back by: ").append(profiler::name(point->bound));
  more.append(". Profiled with N = ").append(std::to_string(data.traces[data.wide].members));
  tooltip(more);
}

void mono_text(const Ui& ui, const std::string& text) {
  ImGui::PushFont(ui.fonts.mono, 0);
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(text.c_str());
  ImGui::PopTextWrapPos();
  ImGui::PopFont();
}

// Several operators in one: which, what is not stored between them, and the code that was made for it.
void draw_fused(const FusedView& fused, const std::string& strategy, const Ui& ui) {
  const auto count = fused.operators.size();
  const auto title = std::to_string(count) + " operators in one###fused";
  if (ImGui::TreeNodeEx(title.c_str(),
                        ImGuiTreeNodeFlags_DefaultOpen | ImGuiTreeNodeFlags_NoTreePushOnOpen)) {
    for (const auto& one : fused.operators) mono_text(ui, one);
  }
  const auto between = count - 1;
  auto kept = std::to_string(between) + (between == 1 ? " result" : " results") + " between them, ";
  kept.append(bytes_text(static_cast<double>(fused.bytes))).append(between == 1 ? "" : " each");
  faint_text(ui, fused.stored ? kept.append(": stored, since ").append(strategy).append(" runs them apart")
                              : kept.append(": not stored"));
  if (fused.code.empty()) return;
  if (!ImGui::TreeNodeEx("Code, compiled###code",
                         ImGuiTreeNodeFlags_DefaultOpen | ImGuiTreeNodeFlags_NoTreePushOnOpen))
    return;
  mono_text(ui, fused.code);
  if (ImGui::SmallButton("\xef\x83\x85  Copy the code###copy_code"))
    ImGui::SetClipboardText(fused.code.c_str());
}

void draw_calls(const std::vector<CallView>& calls, bool generated, const Ui& ui) {
  if (calls.empty()) {
    faint_text(
        ui, "It calls nothing in a pass: its result is a view of what it reads, or was computed at build.");
    return;
  }
  bool ours = false;
  for (const auto& call : calls) {
    const auto file = source_of_kernel(call.name);
    ours = ours || !file.empty();
    auto text = call.name;
    if (call.count > 1) text.append("  ").append(std::to_string(call.count)).append("×");
    if (call.conversion) text.append("  changes a layout first");
    mono_text(ui, text);
    faint_text(ui, file.empty() ? "a call of libtorch" : std::string("our own kernel, in ").append(file));
  }
  if (generated) return;
  faint_text(ui, ours ? "Nothing is generated for this node: the kernel comes with the program."
                      : "Nothing is generated for this node: the library's own kernels run.");
}

}  // namespace

const profiler::RooflinePoint* roofline_point(const NodeView& node, const Workbench& bench) {
  const auto& data = bench.results->profile->data;
  if (!data || !data->roofline || !bench.session.model) return nullptr;
  const auto& trace = data->traces[data->wide];
  if (!is_of(trace, *bench.session.model)) return nullptr;
  for (const auto& point : data->roofline->nodes) {
    if (point.node < 0 || static_cast<std::size_t>(point.node) >= trace.nodes.size()) continue;
    const auto& one = trace.nodes[static_cast<std::size_t>(point.node)];
    if (one.op == node.op && selection_name(one.name) == node.name) return &point;
  }
  return nullptr;
}

void draw_kernel(const NodeView& node, Workbench& bench, const Ui& ui) {
  heading(ui, "Kernel");
  draw_roofline(node, bench, ui);
  if (!node.fused.operators.empty()) draw_fused(node.fused, node.strategy, ui);
  if (!bench.session.calls) {
    command_button(ui, "inspector.kernel", "\xef\x8b\x9b  What it calls###kernel");
    return;
  }
  const auto found = bench.session.calls->find(node.name);
  draw_calls(found == bench.session.calls->end() ? std::vector<CallView>() : found->second,
             !node.fused.code.empty(), ui);
}

}  // namespace wide::gui
