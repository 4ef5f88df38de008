// widebench doctor: what this machine allows, what it does not, why, and what to do about it.
#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/capture/peaks_folder.h"
#include "app/cli/context.h"
#include "app/cuda_library.h"
#include "app/exit_code.h"
#include "app/sweep_job.h"
#include "results/store.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using nlohmann::json;

enum class State : std::uint8_t { kGood, kAbsent, kWarning };

struct Check {
  std::string area, what;
  State state = State::kGood;
  std::string found;   ///< what is there; empty: nothing
  std::string remedy;  ///< what to do, where something can be done
};

constexpr std::array<const char*, 3> kStates = {"ok", "absent", "warning"};

std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

// The first of the folders in PATH that holds the program.
std::string find_program(const std::string& name) {
  std::stringstream folders(variable("PATH"));
  for (std::string folder; std::getline(folders, folder, ':');) {
    const auto path = std::filesystem::path(folder.empty() ? "." : folder) / name;
    if (::access(path.c_str(), X_OK) == 0) return path.string();
  }
  return "";
}

// It stays open: drivers of OpenGL keep memory and threads of their own, and do not bear being unloaded.
bool can_open(const char* library) {
  return ::dlopen(library, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE) != nullptr;
}

Check good_or(std::string area, std::string what, const std::string& found, std::string remedy,
              State otherwise = State::kAbsent) {
  const bool there = !found.empty();
  return {std::move(area), std::move(what), there ? State::kGood : otherwise, found,
          there ? std::string() : std::move(remedy)};
}

void check_cpu(const app::Engine& engine, std::vector<Check>& checks) {
  const auto facts = app::machine_facts(engine);
  checks.push_back(
      {"cpu", "processor", State::kGood,
       fmt::format("{}, {} cores, {} threads", facts.cpu, facts.physical_cores, facts.logical_cores), ""});
  const std::filesystem::path frequency = "/sys/devices/system/cpu/cpu0/cpufreq";
  const auto governor = first_line(frequency / "scaling_governor");
  Check clock{"cpu", "clock", State::kGood, governor, ""};
  if (governor.empty()) {
    clock = {"cpu", "clock", State::kWarning, "not told to this machine, as in most virtual ones",
             "measure long enough; the noise floor of each run shows what that costs"};
  } else if (governor != "performance") {
    clock.state = State::kWarning;
    clock.remedy = "set the governor to performance while measuring";
  }
  checks.push_back(clock);
  const bool may = ::access((frequency / "scaling_governor").c_str(), W_OK) == 0;
  checks.push_back(good_or("cpu", "clock rights", may ? "this user may set the clock" : "",
                           "only root may set the clock; nothing here needs it"));
  const auto now = profiler::conditions();
  const bool busy = now.load_1min > 0.5 * facts.logical_cores;
  checks.push_back({"cpu", "load", busy ? State::kWarning : State::kGood,
                    fmt::format("{:.2f}", now.load_1min),
                    busy ? "other programs are at work; measure when they have ended" : ""});
  const auto libraries = engine.libraries();
  for (const auto& [name, version] : libraries) {
    const bool missing = version.starts_with("none");
    checks.push_back({"cpu", name, missing ? State::kAbsent : State::kGood, version, ""});
  }
  checks.push_back(good_or("cpu", "roofline peaks",
                           std::filesystem::exists(app::peaks_folder()) ? app::peaks_folder().string() : "",
                           "measured when first asked for: widebench profile NAME --roofline"));
}

// Whether libtorch, too, can use the GPU that the driver has: it brings kernels for some generations only.
void check_libtorch_on_gpu(std::vector<Check>& checks) {
  const auto library = app::open_beside_program("libwide_cuda_run.so");
  const auto devices = library.find<int()>("wide_cuda_run_devices");
  if (!devices) {
    checks.push_back({"gpu", "libwide_cuda_run.so", State::kWarning, library.reason, library.remedy});
    return;
  }
  const int count = devices();
  checks.push_back({"gpu", "libtorch", count > 0 ? State::kGood : State::kWarning,
                    count > 0 ? fmt::format("GPUs it sees: {}", count) : "sees no GPU",
                    count > 0 ? "" : "is the driver one for CUDA 13?"});
}

void check_gpu(std::vector<Check>& checks) {
  const auto cuda = app::ask_cuda();
  const auto& report = cuda.report;
  checks.push_back({"gpu", "libwide_cuda.so", cuda.reason.empty() ? State::kGood : State::kAbsent,
                    cuda.reason.empty() ? cuda.path : cuda.reason, cuda.remedy});
  if (!cuda.reason.empty()) return;
  std::error_code unknown;
  const auto library = std::filesystem::weakly_canonical(report.cupti_library, unknown).string();
  checks.push_back(good_or(
      "gpu", "libcupti",
      report.cupti_library.empty()
          ? ""
          : fmt::format("{}, version {}", unknown ? report.cupti_library : library, report.cupti_version),
      "run scripts/setup again"));
  const auto driver = report.driver_library.empty()
                          ? ""
                          : fmt::format("{}, CUDA {}", report.driver_library, report.driver_version);
  checks.push_back({"gpu", "driver", report.reason.empty() ? State::kGood : State::kAbsent,
                    report.reason.empty() ? driver : report.reason, report.remedy});
  const auto module = first_line("/proc/driver/nvidia/version");
  checks.push_back(good_or("gpu", "kernel module", module, "no NVIDIA kernel module is loaded"));
  if (!report.reason.empty()) return;
  for (const auto& device : report.devices) checks.push_back({"gpu", "device", State::kGood, device, ""});
  check_libtorch_on_gpu(checks);
  std::ifstream parameters("/proc/driver/nvidia/params");
  for (std::string line; std::getline(parameters, line);) {
    if (!line.starts_with("RmProfilingAdminOnly")) continue;
    const bool everybody = line.find(": 0") != std::string::npos;
    checks.push_back({"gpu", "counters", State::kGood,
                      everybody ? "every user may read them" : "root only; tracing needs none", ""});
  }
  checks.push_back({"gpu", "other profilers",
                    report.other_subscriber.empty() ? State::kGood : State::kWarning,
                    report.other_subscriber.empty() ? "none in this process" : report.other_subscriber, ""});
  checks.push_back({"gpu", "tracing", report.traced ? State::kGood : State::kWarning, report.tracing, ""});
  checks.push_back(
      good_or("gpu", "clock rights", ::geteuid() == 0 ? "root may lock the clocks" : "",
              "only root may lock GPU clocks (nvidia-smi -lgc); throttling is reported instead"));
}

// Whether what `path` gives can be written, or made.
void check_storage(std::vector<Check>& checks, const char* what, const std::string& remedy,
                   const std::function<std::filesystem::path()>& path) {
  std::string found, why;
  try {
    auto there = path();
    found = there.string();
    while (!there.empty() && !std::filesystem::exists(there)) there = there.parent_path();
    if (::access(there.c_str(), W_OK) != 0) found = "", why = there.string() + " is not writable; " + remedy;
  } catch (const std::exception& error) {
    why = error.what();
  }
  checks.push_back(good_or("storage", what, found, why, State::kWarning));
}

void check_rest(std::vector<Check>& checks) {
  for (const char* compiler : {"c++", "g++", "clang++"}) {
    checks.push_back(good_or("compilers", compiler, find_program(compiler), "not in PATH"));
  }
  checks.push_back(good_or("compilers", "nvrtc", can_open("libnvrtc.so.13") ? "libnvrtc.so.13" : "",
                           "only needed for fused GPU kernels: scripts/setup --profile full"));
  const auto x11 = variable("DISPLAY"), wayland = variable("WAYLAND_DISPLAY");
  checks.push_back(
      good_or("display", "server",
              !wayland.empty() ? fmt::format("Wayland {}", wayland)
              : x11.empty()    ? ""
                               : fmt::format("X11 {}", x11),
              "no display: the command line works without; for the window use a desktop or ssh -X"));
  checks.push_back(good_or("display", "OpenGL", can_open("libGL.so.1") ? "libGL.so.1" : "",
                           "only needed for the window: install libgl1"));
  check_storage(checks, "database", "set XDG_DATA_HOME or give --db", results::default_path);
  check_storage(checks, "cache", "set XDG_CACHE_HOME, else plans are measured and kernels compiled each time",
                [] { return app::peaks_folder().parent_path(); });
}

int run(const Context& context) {
  std::vector<Check> checks;
  check_cpu(context.engine, checks);
  check_gpu(checks);
  check_rest(checks);
  if (context.json) {
    json list = json::array();
    for (const auto& check : checks) {
      list.push_back({{"area", check.area},
                      {"what", check.what},
                      {"state", kStates[static_cast<std::size_t>(check.state)]},
                      {"found", check.found},
                      {"remedy", check.remedy}});
    }
    const json document{{"schema_version", 1}, {"version", context.engine.version}, {"checks", list}};
    context.print(document);
  }
  std::string area;
  for (const auto& check : checks) {
    if (check.area != area) context.human() << check.area << '\n';
    area = check.area;
    context.human() << fmt::format("  {:<8} {:<16} {}\n", kStates[static_cast<std::size_t>(check.state)],
                                   check.what,
                                   results::printable(check.found.empty() ? check.remedy : check.found, 300));
    if (!check.found.empty() && !check.remedy.empty())
      context.human() << fmt::format("{:28}{}\n", "", results::printable(check.remedy, 300));
  }
  return app::kExitDone;
}

}  // namespace

void add_doctor_command(CLI::App& app, Context& context) {
  auto& command = *app.add_subcommand("doctor", "What this machine allows, what it does not, and what to do");
  add_common_options(command, context);
  command.footer(examples({"widebench doctor", "widebench doctor --json"}));
  set_action(command, context, [&context] { return run(context); });
}

}  // namespace wide::cli
