#include "gui/pace.h"

#include <GLFW/glfw3.h>

namespace wide::gui {

void Pace::wait(const Workbench& bench) const {
  const auto seconds_since = [](Clock::time_point when) {
    return std::chrono::duration<double>(Clock::now() - when).count();
  };
  if (bench.jobs.measuring()) {
    for (double left = kWhileMeasuring; left > 0; left = kWhileMeasuring - seconds_since(last_frame_))
      glfwWaitEventsTimeout(left);
  } else if (seconds_since(last_event_) < kLively) {
    glfwPollEvents();
  } else if (bench.jobs.busy()) {
    glfwWaitEventsTimeout(kWhileWorking);
  } else if (ImGui::GetIO().WantTextInput) {
    glfwWaitEventsTimeout(0.5);  // the cursor blinks
  } else if (!bench.notices.shown().empty()) {
    glfwWaitEventsTimeout(1);  // some go by themselves
  } else {
    glfwWaitEvents();
  }
}

}  // namespace wide::gui
