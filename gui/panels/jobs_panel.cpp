// Work that goes on, and the log of what happened.
#include <imgui_stdlib.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>

#include "gui/icons.h"
#include "gui/workbench.h"

namespace wide::gui {
namespace {

struct LogPanel {
  int least = 1;  ///< Level shown at least: 0 debug … 3 error
  std::string filter;
  std::uint64_t seen = 0;  ///< revision of the log that was scrolled to
};

void draw_job(const JobView& job, const Ui& ui) {
  ImGui::PushID(static_cast<int>(job.id));
  // A job that goes on tells whole seconds: tenths would have the window drawn ten times as often.
  const double told = job.state == JobState::kRunning ? std::floor(job.seconds) : job.seconds;
  const auto seconds = ui.demo || told <= 0 ? std::string() : time_text(told * 1e6);
  switch (job.state) {
    case JobState::kWaiting:
      badge(ui, Level::kDebug, job.title + " waits");
      break;
    case JobState::kRunning: {
      ImGui::TextUnformatted(job.title.c_str());
      const auto text = job.text.empty() || seconds.empty() ? job.text + seconds : job.text + "  " + seconds;
      const float buttons = ImGui::CalcTextSize("Cancel").x + 2 * ImGui::GetStyle().FramePadding.x +
                            ImGui::GetStyle().ItemSpacing.x;
      progress_bar(ui, job.fraction, text, ImGui::GetContentRegionAvail().x - buttons);
      ImGui::SameLine();
      break;
    }
    case JobState::kDone:
      badge(ui, Level::kInfo, job.title + (seconds.empty() ? "" : ", " + seconds));
      break;
    case JobState::kCancelled:
      badge(ui, Level::kDebug, job.title + ": cancelled");
      break;
    case JobState::kFailed:
      badge(ui, Level::kError, job.title + " did not work");
      faint_text(ui, job.text);
      break;
  }
  if (job.state < JobState::kDone && ImGui::Button("Cancel")) ui.jobs.cancel(job.id);
  ImGui::PopID();
}

void draw_jobs(const Ui& ui) {
  constexpr double kNews = 1;  // seconds: what was read faster nobody waited for
  auto jobs = ui.jobs.list();
  std::erase_if(jobs, [](const JobView& job) {
    return job.lane == Lane::kFiles && job.state == JobState::kDone && job.seconds < kNews;
  });
  if (jobs.empty()) {
    faint_text(ui,
               "Nothing runs. Opening, building, validating and sweeping show their progress here, and can "
               "be cancelled.");
    return;
  }
  bool finished = false;
  for (const auto& job : jobs) {
    draw_job(job, ui);
    finished = finished || job.state >= JobState::kDone;
  }
  if (finished && ImGui::SmallButton("Clear the finished")) ui.jobs.forget_finished();
}

void draw(LogPanel& panel, const Ui& ui) {
  constexpr std::array kWords = {"debug", "info", "warning", "error"};
  ImGui::SetNextItemWidth(6 * em());
  combo("##least", panel.least, {"debug", "info", "warning", "error"});
  ImGui::SameLine();
  ImGui::SetNextItemWidth(
      std::max(4.5F * em(), std::min(14 * em(), ImGui::GetContentRegionAvail().x - 6 * em())));
  ImGui::InputTextWithHint("##filter", "filter", &panel.filter);
  ImGui::SameLine();
  const bool roomy = ImGui::GetContentRegionAvail().x > 5 * em();
  command_button(ui, "edit.copy_log", roomy ? "\xef\x83\x85  Copy###copy" : "\xef\x83\x85###copy");
  if (!ImGui::BeginChild("##lines")) {
    ImGui::EndChild();
    return;
  }
  for (const auto& line : ui.notices.lines()) {
    if (static_cast<int>(line.level) < panel.least) continue;
    if (!panel.filter.empty() && line.text.find(panel.filter) == std::string::npos) continue;
    ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
    ImGui::TextUnformatted(line.time.c_str());
    ImGui::PopStyleColor();
    ImGui::SameLine();
    if (line.level >= Level::kWarning) {
      badge(ui, line.level, kWords[static_cast<std::size_t>(line.level)]);
      ImGui::SameLine();
    }
    ImGui::PushTextWrapPos(0);
    ImGui::TextUnformatted(line.text.c_str());
    ImGui::PopTextWrapPos();
  }
  if (panel.seen != ui.notices.revision()) {
    panel.seen = ui.notices.revision();
    ImGui::SetScrollHereY(1);
  }
  if (ui.notices.lines().empty()) faint_text(ui, "What is done is written here.");
  ImGui::EndChild();
}

}  // namespace

void add_jobs_panel(Workbench& bench) {
  bench.add_panel({"jobs", "Jobs", icon::kJobs, Place::kLeftBelow, draw_jobs});
}

void add_log_panel(Workbench& bench) {
  const auto panel = std::make_shared<LogPanel>();
  bench.add_panel({"log", "Log", icon::kLog, Place::kBelow, [panel](const Ui& ui) { draw(*panel, ui); }});
}

}  // namespace wide::gui
