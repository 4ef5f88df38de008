#include "gui/panels/profile/span_view.h"

#include <algorithm>

#include "gui/icons.h"
#include "gui/panels/profile/profile_panel.h"
#include "gui/views/quantity.h"

namespace wide::gui {
namespace {

using Shared = std::shared_ptr<ProfilePanel>;

std::string no_trace(const Shared& panel) {
  return panel->data ? "" : "no profile is open";
}

// What is selected, or else what is in sight.
void mark(ProfilePanel& panel) {
  auto& timeline = panel.timeline;
  if (timeline.selected) {
    const auto& place = *timeline.selected;
    const auto& row = panel.data->timeline.lanes[place.lane].rows[place.row];
    timeline.measured =
        Measure{static_cast<double>(row.start(place.index)), static_cast<double>(row.end(place.index))};
  } else {
    timeline.measured =
        Measure{std::max(0.0, timeline.view.from()),
                std::min(timeline.view.to(), static_cast<double>(panel.data->timeline.length))};
  }
}

// Explains `part`, or everything. It may have fewer rivals than what was shown before.
void show(ProfilePanel& panel, std::shared_ptr<ProfileData> part) {
  panel.span.part = std::move(part);
  panel.span.of = nullptr;
  panel.comparison = 0;
  auto& data = explained(panel);
  if (data.comparisons.empty()) return;
  data.nodes = node_table(data.comparisons[0]);
  data.nodes.filter(panel.nodes.filter);
}

void explain(const Shared& panel, Workbench& bench) {
  const auto data = panel->data;
  const auto stretch = *panel->timeline.measured;
  bench.jobs.start(Lane::kFiles, "Explaining " + span_text(stretch.length()),
                   [panel, data, stretch](const JobContext& context) -> Apply {
                     auto part = std::make_shared<ProfileData>(
                         within(*data, stretch, [&context](double fraction, const char* what) {
                           context.check();
                           context.progress(fraction, what);
                         }));
                     return [panel, data, stretch, part] {
                       if (panel->data != data) return;  // another trace was opened
                       show(*panel, part);
                       panel->span.stretch = stretch;
                       panel->raise = ProfileTab::kKernels;
                     };
                   });
}

// Goes `step` places on in the ranking, and shows what is there.
void go_slower(ProfilePanel& panel, Selection& selection, int step) {
  auto& span = panel.span;
  const auto& marked = panel.timeline.measured;
  const bool same = marked.has_value() == span.ranked.has_value() &&
                    (!marked || (marked->from == span.ranked->from && marked->to == span.ranked->to));
  const bool first = span.ranking.empty() || !same;
  if (first) span.ranking = slowest(*panel.data, marked), span.ranked = marked, span.at = 0;
  if (span.ranking.empty()) return;
  const auto count = static_cast<int>(span.ranking.size());
  if (!first) span.at = static_cast<std::size_t>((static_cast<int>(span.at) + step + count) % count);
  const auto& place = span.ranking[span.at];
  panel.timeline.selected = place;
  const auto& row = panel.data->timeline.lanes[place.lane].rows[place.row];
  panel.timeline.view.reveal(static_cast<double>(row.start(place.index)));
  choose_node_of(panel.timeline, *panel.data, selection);
}

}  // namespace

ProfileData& explained(const ProfilePanel& panel) {
  return panel.span.part ? *panel.span.part : *panel.data;
}

void add_span_commands(const Shared& panel, Workbench& bench) {
  const auto add = [&](const char* id, const char* title, auto run, auto refuse) {
    bench.commands.add({.id = id,
                        .title = title,
                        .icon = icon::kProfile,
                        .run = [run](const std::string&) { run(); },
                        .refuse = refuse});
  };
  const auto open = [panel] { return no_trace(panel); };
  add(
      "profile.mark", "Timeline: mark what is selected, or else what is in sight (M)",
      [panel] { mark(*panel); }, open);
  add(
      "profile.explain", "Timeline: kernels, gain and limits of what is marked (R)",
      [panel, &bench] { explain(panel, bench); },
      [panel]() -> std::string {
        if (!panel->data) return no_trace(panel);
        return panel->timeline.measured ? "" : "mark a stretch first: Shift+drag, or M";
      });
  add(
      "profile.explain_all", "Profile: kernels, gain and limits of everything",
      [panel] { show(*panel, nullptr); },
      [panel]() -> std::string { return panel->span.part ? "" : "all is shown already"; });
  add(
      "profile.slowest", "Timeline: the slowest work, then the next slower to end (S)",
      [panel, &bench] { go_slower(*panel, bench.selection, 1); }, open);
  add(
      "profile.slower", "Timeline: back to what is slower (Shift+S)",
      [panel, &bench] { go_slower(*panel, bench.selection, -1); }, open);
}

void draw_span_line(const ProfilePanel& panel, const Ui& ui) {
  if (!panel.span.part) return;
  const auto& stretch = panel.span.stretch;
  badge(ui, Level::kWarning,
        "only " + span_text(stretch.from) + " to " + span_text(stretch.to) +
            ": what begins there; of passes those that lie wholly within");
  command_button(ui, "profile.explain_all", "Everything###explain_all");
}

void draw_histogram(ProfilePanel& panel, const Ui& ui, float height) {
  auto& span = panel.span;
  auto& data = explained(panel);
  if (span.of != &data || span.capture != panel.capture) {
    span.of = &data, span.capture = panel.capture;
    span.histogram = histogram(data.traces[panel.capture], data.structures[panel.capture], span.kernel);
  }
  const auto& shown = span.histogram;
  const auto title = span.kernel + ": " + show_count({static_cast<double>(shown.calls)}) +
                     (shown.calls == 1 ? " call, " : " calls, ") + show_time({shown.low_us}) + " to " +
                     show_time({shown.high_us});
  fitted_text(title);
  if (shown.calls == 0) return;
  const auto low = ImGui::GetCursorScreenPos();
  const float width = ImGui::GetContentRegionAvail().x;
  ImGui::InvisibleButton("##histogram", {width, height});
  const auto most = static_cast<float>(*std::max_element(shown.counts.begin(), shown.counts.end()));
  const float step = width / static_cast<float>(shown.counts.size());
  auto* list = ImGui::GetWindowDrawList();
  list->AddLine({low.x, low.y + height}, {low.x + width, low.y + height}, packed(ui.theme.hairline));
  for (std::size_t i = 0; i < shown.counts.size(); ++i) {
    const float left = low.x + static_cast<float>(i) * step;
    const auto count = static_cast<float>(shown.counts[i]);
    if (count > 0)
      list->AddRectFilled({left + 1, low.y + height - std::max(2.0F, count / most * height)},
                          {left + step - 1, low.y + height}, packed(ui.theme.wide));
    const float mouse = ImGui::GetIO().MousePos.x;
    if (!ImGui::IsItemHovered() || mouse < left || mouse >= left + step) continue;
    const auto text = show_time({shown.edges[i]}) + " to " + show_time({shown.edges[i + 1]}) + ": " +
                      show_count({static_cast<double>(shown.counts[i])}) + " calls";
    ImGui::SetTooltip("%s", text.c_str());
  }
}

}  // namespace wide::gui
