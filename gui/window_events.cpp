#include "gui/window_events.h"

#include <GLFW/glfw3.h>
#include <imgui_impl_glfw.h>
#include <imgui_internal.h>

#include <string>
#include <vector>

#include "gui/workbench.h"

namespace wide::gui {
namespace {

Loop& loop_of(GLFWwindow* window) {
  return *static_cast<Loop*>(glfwGetWindowUserPointer(window));
}

void touched(GLFWwindow* window) {
  loop_of(window).pace.touched();
}

bool is_modifier(int key) {
  return key >= GLFW_KEY_LEFT_SHIFT && key <= GLFW_KEY_RIGHT_SUPER;
}

// A key that was pressed, and a modifier that changes after it, are seen in two frames, else the key would be
// seen without the modifier. Within one frame ImGui takes no two events of a key: this one, which nobody has,
// parts them.
void part_frames() {
  if (ImGui::GetCurrentContext()->InputEventsQueue.empty()) return;
  ImGui::GetIO().AddKeyEvent(ImGuiKey_F24, true);
  ImGui::GetIO().AddKeyEvent(ImGuiKey_F24, false);
}

void set_callbacks(GLFWwindow* window) {
  glfwSetCursorPosCallback(window, [](GLFWwindow* w, double, double) { touched(w); });
  glfwSetMouseButtonCallback(window, [](GLFWwindow* w, int, int, int) { touched(w); });
  glfwSetScrollCallback(window, [](GLFWwindow* w, double, double) { touched(w); });
  glfwSetKeyCallback(window, [](GLFWwindow* w, int key, int, int, int) {
    touched(w);
    if (is_modifier(key)) part_frames();
  });
  glfwSetCharCallback(window, [](GLFWwindow* w, unsigned) { touched(w); });
  glfwSetWindowFocusCallback(window, [](GLFWwindow* w, int) { touched(w); });
  glfwSetWindowSizeCallback(window, [](GLFWwindow* w, int, int) { touched(w); });
  glfwSetWindowRefreshCallback(window, [](GLFWwindow* w) {
    touched(w);
    loop_of(w).shown.forget();
  });
  glfwSetWindowContentScaleCallback(window, [](GLFWwindow* w, float x, float) {
    touched(w);
    loop_of(w).bench->restyle(x);
  });
  glfwSetWindowCloseCallback(window, [](GLFWwindow* w) {
    touched(w);
    glfwSetWindowShouldClose(w, GLFW_FALSE);
    loop_of(w).bench->ask_to_close();
  });
  glfwSetDropCallback(window, [](GLFWwindow* w, int count, const char** paths) {
    touched(w);
    loop_of(w).bench->open_files(std::vector<std::string>(paths, paths + count));
  });
}

}  // namespace

void take_events(GLFWwindow* window, Loop& loop) {
  glfwSetWindowUserPointer(window, &loop);
  ImGui_ImplGlfw_RestoreCallbacks(window);
  set_callbacks(window);
  ImGui_ImplGlfw_InstallCallbacks(window);  // calls what was there
}

}  // namespace wide::gui
