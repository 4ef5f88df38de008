// The window itself: GLFW, OpenGL, pictures.
#include "app/window.h"

#include <GLFW/glfw3.h>
#include <imgui.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>
#include <implot.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>

#include "gui/fonts.h"
#include "gui/paths.h"
#include "gui/picture.h"
#include "gui/settings_keeper.h"
#include "gui/window_events.h"
#include "gui/workbench.h"

namespace wide::gui {
namespace {

constexpr float kFontSize = 15;  // pixels at scale 1

using Clock = std::chrono::steady_clock;

std::string last_error;

// GLFW and ImGui for as long as the object lives.
class Display {
 public:
  // Throws nothing; `problem` says why there is no window.
  Display(const WindowOptions& options, std::string& problem) {
    glfwSetErrorCallback([](int, const char* text) { last_error = text ? text : ""; });
    if (glfwInit() == GLFW_FALSE) {
      problem = last_error.empty() ? "GLFW cannot start" : last_error;
      return;
    }
    started_ = true;
    glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
    glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
    glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
    glfwWindowHint(GLFW_VISIBLE, options.screenshot.empty() ? GLFW_TRUE : GLFW_FALSE);
    // "widebench" as X11 class and Wayland id, so that desktops group and name it.
    glfwWindowHintString(GLFW_X11_CLASS_NAME, "widebench");
    window = glfwCreateWindow(options.width, options.height, "Widebench", nullptr, nullptr);
    if (!window) {
      problem = last_error.empty() ? "no window with OpenGL 3.3 can be made" : last_error;
      return;
    }
    glfwMakeContextCurrent(window);
    glfwSwapInterval(options.screenshot.empty() ? 1 : 0);
  }
  ~Display() {
    if (bound_) {
      ImGui_ImplOpenGL3_Shutdown();
      ImGui_ImplGlfw_Shutdown();
    }
    if (ImPlot::GetCurrentContext()) ImPlot::DestroyContext();
    if (ImGui::GetCurrentContext()) ImGui::DestroyContext();
    if (window) glfwDestroyWindow(window);
    if (started_) glfwTerminate();
  }
  Display(const Display&) = delete;
  Display& operator=(const Display&) = delete;

  void start_imgui() {
    ImGui::CreateContext();
    ImPlot::CreateContext();
    auto& io = ImGui::GetIO();
    io.IniFilename = nullptr;  // the settings keep the layout
    io.ConfigFlags |= ImGuiConfigFlags_DockingEnable | ImGuiConfigFlags_NavEnableKeyboard;
    io.ConfigWindowsMoveFromTitleBarOnly = true;
    io.ConfigDockingWithShift = false;
    ImGui_ImplGlfw_InitForOpenGL(window, true);
    bound_ = ImGui_ImplOpenGL3_Init("#version 330 core");
  }

  GLFWwindow* window = nullptr;

 private:
  bool started_ = false, bound_ = false;
};

// `step`: seconds since the last frame, where the clock is not to be asked.
void lay_out(Workbench& bench, double now, double step = 0) {
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  if (step > 0) ImGui::GetIO().DeltaTime = static_cast<float>(step);
  ImGui::NewFrame();
  bench.frame(now);
}

void draw(GLFWwindow* window, Workbench& bench) {
  int width = 0, height = 0;
  glfwGetFramebufferSize(window, &width, &height);
  clear_picture(width, height, bench.theme.panel);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
}

// Draws when all is open and nothing moves, then writes what is seen. No frame before that, and time goes in
// equal steps: the same picture comes out each time.
WindowEnd take_picture(GLFWwindow* window, Workbench& bench, const WindowOptions& options) {
  constexpr double kStep = 1.0 / 60;
  const Offscreen target(options.width, options.height);
  const auto begun = Clock::now();
  for (int frame = 0, still = 0; still < 12; ++frame) {
    while (bench.jobs.busy()) {
      if (!bench.jobs.pump()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      still = 0;
      if (std::chrono::duration<double>(Clock::now() - begun).count() > 120) {
        return {.exit_code = 70, .error = "the picture was not ready after two minutes"};
      }
    }
    glfwPollEvents();
    if (++still == 2 && !options.panel.empty()) bench.show(options.panel);
    lay_out(bench, bench.demo ? 10 : frame * kStep, kStep);
    ImGui::Render();
    draw(window, bench);
  }
  for (const auto& notice : bench.notices.shown()) {
    if (notice.level == Level::kError) return {.exit_code = 2, .error = notice.title + ": " + notice.text};
  }
  try {
    target.write(options.screenshot);
  } catch (const Error& fault) {
    return {.exit_code = 2, .error = fault.what()};
  }
  return {};
}

void interact(GLFWwindow* window, Workbench& bench, Loop& loop) {
  const auto begun = Clock::now();
  while (!bench.closed()) {
    loop.pace.wait(bench);
    loop.pace.drawn();
    lay_out(bench, std::chrono::duration<double>(Clock::now() - begun).count());
    if (loop.pace.passes_over(bench)) {
      ImGui::EndFrame();
      continue;
    }
    ImGui::Render();
    if (!loop.shown.differs(*ImGui::GetDrawData())) continue;
    draw(window, bench);
    glfwSwapBuffers(window);
  }
}

std::string no_display(const std::string& problem) {
  return problem +
         (std::getenv("DISPLAY") || std::getenv("WAYLAND_DISPLAY") ? "" : "; no display is set ($DISPLAY)");
}

// The size that the window had, unless another one is asked for.
WindowOptions sized(WindowOptions options, const Settings& settings) {
  const WindowOptions usual;
  const bool asked = options.width != usual.width || options.height != usual.height;
  if (asked || settings.width < 320 || settings.height < 240) return options;
  options.width = settings.width, options.height = settings.height;
  return options;
}

}  // namespace

WindowEnd run_window(const Host& host, const WindowOptions& options) {
  std::string problem;
  const auto kept = options.demo || !options.screenshot.empty() ? std::filesystem::path() : settings_file();
  Display display(sized(options, kept.empty() ? Settings{} : read_settings(kept)), problem);
  if (!problem.empty()) return {.exit_code = 2, .error = no_display(problem), .no_display = true};
  display.start_imgui();
  const auto file = options.demo ? std::filesystem::path() : settings_file();
  std::string fault;
  auto settings = file.empty() ? Settings{} : read_settings(file, &fault);
  if (!options.theme.empty()) settings.dark = options.theme == "dark";
  if (options.scale > 0) settings.scale = std::clamp(options.scale, 0.5, 3.0);
  if (!options.screenshot.empty()) settings.first_steps = false;
  if (!settings.layout.empty())
    ImGui::LoadIniSettingsFromMemory(settings.layout.c_str(), settings.layout.size());

  Host given = host;
  if (!options.database.empty()) given.database = options.database;
  Workbench bench(std::move(given), settings, options.demo);
  bench.jobs.wake = [] { glfwPostEmptyEvent(); };  // before the first job; jobs end before the display does
  bench.fonts = load_fonts(kFontSize);
  ImGui::GetStyle().FontSizeBase = kFontSize;
  float scale = 1;
  glfwGetWindowContentScale(display.window, &scale, nullptr);
  bench.restyle(options.screenshot.empty() ? scale : 1);
  SettingsKeeper keeper(options.screenshot.empty() ? file : std::filesystem::path());
  bool told = false;
  bench.settings_changed = [&] {
    const auto reason = keeper.keep(bench.settings);
    if (!reason.empty() && !told) bench.notices.post(Level::kWarning, "Settings are not kept", reason);
    told = told || !reason.empty();
  };
  if (!fault.empty() && options.screenshot.empty()) {
    const bool is_kept = keep_old_settings(file);
    bench.notices.post(
        Level::kWarning, "Settings were not read whole",
        shown_path(file) + ": " + fault + (is_kept ? "; the file is kept as window.json.old" : ""));
  }
  if (!options.files.empty()) bench.open_files(options.files);
  const auto subject = options.subject.empty() && options.demo ? std::string("resblock") : options.subject;
  if (!subject.empty()) bench.open_source({.subject = subject});
  const bool asked = !options.files.empty() || !subject.empty() || !options.screenshot.empty();
  if (!options.demo && options.screenshot.empty()) bench.restore(!asked);
  if (!options.panel.empty() && !bench.show(options.panel)) {
    std::string names;
    for (const auto& panel : bench.panels) names.append(names.empty() ? "" : ", ").append(panel.id);
    return {.exit_code = 2, .error = "there is no panel '" + options.panel + "'; there are " + names};
  }
  if (!options.screenshot.empty()) return take_picture(display.window, bench, options);
  Loop loop{.bench = &bench};
  take_events(display.window, loop);
  interact(display.window, bench, loop);
  std::size_t size = 0;
  const char* layout = ImGui::SaveIniSettingsToMemory(&size);
  bench.settings.layout.assign(layout, size);
  glfwGetWindowSize(display.window, &bench.settings.width, &bench.settings.height);
  bench.note_what_is_open();
  bench.settings_changed = nullptr;
  keeper.close(bench.settings);
  glfwHideWindow(display.window);
  // What is read and built has no end that could be waited for, and nothing of it is kept.
  if (!bench.jobs.end(std::chrono::milliseconds(1500))) std::_Exit(0);
  return {};
}

}  // namespace wide::gui
