// The subjects that a person keeps an eye on, a card each.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "gui/icons.h"
#include "gui/panels/history/history_panel.h"
#include "gui/panels/shared/choices.h"
#include "gui/views/quantity.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using results::printable;

// Speed-ups run by run on a logarithmic scale, with the line of no speed-up where it is in sight.
void draw_spark(const PinnedSubject& card, const Ui& ui, float height) {
  const auto low = ImGui::GetCursorScreenPos();
  const float width = std::max(4.0F, ImGui::GetContentRegionAvail().x);
  if (ImGui::InvisibleButton("##spark", {width, height})) ui.commands.run("history.follow", card.subject);
  if (card.speedups.empty()) return;
  double least = 0, most = 0;  // logarithms; 1 is in sight
  for (const double value : card.speedups)
    least = std::min(least, std::log(value)), most = std::max(most, std::log(value));
  const double span = std::max(0.1, most - least);
  const auto place = [&](std::size_t i) {
    const auto count = static_cast<float>(card.speedups.size() - 1);
    const float x = count > 0 ? static_cast<float>(i) / count : 0.5F;
    const auto y = static_cast<float>((std::log(card.speedups[i]) - least) / span);
    return ImVec2{low.x + 0.3F * em() + x * (width - 0.6F * em()), low.y + height - 2 - y * (height - 4)};
  };
  auto* list = ImGui::GetWindowDrawList();
  const auto one = low.y + height - 2 - static_cast<float>(-least / span) * (height - 4);
  list->AddLine({low.x, one}, {low.x + width, one}, packed(ui.theme.hairline));
  for (std::size_t i = 1; i < card.speedups.size(); ++i)
    list->AddLine(place(i - 1), place(i), packed(ui.theme.wide), 2);
  list->AddCircleFilled(place(card.speedups.size() - 1), 0.28F * em(), packed(ui.theme.wide));
}

void draw_card(const PinnedSubject& card, const Ui& ui) {
  ImGui::PushFont(ui.fonts.bold, 0);
  const float room = ImGui::GetContentRegionAvail().x - 2.4F * em();
  if (ImGui::Selectable((fitting(printable(card.subject, 60), room) + "###card").c_str(), false,
                        ImGuiSelectableFlags_AllowOverlap, {room, 0}))
    ui.commands.run("history.follow", card.subject);
  ImGui::PopFont();
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip("A click follows it run by run.");
  ImGui::SameLine();
  if (ImGui::SmallButton((std::string(icon::kCross) + "###unpin").c_str()))
    ui.commands.run("history.pin_subject", card.subject);
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip("Take it off the dashboard");
  if (card.about.empty()) {
    faint_text(ui, card.state);
    return;
  }
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  fitted_text(card.about);
  ImGui::PopStyleColor();
  fitted_text(show_ratio(card.newest) + "   " + show_time({card.wide_us}));
  draw_spark(card, ui, 3 * em());
  ImGui::PushStyleColor(ImGuiCol_Text, card.changed ? ui.theme.warning : ui.theme.faint);
  fitted_text((card.changed ? std::string(icon::kWarning) + " " : std::string()) + card.state + ", " +
              card.started);
  ImGui::PopStyleColor();
}

void draw_pinning(const HistoryPanel& panel, const Ui& ui) {
  std::vector<Choice> choices;
  if (panel.run) {
    for (const auto& subject : panel.run->subjects) {
      const auto& pinned = panel.pinned_of;
      if (std::find(pinned.begin(), pinned.end(), subject) == pinned.end()) choices.push_back({subject, ""});
    }
  }
  if (choices.empty()) return;
  ImGui::SetNextItemWidth(14 * em());
  std::string wanted = "pin a subject of this run";
  if (choose_one(ui, "##pin_subject", choices, wanted)) ui.commands.run("history.pin_subject", wanted);
}

}  // namespace

void draw_dashboard(HistoryPanel& panel, const Ui& ui) {
  draw_pinning(panel, ui);
  if (panel.pinned_of.empty())
    return faint_text(
        ui,
        "Subjects to keep an eye on: look at a run and pin some of them. Each is a card with its "
        "speed-up over N eager runs, run by run, and says where its level changed.");
  constexpr float kCard = 16;  // em
  const int columns = std::max(1, static_cast<int>(ImGui::GetContentRegionAvail().x / (kCard * em())));
  if (!ImGui::BeginTable(
          "##cards", columns,
          ImGuiTableFlags_SizingStretchSame | ImGuiTableFlags_BordersInner | ImGuiTableFlags_NoSavedSettings))
    return;
  for (std::size_t i = 0; i < panel.pinned.size(); ++i) {
    ImGui::TableNextColumn();
    ImGui::PushID(panel.pinned[i].subject.c_str());
    draw_card(panel.pinned[i], ui);
    ImGui::PopID();
  }
  ImGui::EndTable();
}

}  // namespace wide::gui
