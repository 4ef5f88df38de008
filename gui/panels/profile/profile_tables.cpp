// Kernels, nodes and the gain split.
#include <algorithm>
#include <cmath>

#include "gui/icons.h"
#include "gui/panels/profile/profile_panel.h"
#include "gui/views/quantity.h"
#include "results/reliability.h"
#include "results/table.h"

namespace wide::gui {
namespace {

void choose_comparison(ProfilePanel& panel) {
  auto& data = explained(panel);
  if (data.comparisons.size() < 2) return;
  ImGui::SetNextItemWidth(10 * em());
  const auto name = "against " + results::printable(data.comparisons[panel.comparison].rival, 40);
  if (!begin_combo("##rival", name)) return;
  for (std::size_t i = 0; i < data.comparisons.size(); ++i) {
    auto label = "against " + results::printable(data.comparisons[i].rival, 40);
    label.append("##").append(std::to_string(i));
    if (!ImGui::Selectable(label.c_str(), i == panel.comparison)) continue;
    panel.comparison = i;
    data.nodes = node_table(data.comparisons[i]);
    data.nodes.filter(panel.nodes.filter);
  }
  ImGui::EndCombo();
}

// A bar from the rival's time down to wide's, part by part: what each cause takes off, or adds.
struct Waterfall {
  float left, width, height;
  double least, most;  ///< least is below 0 where a part took more off than there was
  float x(double us) const { return left + static_cast<float>((us - least) / (most - least)) * width; }
};

void draw_bar(const Ui& ui, const Waterfall& fall, const std::string& name, double from, double to,
              const ImVec4& colour, const std::string& value, const std::string& why) {
  auto& list = *ImGui::GetWindowDrawList();
  const auto at = ImGui::GetCursorScreenPos();
  ImGui::InvisibleButton(name.c_str(), {ImGui::GetContentRegionAvail().x, fall.height});
  if (!why.empty() && ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(why);
  const float y = at.y + 0.12F * fall.height, bottom = at.y + 0.82F * fall.height;
  const float text_y = at.y + (fall.height - em()) / 2 - 0.05F * em();
  const float name_width = ImGui::CalcTextSize(name.c_str()).x;
  list.AddText({fall.left - name_width - 0.6F * em(), text_y}, packed(ui.theme.text), name.c_str());
  const float left = fall.x(std::min(from, to)), right = std::max(left + 2, fall.x(std::max(from, to)));
  list.AddRectFilled({left, y}, {right, bottom}, packed(colour), 0.12F * em());
  const float room = at.x + ImGui::GetItemRectSize().x - right - 0.4F * em();
  list.AddText({right + 0.4F * em(), text_y}, packed(ui.theme.text), fitting(value, room).c_str());
  if (ImGui::CalcTextSize(value.c_str()).x > room && ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
    tooltip(value);
}

void draw_waterfall(const profiler::Comparison& comparison, const Ui& ui) {
  const auto& gain = comparison.gain;
  const auto parts = gain_parts(gain);
  double least = 0, most = std::max(gain.rival_us, gain.wide_us), at = gain.rival_us;
  for (const auto& part : parts) {
    at -= part.us;
    least = std::min(least, at), most = std::max(most, at);
  }
  if (most <= 0) return faint_text(ui, "The captures have no passes whose time is known.");
  const float room = ImGui::GetContentRegionAvail().x;
  const float names = 9.5F * em(), values = 11 * em();
  const Waterfall fall{ImGui::GetCursorScreenPos().x + names, std::max(4 * em(), room - names - values),
                       1.75F * em(), least, most};
  draw_bar(ui, fall, comparison.rival, 0, gain.rival_us, ui.theme.rival,
           show_time({gain.rival_us}) + " a pass", "A pass of the rival, untraced where that was measured.");
  at = gain.rival_us;
  for (const auto& part : parts) {
    const bool nothing = std::abs(part.us) < 5e-4;  // below a nanosecond: it would be shown as 0
    std::string value = nothing ? "" : part.us > 0 ? "-" : "+";
    value.append(show_time({nothing ? 0 : std::abs(part.us)}));
    if (gain.rival_us > 0 && !nothing)
      value.append(part.us >= 0 ? "  saves " : "  costs ")
          .append(show_share({std::abs(part.us) / gain.rival_us}));
    draw_bar(ui, fall, part.name, at, at - part.us, faded(part.us >= 0 ? ui.theme.good : ui.theme.bad, 0.85F),
             value, part.why);
    at -= part.us;
  }
  draw_bar(ui, fall, comparison.wide, 0, gain.wide_us, ui.theme.wide, show_time({gain.wide_us}) + " a pass",
           "A pass of wide, untraced where that was measured.");
}

// The selected node's kernels, looked up when the selection or the capture has changed.
const std::set<std::string>& kernels_of(ProfilePanel& panel, const std::string& node) {
  auto key = std::to_string(panel.capture).append(" ").append(node);
  if (panel.chosen_of == key) return panel.chosen_kernels;
  panel.chosen_of = std::move(key);
  panel.chosen_kernels.clear();
  if (!node.empty())
    panel.chosen_kernels =
        kernels_of_node(panel.data->traces[panel.capture], panel.data->structures[panel.capture], node);
  return panel.chosen_kernels;
}

}  // namespace

void choose_capture(ProfilePanel& panel) {
  const auto& data = explained(panel);
  ImGui::SetNextItemWidth(8 * em());
  const auto name = results::printable(data.traces[panel.capture].contender, 40);
  if (!begin_combo("##capture", name)) return;
  for (std::size_t i = 0; i < data.traces.size(); ++i) {
    auto label = results::printable(data.traces[i].contender, 40);
    label.append("##").append(std::to_string(i));
    if (ImGui::Selectable(label.c_str(), i == panel.capture)) panel.capture = i;
  }
  ImGui::EndCombo();
}

void draw_kernels(ProfilePanel& panel, const Ui& ui) {
  auto& data = explained(panel);
  choose_capture(panel);
  ImGui::SameLine();
  auto& table = data.kernels[panel.capture];
  const auto before = panel.kernels.filter;
  draw_filter(ui, table, panel.kernels);
  if (panel.kernels.filter != before) {
    for (auto& other : data.kernels) other.filter(panel.kernels.filter);
  }
  TableOptions options;
  options.id = "##kernels";
  options.mono = "name";
  const auto& chosen = kernels_of(panel, ui.selection.node);
  options.chosen = [&](std::size_t row) { return chosen.contains(std::string(table.text(row, 0))); };
  options.tip = [&](std::size_t row) {
    return std::string(table.text(row, 0)) +
           "\nA click selects its node and shows how long its calls took; a double click finds it in the "
           "timeline. Marked are those of the selected node.";
  };
  constexpr float kHistogram = 6;  // em
  const bool histogram = !panel.span.kernel.empty();
  const float below = (kHistogram + 2) * em();
  if (histogram) options.height = std::max(9 * em(), ImGui::GetContentRegionAvail().y - below);
  if (const auto row = draw_table(ui, table, panel.kernels, options)) {
    const bool twice = ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left);
    panel.span.kernel = table.text(*row, 0);
    panel.span.of = nullptr;
    look_for(panel.timeline, *panel.data, panel.span.kernel);
    panel.timeline.selected.reset();
    if (go_to_next(panel.timeline, *panel.data, true))
      choose_node_of(panel.timeline, *panel.data, ui.selection);
    if (twice) panel.raise = ProfileTab::kTimeline;
  }
  if (histogram) draw_histogram(panel, ui, kHistogram * em());
}

void draw_gain(ProfilePanel& panel, const Ui& ui) {
  auto& data = explained(panel);
  if (data.comparisons.empty())
    return faint_text(
        ui,
        "There is nothing to compare with: profile with a rival beside wide, or open a trace that has one.");
  choose_comparison(panel);
  const auto& comparison = data.comparisons[panel.comparison];
  const double ratio = comparison.gain.wide_us > 0 ? comparison.gain.rival_us / comparison.gain.wide_us : 0;
  auto line = show_ratio({ratio});
  line.append(" over ").append(results::printable(comparison.rival, 40)).append(" in these passes; ");
  line.append(three_figures(comparison.launches_saved_per_member()))
      .append(" launches saved for each member");
  ImGui::PushTextWrapPos(0);
  ImGui::TextUnformatted(line.c_str());
  ImGui::PopTextWrapPos();
  if (const auto why = profiler::doubt(comparison.gain); !why.empty()) {
    std::string text = results::kUnreliable;
    badge(ui, Level::kWarning, text.append("; ").append(why));
  }
  faint_text(ui, "A speed-up with its interval comes from a sweep; this says where it comes from.");
  const auto low = ImGui::GetCursorScreenPos();
  draw_waterfall(comparison, ui);
  panel.picture.area(ui, low, {low.x + ImGui::GetContentRegionAvail().x, ImGui::GetCursorScreenPos().y});
  heading(ui, "Node by node");
  if (!comparison.aligned) return faint_text(ui, "No node has the same name in both captures.");
  draw_filter(ui, data.nodes, panel.nodes, "##node_filter");
  draw_nodes(ui, data.nodes, panel.nodes, "##nodes");
}

void draw_nodes(const Ui& ui, Table& table, TableView& view, const char* id) {
  TableOptions options;
  options.id = id;
  options.mono = "node";
  options.chosen = [&](std::size_t row) {
    return !ui.selection.node.empty() && selection_name(table.text(row, 0)) == ui.selection.node;
  };
  options.reveal = ui.selection.node;
  if (const auto row = draw_table(ui, table, view, options))
    ui.selection.choose_node(selection_name(table.text(*row, 0)));
}

}  // namespace wide::gui
