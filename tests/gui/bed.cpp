// gui_test [GROUP…]: drives the window; prints what failed, and how many passed.
#include "gui/bed.h"

#include <GLFW/glfw3.h>
#include <imgui_impl_glfw.h>
#include <imgui_impl_opengl3.h>
#include <imgui_internal.h>
#include <imgui_te_exporters.h>
#include <imgui_te_utils.h>
#include <implot.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <thread>
#include <utility>

#include "app/engine.h"
#include "app/model_bench.h"
#include "gui/fonts.h"
#include "gui/pace.h"
#include "gui/picture.h"
#include "gui/shown.h"
#include "gui/window_events.h"

namespace wide::test {
namespace {

constexpr float kFontSize = 15;
constexpr int kWidth = 1280, kHeight = 800;
std::unique_ptr<gui::Workbench> current;
gui::Fonts fonts;
gui::Loop loop;
GLFWwindow* shell = nullptr;
std::string wanted_picture;  // file to write after the next frame; empty: none
double now = 0;
bool noting = false;
std::vector<Frame> frames;
gui::Pace* pace = nullptr;
gui::Shown shown;
int pictures = 0;

std::unique_ptr<gui::Workbench> make_bench(const Start& start) {
  gui::Host host{app::engine(), app::model_bench(start.device), program_beside()};
  host.device = start.device;
  auto made =
      std::make_unique<gui::Workbench>(std::move(host), gui::Settings{.first_steps = start.first}, false);
  made->fonts = fonts;
  made->restyle(1);
  return made;
}

struct Folder {
  Folder() : path(std::filesystem::temp_directory_path() / ("widebench-gui-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::filesystem::path path;
};

}  // namespace

gui::Workbench& bench() {
  return *current;
}

std::string program_beside() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "widebench";
}

void fresh(ImGuiTestContext* ctx, const Start& start) {
  current = make_bench(start);
  loop.bench = current.get();
  ImGui::SetClipboardText("");
  ctx->PopupCloseAll();
  current->commands.run("view.reset");
  ctx->Yield(4);
}

void settle(ImGuiTestContext* ctx) {
  const auto begun = std::chrono::steady_clock::now();
  ctx->Yield(2);
  while (current->jobs.busy()) {
    ctx->Yield();
    // As the window does: what is measured is not disturbed by drawing.
    std::this_thread::sleep_for(std::chrono::milliseconds(current->jobs.measuring() ? 100 : 5));
    if (std::chrono::steady_clock::now() - begun > std::chrono::minutes(2)) {
      IM_ERRORF("%s", "a job did not end in two minutes");
      return;
    }
  }
  ctx->Yield(3);
}

void with_sample(ImGuiTestContext* ctx) {
  fresh(ctx);
  current->commands.run("file.sample");
  settle(ctx);
}

void show(ImGuiTestContext* ctx, const char* panel) {
  current->commands.run(std::string("view.") + panel);
  ctx->Yield(3);
}

void click_row(ImGuiTestContext* ctx, const char* row) {
  ctx->MouseMove(row, ImGuiTestOpFlags_MoveToEdgeL);
  ctx->MouseClick();
}

void click_tab(ImGuiTestContext* ctx, const char* title) {
  std::string path = "//###";
  auto* panel = ctx->GetWindowByRef(path.append(title).c_str());
  if (panel == nullptr) {
    IM_ERRORF("there is no panel %s", title);
    return;
  }
  ctx->ItemClick(panel->TabId);
  ctx->Yield(3);
}

void drop(const std::vector<std::string>& paths) {
  const auto callback = glfwSetDropCallback(shell, nullptr);
  glfwSetDropCallback(shell, callback);
  std::vector<const char*> texts;
  for (const auto& path : paths) texts.push_back(path.c_str());
  callback(shell, static_cast<int>(texts.size()), texts.data());
}

void picture(ImGuiTestContext* ctx, const std::string& name) {
  const char* folder = std::getenv("WIDEBENCH_TEST_PICTURES");
  if (folder == nullptr || *folder == '\0') return;
  const auto size = ImGui::GetIO().DisplaySize;
  ctx->MouseTeleportToPos({0.75F * size.x, 2});
  ctx->Yield(30);  // what fades has faded
  wanted_picture = (std::filesystem::path(folder) / (name + ".png")).string();
  ctx->Yield(2);
}

std::filesystem::path corpus(const std::string& name) {
  return std::filesystem::path(WIDEBENCH_TEST_CORPUS) / name;
}

std::filesystem::path scratch() {
  static const Folder folder;
  return folder.path;
}

std::string newest_notice() {
  const auto& shown = current->notices.shown();
  return shown.empty() ? std::string() : shown.back().title + "\n" + shown.back().text;
}

bool noticed(const std::string& text) {
  for (const auto& notice : current->notices.shown()) {
    if ((notice.title + "\n" + notice.text).find(text) != std::string::npos) return true;
  }
  return false;
}

std::string clipboard() {
  const char* text = ImGui::GetClipboardText();
  return text ? text : "";
}

std::string drawn_text(ImGuiTestContext* ctx) {
  const auto before = clipboard();
  ImGui::LogToClipboard();
  ImGui::GetCurrentContext()->LogWindow = nullptr;  // of every window, not only of this one
  ctx->Yield();
  ImGui::LogFinish();
  auto text = clipboard();
  ImGui::SetClipboardText(before.c_str());
  return text;
}

void resize(ImGuiTestContext* ctx, ImVec2 size) {
  if (size.x <= 0) size = {kWidth, kHeight};
  glfwSetWindowSize(shell, static_cast<int>(size.x), static_cast<int>(size.y));
  for (int i = 0; i < 200 && ImGui::GetIO().DisplaySize.x != size.x; ++i) ctx->Yield();
  ctx->Yield(4);
}

int noted_pictures() {
  return pictures;
}

void note_frames() {
  frames.clear();
  pictures = 0;
  noting = true;
}

std::vector<Frame> noted_frames() {
  noting = false;
  return frames;
}

AtThePaceOfTheProgram::AtThePaceOfTheProgram() {
  pace = new gui::Pace;
}

void AtThePaceOfTheProgram::touch() const {
  pace->touched();
}

AtThePaceOfTheProgram::~AtThePaceOfTheProgram() {
  delete std::exchange(pace, nullptr);
}

ImGuiID beside(ImGuiTestContext* ctx, const std::string& item, const char* label) {
  return ImHashDecoratedPath(label, nullptr, ctx->ItemInfo(item.c_str()).ParentID);
}

void pick(ImGuiTestContext* ctx, ImGuiTestRef combo, const char* item) {
  ctx->ItemClick(combo);
  ctx->Yield(2);
  ctx->ItemClick((std::string("//##Combo_00/") + item).c_str());
  ctx->Yield(2);
}

}  // namespace wide::test

namespace {

using wide::test::now;
using wide::test::wanted_picture;

constexpr double kSlow = 2;  // seconds: tests that take longer are told

double processor_seconds() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
}

void draw(GLFWwindow* window);

// With all pixels: software rendering has drawn them when the buffers are swapped. Those of frames before the
// first one that is noted, which are not shown, are no part of it.
void draw_and_note(GLFWwindow* window) {
  if (wide::test::frames.empty()) glfwSwapBuffers(window);
  const auto begun = std::chrono::steady_clock::now();
  const double before = processor_seconds();
  draw(window);
  glfwSwapBuffers(window);
  wide::test::frames.push_back(
      {std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count(),
       processor_seconds() - before});
}

// Something that draws by itself, such as the export of a picture.
bool has_callbacks(const ImDrawData* drawn) {
  return std::any_of(drawn->CmdLists.begin(), drawn->CmdLists.end(), [](const ImDrawList* list) {
    return std::any_of(list->CmdBuffer.begin(), list->CmdBuffer.end(),
                       [](const ImDrawCmd& command) { return command.UserCallback != nullptr; });
  });
}

void draw(GLFWwindow* window) {
  ImGui_ImplOpenGL3_NewFrame();
  ImGui_ImplGlfw_NewFrame();
  ImGui::NewFrame();
  now += 1.0 / 60;
  wide::test::bench().frame(now);
  ImGui::Render();
  int width = 0, height = 0;
  glfwGetFramebufferSize(window, &width, &height);
  if (wide::test::noting && wide::test::shown.differs(*ImGui::GetDrawData())) ++wide::test::pictures;
  // Pixels that nobody looks at take three quarters of the processor's time.
  if (wide::test::noting || wide::test::pace || has_callbacks(ImGui::GetDrawData())) {
    wide::gui::clear_picture(width, height, wide::test::bench().theme.panel);
    ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  }
  if (wanted_picture.empty()) return;
  const wide::gui::Offscreen target(width, height);
  wide::gui::clear_picture(width, height, wide::test::bench().theme.panel);
  ImGui_ImplOpenGL3_RenderDrawData(ImGui::GetDrawData());
  try {
    target.write(wanted_picture);
  } catch (const std::exception& fault) {
    std::printf("%s\n", fault.what());
  }
  wanted_picture.clear();
}

int run_tests(GLFWwindow* window, int argc, char** argv) {
  auto* engine = ImGuiTestEngine_CreateContext();
  auto& io = ImGuiTestEngine_GetIO(engine);
  io.ConfigRunSpeed = ImGuiTestRunSpeed_Fast;
  io.ConfigVerboseLevel = ImGuiTestVerboseLevel_Warning;
  io.ConfigVerboseLevelOnError = ImGuiTestVerboseLevel_Info;
  io.ConfigLogToTTY = true;
  io.ConfigNoThrottle = true;
  io.ConfigMouseDrawCursor = false;
  io.ConfigWatchdogKillTest = 500;  // beside other work the tour takes minutes
  wide::test::add_shell_tests(engine);
  wide::test::add_palette_tests(engine);
  wide::test::add_notices_tests(engine);
  wide::test::add_models_tests(engine);
  wide::test::add_graph_tests(engine);
  wide::test::add_graph_picture_tests(engine);
  wide::test::add_strategies_tests(engine);
  wide::test::add_jobs_tests(engine);
  wide::test::add_cancel_tests(engine);
  wide::test::add_inspector_tests(engine);
  wide::test::add_looks_tests(engine);
  wide::test::add_settings_tests(engine);
  wide::test::add_speed_tests(engine);
  wide::test::add_faults_tests(engine);
  wide::test::add_sweep_tests(engine);
  wide::test::add_profile_tests(engine);
  wide::test::add_history_tests(engine);
  wide::test::add_dashboard_tests(engine);
  wide::test::add_flame_tests(engine);
  wide::test::add_defects_tests(engine);
  wide::test::add_ordinary_tests(engine);
  wide::test::add_tour_tests(engine);
  wide::test::add_tour_more_tests(engine);
  wide::test::add_agreement_tests(engine);
  wide::test::add_gpu_tests(engine);
  ImGuiTestEngine_Start(engine, ImGui::GetCurrentContext());
  ImVector<ImGuiTest*> tests;
  ImGuiTestEngine_GetTestList(engine, &tests);
  const std::vector<std::string> wanted(argv + 1, argv + argc);
  for (auto* test : tests) {
    const bool named = std::any_of(wanted.begin(), wanted.end(), [&](const std::string& one) {
      return one == test->Category.c_str() ||
             one == std::string(test->Category.c_str()).append("/").append(test->Name.c_str());
    });
    if (named || wanted.empty())
      ImGuiTestEngine_QueueTest(engine, test, ImGuiTestRunFlags_RunFromCommandLine);
  }
  while (!ImGuiTestEngine_IsTestQueueEmpty(engine)) {
    if (wide::test::pace) {
      wide::test::pace->wait(wide::test::bench());
      wide::test::pace->drawn();
    } else {
      glfwPollEvents();
    }
    if (wide::test::noting) {
      draw_and_note(window);
    } else {
      draw(window);
    }
    ImGuiTestEngine_PostSwap(engine);
  }
  ImGuiTestEngineResultSummary summary;
  ImGuiTestEngine_GetResultSummary(engine, &summary);
  ImGuiTestEngine_PrintResultSummary(engine);
  for (const auto* test : tests) {
    const double seconds = 1e-6 * static_cast<double>(test->Output.EndTime - test->Output.StartTime);
    if (test->Output.Status != ImGuiTestStatus_Unknown && seconds > kSlow)
      std::printf("%5.1f s  %s/%s\n", seconds, test->Category.c_str(), test->Name.c_str());
  }
  std::printf("%d of %d passed\n", summary.CountSuccess, summary.CountTested);
  ImGuiTestEngine_Stop(engine);
  wide::test::current.reset();
  ImGui_ImplOpenGL3_Shutdown();
  ImGui_ImplGlfw_Shutdown();
  ImPlot::DestroyContext();
  ImGui::DestroyContext();
  ImGuiTestEngine_DestroyContext(engine);
  return summary.CountTested > 0 && summary.CountSuccess == summary.CountTested ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (glfwInit() == GLFW_FALSE) {
    std::puts("SKIPPED: no display; scripts/setup --tests installs xvfb");
    return 77;
  }
  glfwWindowHint(GLFW_CONTEXT_VERSION_MAJOR, 3);
  glfwWindowHint(GLFW_CONTEXT_VERSION_MINOR, 3);
  glfwWindowHint(GLFW_OPENGL_PROFILE, GLFW_OPENGL_CORE_PROFILE);
  auto* window = glfwCreateWindow(wide::test::kWidth, wide::test::kHeight, "gui_test", nullptr, nullptr);
  if (!window) {
    std::puts("SKIPPED: no OpenGL 3.3 here; scripts/setup installs Mesa");
    return 77;
  }
  glfwMakeContextCurrent(window);
  glfwSwapInterval(0);
  ImGui::CreateContext();
  ImPlot::CreateContext();
  auto& io = ImGui::GetIO();
  io.IniFilename = nullptr;
  io.ConfigFlags |= ImGuiConfigFlags_DockingEnable | ImGuiConfigFlags_NavEnableKeyboard;
  ImGui_ImplGlfw_InitForOpenGL(window, true);
  ImGui_ImplOpenGL3_Init("#version 330 core");
  wide::test::shell = window;
  wide::gui::take_events(window, wide::test::loop);
  wide::test::fonts = wide::gui::load_fonts(wide::test::kFontSize);
  ImGui::GetStyle().FontSizeBase = wide::test::kFontSize;
  wide::test::current = wide::test::make_bench({});
  wide::test::loop.bench = wide::test::current.get();
  const int code = run_tests(window, argc, argv);
  glfwDestroyWindow(window);
  glfwTerminate();
  return code;
}
