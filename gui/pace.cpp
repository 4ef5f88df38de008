#include "gui/pace.h"

#include <GLFW/glfw3.h>
#include <imgui_internal.h>

namespace wide::gui {

void Pace::wait(const Workbench& bench) const {
  const auto seconds_since = [](Clock::time_point when) {
    return std::chrono::duration<double>(Clock::now() - when).count();
  };
  const bool waiting = !ImGui::GetCurrentContext()->InputEventsQueue.empty();  // input for the next frame
  const bool settling = !bench.jobs.measuring() && seconds_since(bench.changed) < kSettling;
  if (waiting || settling || seconds_since(last_event_) < kLively) {
    glfwPollEvents();
  } else if (bench.jobs.measuring()) {
    double left = kWhileMeasuring - seconds_since(last_frame_);
    while (left > 0 && seconds_since(last_event_) >= kLively) {
      glfwWaitEventsTimeout(left);
      left = kWhileMeasuring - seconds_since(last_frame_);
    }
  } else if (bench.jobs.busy()) {
    glfwWaitEventsTimeout(kWhileWorking);
  } else if (ImGui::GetIO().WantTextInput) {
    glfwWaitEventsTimeout(0.5);  // the cursor blinks
  } else if (!bench.notices.shown().empty()) {
    glfwWaitEventsTimeout(1);  // some go by themselves
  } else if (bench.watch) {
    Clock::time_point begun;
    do {
      begun = Clock::now();
      glfwWaitEventsTimeout(kWatching);
    } while (seconds_since(begun) >= kWatching && !bench.watch());
  } else {
    glfwWaitEvents();
  }
}

}  // namespace wide::gui
