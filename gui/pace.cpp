#include "gui/pace.h"

#include <GLFW/glfw3.h>
#include <imgui_internal.h>

namespace wide::gui {
namespace {

// Whether input came that the next frame takes.
bool input_waits() {
  return !ImGui::GetCurrentContext()->InputEventsQueue.empty();
}

}  // namespace

bool Pace::passes_over(const Workbench& bench) {
  const bool outdated = input_waits() || bench.restyles();
  passed_over_ = outdated && passed_over_ < kPassedOver ? passed_over_ + 1 : 0;
  return passed_over_ > 0;
}

void Pace::wait(const Workbench& bench) const {
  const auto seconds_since = [](Clock::time_point when) {
    return std::chrono::duration<double>(Clock::now() - when).count();
  };
  const bool settling = !bench.jobs.measuring() && seconds_since(bench.changed) < kSettling;
  if (input_waits() || passed_over_ > 0) {
    glfwPollEvents();
  } else if (settling || seconds_since(last_event_) < kLively) {
    const double left = kBetweenFrames - seconds_since(last_frame_);
    if (left > 0) {
      glfwWaitEventsTimeout(left);
    } else {
      glfwPollEvents();
    }
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
