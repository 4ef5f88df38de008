#include "gui/status.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <thread>

#include "formats/error.h"
#include "gui/icons.h"
#include "gui/panels/shared/results_panels.h"
#include "gui/views/quantity.h"
#include "gui/workbench.h"
#include "results/reliability.h"

namespace wide::gui {
namespace {

constexpr std::string_view kBetween = "   |   ";

void look_at_devices(StatusBar& status, const Workbench& bench) {
  const auto threads = bench.demo ? 2 : std::max(1U, std::thread::hardware_concurrency());
  const auto& cpu = bench.demo ? std::string("demo") : bench.machine().cpu;
  if (bench.host.engine.devices && !bench.demo) {
    for (const auto& device : bench.host.engine.devices()) {
      const bool is_cpu = device.name == "cpu";
      if (device.usable)
        status.device.append(status.device.empty() ? "" : ", ")
            .append(device.name)
            .append(": ")
            .append(is_cpu ? short_processor(cpu) : device.description);
      status.details.append(device.name).append(": ").append(is_cpu ? cpu : "");
      status.details.append(is_cpu && !device.description.empty() ? ", " : "").append(device.description);
      status.details.append(device.usable ? "" : device.reason).append("\n");
    }
  } else {
    status.device.append("cpu: ").append(cpu);
  }
  status.device.append(", ").append(std::to_string(threads)).append(threads == 1 ? " thread" : " threads");
  status.details.append(std::to_string(threads))
      .append(threads == 1 ? " thread can run" : " threads can run at once");
}

std::string noise_tooltip(const StatusBar& status) {
  if (!status.fault.empty()) return status.fault;
  if (!status.noise)
    return "How much two measurements of the very same work differ here is not known yet. Every sweep "
           "measures "
           "it beside its cases: start one in Sweep (F5).";
  std::string text = "Measured against itself, wide seemed faster or slower by ";
  text.append(show_share({status.noise->share}))
      .append(": the median over ")
      .append(std::to_string(status.noise->cases))
      .append(status.noise->cases == 1 ? " case" : " cases");
  if (status.noise->run > 0)
    text.append(" of run ").append(std::to_string(status.noise->run)).append(", the newest of this machine");
  text.append(". A smaller difference means nothing.");
  if (unreliable(*status.noise))
    text.append(" That much noise allows no verdict: close what else runs here, then measure again.");
  return text;
}

}  // namespace

std::string noise_text(const StatusBar& status) {
  if (!status.fault.empty()) return "noise not known";
  if (!status.noise) return "noise not measured";
  auto text = std::string("noise ").append(show_share({status.noise->share}));
  if (!unreliable(*status.noise)) return text;
  return std::string(icon::kWarning).append(" ").append(text).append(", ").append(results::kUnreliable);
}

void update(StatusBar& status, Workbench& bench) {
  if (status.device.empty()) look_at_devices(status, bench);
  const auto& records = *bench.results->records;
  if (status.asked && status.read == records.revision) return;
  status.asked = true;
  status.read = records.revision;
  if (bench.demo) {
    if (bench.results->sweep->run) status.noise = noise_of(bench.results->sweep->run->cases);
    return;
  }
  std::error_code failed;
  if (records.database.empty() || !std::filesystem::exists(records.database, failed)) {
    status.noise.reset();
    status.fault.clear();
    return;
  }
  bench.jobs.start(Lane::kFiles, "Reading what is kept",
                   [&status, &bench, database = records.database,
                    key = profiler::key(bench.machine())](const JobContext&) -> Apply {
                     std::optional<Noise> noise;
                     std::string fault;
                     try {
                       noise = read_noise(database, key);
                     } catch (const Error& error) {
                       fault = error.what();
                     }
                     return [&status, &bench, noise, fault] {
                       if (!fault.empty() && fault != status.fault)
                         bench.notices.post(Level::kError, "Results cannot be read", fault);
                       status.noise = noise;
                       status.fault = fault;
                     };
                   });
}

float fit_status(StatusBar& status, float room) {
  const auto noise = noise_text(status);
  auto whole = status.device;
  whole.append(kBetween).append(noise);
  for (const auto& text : {whole, noise}) {
    const float width = ImGui::CalcTextSize(text.c_str()).x;
    if (width > room) continue;
    status.shown = text;
    return width;
  }
  status.shown.clear();
  return 0;
}

void draw_status(const StatusBar& status, const Ui& ui) {
  const auto between = status.shown.find(kBetween);
  ImGui::PushStyleColor(ImGuiCol_Text, ui.theme.faint);
  if (between != std::string::npos) {
    ImGui::TextUnformatted(status.device.c_str());
    if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(status.details);
    ImGui::SameLine(0, 0);
    ImGui::TextUnformatted(kBetween.data());
    ImGui::SameLine(0, 0);
  }
  ImGui::PopStyleColor();
  const bool doubtful = status.noise && unreliable(*status.noise);
  ImGui::PushStyleColor(ImGuiCol_Text, doubtful ? ui.theme.warning : ui.theme.faint);
  ImGui::TextUnformatted(noise_text(status).c_str());
  ImGui::PopStyleColor();
  if (ImGui::IsItemHovered(ImGuiHoveredFlags_ForTooltip)) tooltip(noise_tooltip(status));
}

}  // namespace wide::gui
