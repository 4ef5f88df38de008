#include "gui/panels/profile/query_view.h"

#include <imgui_stdlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "formats/error.h"
#include "gui/icons.h"
#include "gui/panels/profile/profile_panel.h"

namespace wide::gui {
namespace {

using Shared = std::shared_ptr<ProfilePanel>;

// Nothing where it would not be shown as it is: infinities, and whole numbers that are larger than every
// double holds.
std::optional<double> number_in(const std::string& text) {
  constexpr double kMostWhole = 9007199254740992;  // 2^53
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  const bool whole = text.find_first_of(".e") == std::string::npos;
  if (whole && std::abs(value) >= kMostWhole) return std::nullopt;
  return value;
}

// With all digits: what was asked may be of any size.
std::string show_number(const profiler::Interval& number) {
  if (!std::isfinite(number.value)) return "–";
  std::array<char, 32> digits;
  return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), number.value).ptr};
}

// A column holds numbers where each cell is one or empty, and some is.
bool holds_numbers(const results::Answer& answer, std::size_t column) {
  bool some = false;
  for (const auto& row : answer.rows) {
    if (row[column].empty()) continue;
    if (!number_in(row[column])) return false;
    some = true;
  }
  return some;
}

Table table_of(const results::Answer& answer) {
  std::vector<Column> columns;
  for (std::size_t i = 0; i < answer.columns.size(); ++i) {
    const bool numbers = holds_numbers(answer, i);
    columns.push_back({.key = answer.columns[i],
                       .title = answer.columns[i],
                       .kind = numbers ? CellKind::kNumber : CellKind::kText,
                       .show = numbers ? show_number : nullptr});
  }
  Table table(std::move(columns));
  const auto says_something = [&](std::size_t column) {
    return std::ranges::any_of(answer.rows, [&](const auto& row) { return !row[column].empty(); });
  };
  for (const auto& cells : answer.rows) {
    const auto row = table.add_row();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (table.columns()[i].kind == CellKind::kText) {
        // A column of nothing would be left out, as in other tables.
        table.set(row, i, cells[i].empty() && !says_something(i) ? "–" : cells[i]);
      } else if (const auto value = number_in(cells[i])) {
        table.set(row, i, *value);
      }
    }
  }
  table.refresh();
  return table;
}

void ask(const Shared& panel, Workbench& bench) {
  auto& query = panel->query;
  query.fault.clear();
  query.answer = nullptr;  // an old one's rows are no answer
  query.job = bench.jobs.start(
      Lane::kFiles, "Asking the events",
      [panel, data = panel->data, events = query.events,
       text = query.text](const JobContext& context) -> Apply {
        const auto stop = [&context] { context.check(); };
        try {
          auto filled = events;
          if (!filled) {
            context.progress(-1, "putting the events into a table");
            filled = std::make_shared<results::EventQuery>(data->traces, data->structures, stop);
          }
          context.progress(-1, "asking");
          const auto answer = filled->ask(text, stop);
          auto table = std::make_shared<Table>(table_of(answer));
          return [panel, data, filled, table, more = answer.more] {
            if (panel->data != data) return;  // another trace was opened
            panel->query.events = filled, panel->query.answer = table, panel->query.more = more;
            panel->query.view = {.refit = true};
          };
        } catch (const Error& error) {
          if (error.stage() != "sql") throw;
          return [panel, data, fault = std::string(error.what())] {
            if (panel->data == data) panel->query.fault = fault;
          };
        }
      });
}

}  // namespace

void add_query_commands(const Shared& panel, Workbench& bench) {
  bench.commands.add({.id = "profile.ask",
                      .title = "Profile: ask the events in SQL",
                      .icon = icon::kTerminal,
                      .run =
                          [panel, &bench](const std::string& text) {
                            if (!text.empty()) panel->query.text = text;
                            panel->raise = ProfileTab::kQuery;
                            ask(panel, bench);
                          },
                      .refuse = [panel, &bench]() -> std::string {
                        if (!panel->data) return "no profile is open";
                        const auto job = bench.jobs.find(panel->query.job);
                        return job && job->state < JobState::kDone
                                   ? "it is being asked; the job can be cancelled"
                                   : "";
                      }});
}

void draw_query(ProfilePanel& panel, const Ui& ui) {
  auto& query = panel.query;
  ImGui::PushFont(ui.fonts.mono, 0);
  // Ctrl+Enter ends the typing and asks.
  const bool typed = ImGui::InputTextMultiline("##sql", &query.text, {-1, 5.2F * em()},
                                               ImGuiInputTextFlags_EnterReturnsTrue);
  ImGui::PopFont();
  if (typed) ui.commands.run("profile.ask");
  command_button(ui, "profile.ask", "\xef\x81\x8b  Ask (Ctrl+Enter)###ask");
  faint_text(ui,
             "SELECT only, of the table events: capture, track, name, kind, node, strategy, start_us, "
             "duration_us, own_us (less work within it), work, pass, member.");
  if (!query.fault.empty()) badge(ui, Level::kError, query.fault);
  if (query.fault.empty() && !query.answer) {
    if (const auto waits = ui.commands.refusal("profile.ask"); !waits.empty()) faint_text(ui, waits);
  }
  if (!query.answer) return;
  if (query.more) badge(ui, Level::kWarning, "only the first 10,000 rows are shown");
  if (query.answer->rows() == 0) faint_text(ui, "no row fits");
  TableOptions options;
  options.id = "##answer";
  const auto node = query.answer->column("node");
  const bool nodes = node < query.answer->columns().size();
  if (const auto row = draw_table(ui, *query.answer, query.view, options); row && nodes)
    ui.selection.choose_node(selection_name(query.answer->text(*row, node)));
}

}  // namespace wide::gui
