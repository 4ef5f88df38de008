// Places in the timeline to come back to.
#include <algorithm>
#include <cmath>

#include "gui/icons.h"
#include "gui/panels/profile/timeline_panel.h"
#include "results/table.h"

namespace wide::gui {
namespace {

constexpr double kReach = 6;  // pixels: as near as this it is the same place

}  // namespace

void toggle_bookmark(TimelinePanel& panel, const ProfileData& data) {
  Bookmark one{(panel.view.from() + panel.view.to()) / 2, ""};
  if (panel.pointed) one.time = *panel.pointed;
  if (panel.selected) {
    const auto& lane = data.timeline.lanes[panel.selected->lane];
    one.time = static_cast<double>(lane.rows[panel.selected->row].start(panel.selected->index));
    const auto slice = slice_at(data.timeline, data.traces, *panel.selected);
    one.name = results::printable(data.traces[lane.capture].names[slice.name], 60);
  }
  one.time = std::clamp(one.time, 0.0, static_cast<double>(data.timeline.length));
  const auto before = panel.bookmarks.size();
  std::erase_if(panel.bookmarks, [&](const Bookmark& other) {
    return std::abs(other.time - one.time) <= kReach * panel.view.scale();
  });
  if (panel.bookmarks.size() != before) return;
  const auto at = std::find_if(panel.bookmarks.begin(), panel.bookmarks.end(),
                               [&](const Bookmark& other) { return other.time > one.time; });
  panel.bookmarks.insert(at, std::move(one));
}

bool go_to_bookmark(TimelinePanel& panel, bool forwards) {
  auto& all = panel.bookmarks;
  if (all.empty()) return false;
  panel.bookmark = panel.bookmark >= all.size()
                       ? (forwards ? 0 : all.size() - 1)
                       : (panel.bookmark + (forwards ? 1 : all.size() - 1)) % all.size();
  show_bookmark(panel, panel.bookmark);
  return true;
}

void show_bookmark(TimelinePanel& panel, std::size_t which) {
  panel.bookmark = which;
  const double half = (panel.view.to() - panel.view.from()) / 2;
  const double middle = panel.view.from() + half;
  panel.view.pan((middle - panel.bookmarks[which].time) / panel.view.scale());
}

void draw_bookmarks(const TimelinePanel& panel, const Ui& ui, ImVec2 low, ImVec2 high, float ruler) {
  auto* list = ImGui::GetWindowDrawList();
  list->PushClipRect(low, high, true);
  const auto ink = packed(ui.theme.warning);
  for (std::size_t i = 0; i < panel.bookmarks.size(); ++i) {
    const float x = std::round(low.x + static_cast<float>(panel.view.x_of(panel.bookmarks[i].time)));
    if (x < low.x - em() || x > high.x) continue;
    list->AddLine({x, low.y}, {x, high.y}, packed(faded(ui.theme.warning, 0.6F)), 1);
    const auto number = std::to_string(i + 1);
    const float wide = ImGui::CalcTextSize(number.c_str()).x + 0.5F * em();
    const ImVec2 end{x + wide, low.y + 0.8F * ruler};
    if (i == panel.bookmark) {
      list->AddRectFilled({x, low.y}, end, ink);
    } else {
      list->AddRectFilled({x, low.y}, end, packed(ui.theme.panel));
      list->AddRect({x, low.y}, end, ink);
    }
    list->AddText({x + 0.25F * em(), low.y}, packed(i == panel.bookmark ? ui.theme.panel : ui.theme.text),
                  number.c_str());
  }
  list->PopClipRect();
}

void choose_bookmark(TimelinePanel& panel) {
  const auto title =
      std::to_string(panel.bookmarks.size()) + (panel.bookmarks.size() == 1 ? " bookmark" : " bookmarks");
  ImGui::SetNextItemWidth(9 * em());
  if (!begin_combo("##bookmarks", title)) return;
  std::optional<std::size_t> gone;
  for (std::size_t i = 0; i < panel.bookmarks.size(); ++i) {
    const auto& one = panel.bookmarks[i];
    ImGui::PushID(static_cast<int>(i));
    if (ImGui::SmallButton((std::string(icon::kCross) + "###forget_bookmark").c_str())) gone = i;
    ImGui::SameLine();
    auto label = std::to_string(i + 1) + "   " + span_text(one.time);
    if (!one.name.empty()) label.append("   ").append(one.name);
    if (ImGui::Selectable(label.append("###bookmark").c_str(), i == panel.bookmark)) show_bookmark(panel, i);
    ImGui::PopID();
  }
  ImGui::EndCombo();
  if (gone) panel.bookmarks.erase(panel.bookmarks.begin() + static_cast<std::ptrdiff_t>(*gone));
}

}  // namespace wide::gui
