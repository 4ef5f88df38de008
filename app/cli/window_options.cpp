#include "app/cli/window_options.h"

#include <dlfcn.h>

#include <charconv>
#include <filesystem>

#include "app/cli/values.h"
#include "app/exit_code.h"
#include "app/sweep_job.h"
#include "app/window.h"

namespace wide::cli {
namespace {

constexpr const char* kHeadless =
    "  widebench --preset ci          sweep a preset: ci, quick, full or a file\n"
    "  widebench benchmark mlp        measure one subject\n"
    "  widebench --help               all commands\n";

int cannot_open(const Context& context, const std::string& reason) {
  context.err << "error: " << reason << "; run it headless:\n" << kHeadless << std::flush;
  return app::kExitUsage;
}

std::filesystem::path this_program() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error);
}

// Beside the program as built, and where `cmake --install` puts it.
std::vector<std::filesystem::path> library_paths() {
  const auto folder = this_program().parent_path();
  return {folder / "libwide_window.so", folder / "../lib/widebench/libwide_window.so",
          folder / "../lib64/widebench/libwide_window.so",
          folder / "../lib/x86_64-linux-gnu/widebench/libwide_window.so"};
}

// Opened once and never closed: its threads run until the end.
void* open_library(std::string& problem) {
  for (const auto& path : library_paths()) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) continue;
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    const char* text = ::dlerror();
    problem = text != nullptr ? text : "libwide_window.so cannot be opened";
    return nullptr;
  }
  problem =
      "libwide_window.so, which holds the window, is not beside the program; `scripts/setup` builds what it "
      "needs, then `scripts/run gui` or, for a Python package, `pip install` again builds it";
  return nullptr;
}

bool parse_size(const std::string& text, int& width, int& height) {
  const auto x = text.find('x');
  if (x == std::string::npos) return false;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto first = std::from_chars(begin, begin + x, width);
  const auto second = std::from_chars(begin + x + 1, end, height);
  return first.ec == std::errc() && first.ptr == begin + x && second.ec == std::errc() && second.ptr == end &&
         width >= 320 && height >= 240 && width <= 8192 && height <= 8192;
}

gui::WindowOptions options_of(const Context& context, const WindowRequest& request) {
  gui::WindowOptions options;
  if (!request.size.empty() && !parse_size(request.size, options.width, options.height)) {
    throw Error("usage",
                "--window-size " + request.size + ": give WIDTHxHEIGHT in pixels, from 320x240 to 8192x8192");
  }
  for (const auto& subject : context.engine.subjects()) {
    if (request.what.size() == 1 && subject.name == request.what[0]) options.subject = subject.name;
  }
  if (options.subject.empty()) {
    for (const auto& file : request.what) {
      std::error_code error;
      if (!std::filesystem::exists(file, error)) {
        throw Error("usage", "there is no file and no built-in subject '" + file +
                                 "'; `widebench benchmark` lists the subjects");
      }
      options.files.push_back(std::filesystem::absolute(file).lexically_normal().string());
    }
  }
  options.panel = request.panel;
  options.screenshot = request.screenshot;
  options.theme = request.theme;
  options.database = request.database;
  options.demo = request.demo;
  options.scale = request.percent / 100.0;
  return options;
}

// Found before a window is opened.
std::string settled_device(const Context& context, const std::string& name) {
  if (name == "cpu") return name;
  const auto devices = context.engine.devices();
  const auto settled = app::settled_device(devices, name);
  for (const auto& device : devices) {
    if (device.name == settled && !device.usable) throw app::CannotMeasure("device", device.reason);
  }
  return settled;
}

}  // namespace

void add_window_options(CLI::App& command, WindowRequest& request) {
  command
      .add_option("--screenshot", request.screenshot, "Write what the window shows to this PNG file, and end")
      ->type_name("FILE")
      ->group(kWindowGroup);
  command.add_option("--window-size", request.size, "Pixels of the window (default 1280x800)")
      ->type_name("WxH")
      ->group(kWindowGroup);
  command
      .add_option("--open", request.panel,
                  "Panel to bring to the front: models, graph, strategies, …; another word lists them")
      ->type_name("PANEL")
      ->group(kWindowGroup);
  command.add_option("--theme", request.theme, "dark or light")
      ->check(CLI::IsMember({"dark", "light"}))
      ->group(kWindowGroup);
  command.add_option("--scale", request.percent, "Size of the text in percent")
      ->check(between(50, 300))
      ->group(kWindowGroup);
  command.add_flag("--demo", request.demo, "Show samples and a fixed clock; read and keep no settings")
      ->group(kWindowGroup);
}

int open_window(Context& context, const WindowRequest& request) {
  if (!context.bench) return cannot_open(context, "name what to do; this build has no window");
  const auto options = options_of(context, request);
  const auto device = settled_device(context, request.device);
  std::string problem;
  void* library = open_library(problem);
  if (library == nullptr) return cannot_open(context, "the window cannot be opened: " + problem);
  const auto version = reinterpret_cast<int (*)()>(::dlsym(library, "wide_window_seam_version"));
  const auto run = reinterpret_cast<void (*)(const gui::Host*, const gui::WindowOptions*, gui::WindowEnd*)>(
      ::dlsym(library, "wide_window_run"));
  if (version == nullptr || run == nullptr || version() != gui::kSeamVersion) {
    return cannot_open(context, "libwide_window.so is of another release than the program");
  }
  const gui::Host host{.engine = context.engine,
                       .bench = context.bench(device),
                       .program = this_program().string(),
                       .device = device};
  gui::WindowEnd end;
  run(&host, &options, &end);
  if (end.no_display) return cannot_open(context, "no window can be opened here: " + end.error);
  if (!end.error.empty()) context.err << "error: " << end.error << '\n' << std::flush;
  if (end.exit_code == 0 && !options.screenshot.empty())
    context.human() << "wrote " << options.screenshot << '\n';
  return end.exit_code;
}

}  // namespace wide::cli
