#include "gui/panels/profile/profile_panel.h"

#include <imgui_stdlib.h>

#include <algorithm>

#include "gui/icons.h"
#include "gui/views/quantity.h"
#include "results/reliability.h"
#include "results/table.h"

namespace wide::gui {
namespace {

bool running(const ProfilePanel& panel, const Ui& ui) {
  const auto job = ui.jobs.find(panel.job);
  return job && job->state < JobState::kDone;
}

void draw_form(ProfilePanel& panel, Workbench& bench, const Ui& ui) {
  auto& form = panel.form;
  if (bench.session.model) {
    int which = form.open_model ? 1 : 0;
    ImGui::SetNextItemWidth(std::min(14 * em(), ImGui::GetContentRegionAvail().x));
    const auto open = "the open model: " + bench.session.model->name;
    if (combo("##what", which, {"a built-in subject", open.c_str()})) form.open_model = which == 1;
    beside(9 * em());
  }
  if (!form.open_model || !bench.session.model) {
    ImGui::SetNextItemWidth(9 * em());
    choose_one(ui, "##subject", panel.subjects, form.subject);
    beside(5.5F * em());
    ImGui::SetNextItemWidth(5.5F * em());
    choose_one(ui, "##preset", panel.presets, form.preset);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip("The preset that gives its sizes");
    beside(5.5F * em());
    ImGui::SetNextItemWidth(5.5F * em());
    const std::int64_t one = 1;
    ImGui::InputScalar("##members", ImGuiDataType_S64, &form.members, &one);
    form.members = std::clamp<std::int64_t>(form.members, 1, 4096);
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip("Members N");
    beside(7 * em());
  }
  ImGui::SetNextItemWidth(7 * em());
  const auto rivals = bench.host.device == "cpu" ? std::vector<std::string>{"eager", "threads"}
                                                 : std::vector<std::string>{"eager", "streams", "graph"};
  choose_names(ui, "##rivals", rivals, form.rivals, "wide alone");
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip("What is captured beside wide");
}

void draw_actions(ProfilePanel& panel, const Ui& ui) {
  if (running(panel, ui)) {
    command_button(ui, "profile.cancel", "\xef\x81\x8d  Cancel###cancel");
  } else {
    ImGui::PushStyleColor(ImGuiCol_Button, faded(ui.theme.accent, 0.35F));
    command_button(ui, "profile.start", "\xef\x81\x8b  Profile###start");
    ImGui::PopStyleColor();
  }
  beside("\xef\x81\xbc  Open a trace…###open");
  command_button(ui, "profile.open", "\xef\x81\xbc  Open a trace…###open");
  beside("\xef\x84\xa0  Copy as command line###copy");
  command_button(ui, "profile.copy_command", "\xef\x84\xa0  Copy as command line###copy");
  if (!panel.data) return;
  beside("\xef\x95\xae  Export");
  if (ImGui::Button("\xef\x95\xae  Export###export")) ImGui::OpenPopup("exports");
  if (!ImGui::BeginPopup("exports")) return;
  for (const auto& command : ui.commands.all()) {
    if (!command.id.starts_with("profile.export_")) continue;
    if (ImGui::MenuItem(command.title.c_str(), nullptr, false, ui.commands.refusal(command.id).empty()))
      ui.commands.run(command.id);
  }
  ImGui::EndPopup();
}

void draw_badges(const ProfileData& data, const Ui& ui) {
  const auto& wide = data.traces[data.wide];
  std::string title = results::printable(wide.subject, 60);
  title.append(", N = ").append(std::to_string(wide.members));
  ImGui::PushFont(ui.fonts.bold, 0);
  ImGui::TextUnformatted(title.c_str());
  ImGui::PopFont();
  for (const auto& trace : data.traces) {
    if (trace.completeness.complete) continue;
    auto text = results::printable(trace.contender, 40);
    badge(ui, Level::kWarning, text.append(" is ").append(badge_text(trace.completeness)));
  }
  for (const auto& text : untied_texts(data)) badge(ui, Level::kWarning, text);
  std::string line;
  for (const auto& part : summary(data)) line.append(line.empty() ? "" : "    ").append(part);
  const auto why = doubt(data);
  if (why.empty()) return faint_text(ui, line);
  badge(ui, Level::kWarning, line);
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip))
    tooltip(std::string(results::kUnreliable).append("; ").append(why));
}

void draw_search(ProfilePanel& panel, const Ui& ui) {
  auto& timeline = panel.timeline;
  const float width = std::min(14 * em(), std::max(8 * em(), 0.35F * ImGui::GetContentRegionAvail().x));
  ImGui::SetNextItemWidth(width);
  std::string hint = icon::kInspector;
  hint.append(width < 13 * em() ? "  search" : "  search names and nodes");
  const bool entered = ImGui::InputTextWithHint("##search", hint.c_str(), &timeline.looked_for,
                                                ImGuiInputTextFlags_EnterReturnsTrue);
  if (ImGui::IsItemEdited()) look_for(timeline, *panel.data, timeline.looked_for);
  if (entered) ui.commands.run("profile.next"), ImGui::SetKeyboardFocusHere(-1);
  if (!timeline.search.text().empty()) {
    beside("\xef\x81\xa2###previous");
    command_button(ui, "profile.previous", "\xef\x81\xa2###previous");
    beside("\xef\x81\xa3###next");
    command_button(ui, "profile.next", "\xef\x81\xa3###next");
    ImGui::SameLine();
    ImGui::AlignTextToFramePadding();
    auto text = show_count({static_cast<double>(timeline.search.found())});
    ImGui::TextUnformatted(text.append(" found").c_str());
  }
  beside("\xef\x8c\x9e  Fit###fit");
  command_button(ui, "profile.fit", "\xef\x8c\x9e  Fit###fit");
  beside("Zoom to selection###zoom");
  command_button(ui, "profile.zoom", "Zoom to selection###zoom");
  if (timeline.bookmarks.empty()) return;
  beside(9 * em());
  choose_bookmark(timeline);
}

void draw_timeline_tab(ProfilePanel& panel, const Ui& ui) {
  draw_search(panel, ui);
  draw_legend(ui);
  const float help = ImGui::GetTextLineHeightWithSpacing() + 0.2F * em();
  const auto low = ImGui::GetCursorScreenPos();
  draw_timeline(panel.timeline, *panel.data, ui, help);
  panel.picture.area(ui, low, {low.x + ImGui::GetContentRegionAvail().x, ImGui::GetCursorScreenPos().y});
  faint_text(
      ui,
      "wheel zooms, drag moves, M marks, R explains it, S goes to the slowest, B sets a bookmark, F fits; "
      "F1: all keys");
}

// Bookmarks outlive the profile: they come with it when it is opened again, and what changes is kept at once.
void settle_bookmarks(ProfilePanel& panel, Workbench& bench) {
  auto& places = panel.timeline.bookmarks;
  auto& kept = bench.settings.bookmarks;
  const auto& profile = panel.data->fingerprint;
  if (profile.empty()) return;
  auto known = kept_bookmarks(kept, profile);
  if (panel.marked != profile) {
    panel.marked = profile;
    const auto length = static_cast<double>(panel.data->timeline.length);
    std::erase_if(known, [&](const Bookmark& one) { return !(one.time >= 0 && one.time <= length); });
    places = std::move(known);
    return;
  }
  if (places == known) return;
  keep_bookmarks(kept, profile, places);
  if (bench.settings_changed) bench.settings_changed();
}

void draw_tabs(ProfilePanel& panel, const Ui& ui) {
  if (!ImGui::BeginTabBar("##tabs", ImGuiTabBarFlags_DrawSelectedOverline)) return;
  struct Tab {
    ProfileTab tab;
    const char* title;
  };
  for (const auto& [tab, title] : {Tab{ProfileTab::kTimeline, "Timeline"}, Tab{ProfileTab::kFlame, "Flame"},
                                   Tab{ProfileTab::kKernels, "Kernels"}, Tab{ProfileTab::kGain, "Gain"},
                                   Tab{ProfileTab::kRoofline, "Roofline"}, Tab{ProfileTab::kLimits, "Limits"},
                                   Tab{ProfileTab::kQuery, "SQL"}}) {
    const bool raise = panel.raise == tab;
    if (!ImGui::BeginTabItem(title, nullptr, raise ? ImGuiTabItemFlags_SetSelected : 0)) continue;
    panel.shown = tab;
    if (tab == ProfileTab::kTimeline) draw_timeline_tab(panel, ui);
    const bool all = tab == ProfileTab::kTimeline || tab == ProfileTab::kQuery;
    if (!all) draw_span_line(panel, ui);
    if (tab == ProfileTab::kFlame) draw_flame(panel, ui);
    if (tab == ProfileTab::kKernels) draw_kernels(panel, ui);
    if (tab == ProfileTab::kGain) draw_gain(panel, ui);
    if (tab == ProfileTab::kRoofline) draw_roofline(panel, ui);
    if (tab == ProfileTab::kLimits) draw_limits(panel, ui);
    if (tab == ProfileTab::kQuery) draw_query(panel, ui);
    ImGui::EndTabItem();
  }
  panel.raise.reset();
  ImGui::EndTabBar();
}

}  // namespace

void draw(ProfilePanel& panel, Workbench& bench, const Ui& ui) {
  draw_form(panel, bench, ui);
  draw_actions(panel, ui);
  if (running(panel, ui)) {
    const auto job = ui.jobs.find(panel.job);
    progress_bar(ui, job->fraction, job->text);
  }
  if (!panel.data) {
    const bool model = bench.session.model && panel.form.open_model;
    const auto label = "Profile " + (model ? bench.session.model->name : panel.form.subject);
    empty_state(ui, icon::kProfile, "No profile yet",
                "What ran, wide and separately, on one scale; the kernels; where the gain comes from; and "
                "how near each "
                "node is to what this machine can do.",
                "profile.start", label.c_str());
  } else {
    if (const auto job = ui.jobs.find(panel.job); job && job->state == JobState::kFailed)
      badge(ui, Level::kError,
            "The last one failed, and this is the one before: " +
                results::printable(job->text.substr(0, job->text.find('\n')), 300));
    draw_badges(*panel.data, ui);
    settle_bookmarks(panel, bench);
    draw_tabs(panel, ui);
  }
}

}  // namespace wide::gui
