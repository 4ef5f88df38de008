#include "gui/panels/profile/flame_view.h"

#include <imgui.h>

#include <algorithm>

#include "gui/panels/profile/profile_panel.h"
#include "gui/views/quantity.h"
#include "results/table.h"

namespace wide::gui {
namespace {

struct FlameCanvas {
  const Flame& flame;
  const FlamePanel& panel;
  const Ui& ui;
  ImVec2 low;
  float width, row;
  std::size_t hovered = 0;  ///< 0: none
};

ImU32 ink_on(const ImVec4& colour) {
  const float light = 0.3F * colour.x + 0.6F * colour.y + 0.1F * colour.z;
  return light > 0.5F ? IM_COL32(16, 18, 22, 255) : IM_COL32(250, 250, 252, 255);
}

bool is_around(const Flame& flame, std::size_t outer, std::size_t inner) {
  while (inner != outer && inner != 0) inner = flame.frames[inner].parent;
  return inner == outer;
}

void paint_frame(FlameCanvas& canvas, std::size_t frame, float left, float right) {
  const auto& one = canvas.flame.frames[frame];
  const float top = canvas.low.y + static_cast<float>(one.depth) * canvas.row, bottom = top + canvas.row - 1;
  const auto mouse = ImGui::GetIO().MousePos;
  const bool hovered = ImGui::IsItemHovered() && mouse.x >= left && mouse.x < right && mouse.y >= top &&
                       mouse.y < top + canvas.row;
  if (hovered) canvas.hovered = frame;
  auto colour = colour_of(canvas.ui.theme, one.kind, one.copy);
  if (frame == 0) colour = faded(canvas.ui.theme.neutral, 0.45F);
  const bool around = frame != canvas.panel.root && is_around(canvas.flame, frame, canvas.panel.root);
  if (around) colour = faded(colour, 0.4F);
  auto* list = ImGui::GetWindowDrawList();
  list->AddRectFilled({left, top}, {std::max(left + 1, right - 1), bottom}, packed(colour));
  if (frame == canvas.panel.chosen || hovered)
    list->AddRect({left, top}, {std::max(left + 2, right - 1), bottom}, packed(canvas.ui.theme.accent), 0, 0,
                  frame == canvas.panel.chosen ? 2.0F : 1.0F);
  const float pad = 0.25F * em();
  if (right - left < 2 * em()) return;
  const bool faint = colour.w < 0.6F;
  list->AddText({left + pad, top + (canvas.row - ImGui::GetTextLineHeight()) / 2},
                faint ? packed(canvas.ui.theme.text) : ink_on(colour),
                fitting(one.name, right - left - 2 * pad).c_str());
}

// Children side by side from the left, the longest first, each as wide as its share of the frame.
void paint_within(FlameCanvas& canvas, std::size_t frame, float left, float right) {
  constexpr float kNarrowest = 1.5F;  // pixels
  paint_frame(canvas, frame, left, right);
  const auto& one = canvas.flame.frames[frame];
  double whole = one.total_us, inside = 0;
  for (const auto child : one.children) inside += canvas.flame.frames[child].total_us;
  whole = std::max(whole, inside);  // of threads at once there is more inside than outside
  if (!(whole > 0)) return;
  float at = left;
  for (const auto child : one.children) {
    const float wide = (right - left) * static_cast<float>(canvas.flame.frames[child].total_us / whole);
    if (wide < kNarrowest) return;  // the longest come first
    paint_within(canvas, child, at, at + wide);
    at += wide;
  }
}

void paint(FlameCanvas& canvas) {
  const float right = canvas.low.x + canvas.width;
  std::size_t at = canvas.panel.root;
  while (at != 0) at = canvas.flame.frames[at].parent, paint_frame(canvas, at, canvas.low.x, right);
  paint_within(canvas, canvas.panel.root, canvas.low.x, right);
}

void flame_tooltip(const Flame& flame, std::size_t frame) {
  const auto& one = flame.frames[frame];
  auto text = path_of(flame, frame);
  const auto per_pass = static_cast<double>(flame.passes);
  text.append("\n").append(show_time({one.total_us / per_pass})).append(" a pass, ");
  if (flame.frames[0].total_us > 0)
    text.append(show_share({one.total_us / flame.frames[0].total_us})).append(" of all, ");
  text.append(show_time({one.own_us / per_pass})).append(" of it its own\n");
  text.append(show_count({static_cast<double>(one.calls) / per_pass})).append(" calls a pass");
  tooltip(text);
}

void choose_frame(FlamePanel& panel, const ProfileData& data, const Ui& ui, std::size_t frame) {
  panel.chosen = frame;
  const auto& flame = data.flames[panel.capture];
  // The node that it works for, which may be around it.
  for (auto at = frame; at != 0; at = flame.frames[at].parent) {
    const auto node = flame.frames[at].node;
    if (node < 0) continue;
    ui.selection.choose_node(
        selection_name(data.traces[panel.capture].nodes[static_cast<std::size_t>(node)].name));
    return;
  }
}

void flame_keys(FlamePanel& panel, const ProfileData& data, const Ui& ui) {
  if (ImGui::GetIO().WantTextInput) return;
  const auto& flame = data.flames[panel.capture];
  for (const auto key : {ImGuiKey_UpArrow, ImGuiKey_DownArrow, ImGuiKey_LeftArrow, ImGuiKey_RightArrow}) {
    if (ImGui::IsKeyPressed(key)) choose_frame(panel, data, ui, flame_neighbour(flame, panel.chosen, key));
  }
  if (ImGui::IsKeyPressed(ImGuiKey_Z, false) || ImGui::IsKeyPressed(ImGuiKey_Enter, false))
    panel.root = panel.chosen;
  if (ImGui::IsKeyPressed(ImGuiKey_F, false) || ImGui::IsKeyPressed(ImGuiKey_Escape, false)) panel.root = 0;
  // What the keys are at stays in sight.
  if (!is_around(flame, panel.root, panel.chosen) && !is_around(flame, panel.chosen, panel.root))
    panel.root = flame.frames[panel.chosen].parent;
}

}  // namespace

std::size_t flame_neighbour(const Flame& flame, std::size_t from, ImGuiKey key) {
  const auto& one = flame.frames[from];
  if (key == ImGuiKey_UpArrow) return one.parent;
  if (key == ImGuiKey_DownArrow) return one.children.empty() ? from : one.children.front();
  const auto& beside = flame.frames[one.parent].children;
  const auto at = std::find(beside.begin(), beside.end(), from);
  if (at == beside.end()) return from;
  if (key == ImGuiKey_LeftArrow) return at == beside.begin() ? from : *(at - 1);
  return at + 1 == beside.end() ? from : *(at + 1);
}

void draw_flame(ProfilePanel& panel, const Ui& ui) {
  auto& data = explained(panel);
  auto& flame_panel = panel.flame;
  choose_capture(panel);
  if (flame_panel.of != &data || flame_panel.capture != panel.capture)
    flame_panel = {.of = &data, .capture = panel.capture};
  const auto& flame = data.flames[panel.capture];
  if (flame.frames.size() < 2) return faint_text(ui, "Nothing ran in this capture.");
  if (flame_panel.root != 0) {
    ImGui::SameLine();
    if (ImGui::Button("Everything###flame_all")) flame_panel.root = 0;
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    fitted_text(path_of(flame, flame_panel.root));
  }
  const float row = 1.5F * em(), rows = static_cast<float>(flame.deepest + 1) * row;
  const float help = ImGui::GetTextLineHeightWithSpacing();
  const float room = std::max(6 * em(), ImGui::GetContentRegionAvail().y - help);
  if (ImGui::BeginChild("##flame", {0, room})) {
    const float width = std::max(2 * em(), ImGui::GetContentRegionAvail().x);
    FlameCanvas canvas{flame, flame_panel, ui, ImGui::GetCursorScreenPos(), width, row};
    const bool pressed = ImGui::InvisibleButton("##frames", {width, rows});
    const bool here = ImGui::IsItemHovered() || ImGui::IsWindowFocused();
    paint(canvas);
    const auto view = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
    panel.picture.area(ui, view, {view.x + size.x, view.y + std::min(size.y, rows)});
    const bool on_frame = ImGui::GetIO().MousePos.y < canvas.low.y + row || canvas.hovered != 0;
    if (ImGui::IsItemHovered() && on_frame) flame_tooltip(flame, canvas.hovered);
    if (pressed && on_frame && ImGui::IsMouseReleased(ImGuiMouseButton_Left)) {  // and not by Enter
      choose_frame(flame_panel, data, ui, canvas.hovered);
      flame_panel.root = canvas.hovered;
    }
    if (here) flame_keys(flame_panel, data, ui);
  }
  ImGui::EndChild();
  faint_text(ui,
             "a click zooms; arrows go from frame to frame, Enter or Z zooms, F or Escape shows everything");
}

}  // namespace wide::gui
