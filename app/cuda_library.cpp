#include "app/cuda_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <vector>

#include "app/exit_code.h"

namespace wide::app {
namespace {

namespace fs = std::filesystem;

std::string find_library(const std::string& name) {
  std::error_code failed;
  const auto program = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (failed) return "";
  for (const auto& folder : std::vector<fs::path>{program, program / "../lib/widebench",
                                                  program / "../lib/x86_64-linux-gnu/widebench"}) {
    if (fs::is_regular_file(folder / name, failed)) return (folder / name).lexically_normal().string();
  }
  return "";
}

OpenedLibrary open_cuda() {
  auto library = open_beside_program("libwide_cuda.so");
  if (library.handle == nullptr) return library;
  const auto version = library.find<decltype(wide_cuda_seam_version)>("wide_cuda_seam_version");
  if (version && version() == cuda::kSeamVersion) return library;
  library.handle = nullptr;
  library.reason = "it belongs to another version of this program";
  library.remedy = "build program and library together";
  return library;
}

CudaLibrary ask(void (*by)(const OpenedLibrary&, cuda::Report&)) {
  CudaLibrary result;
  const auto library = open_cuda();
  result.path = library.path, result.reason = library.reason, result.remedy = library.remedy;
  if (library.handle != nullptr) by(library, result.report);
  return result;
}

std::unique_ptr<profiler::Source> make_source(const char* maker) {
  const auto library = open_cuda();
  const auto make = library.find<decltype(wide_cuda_new_source)>(maker);
  std::unique_ptr<profiler::Source> source(make ? make() : nullptr);
  if (!source) {
    throw CannotMeasure("profile", library.reason.empty() ? "the GPU cannot be traced; see widebench doctor"
                                                          : library.reason + "; " + library.remedy);
  }
  return source;
}

}  // namespace

void* OpenedLibrary::symbol(const char* name) const {
  return handle == nullptr ? nullptr : ::dlsym(handle, name);
}

OpenedLibrary open_beside_program(const std::string& name) {
  OpenedLibrary result;
  result.path = find_library(name);
  if (result.path.empty()) {
    result.reason = name + " is not beside the program";
    result.remedy = "build it from a libtorch that has CUDA and CUPTI beside it; the CPU works without";
    return result;
  }
  result.handle = ::dlopen(result.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (result.handle != nullptr) return result;
  const char* error = ::dlerror();
  result.reason = error ? error : "it cannot be opened";
  result.remedy = "run scripts/setup again, with --profile full";
  return result;
}

CudaLibrary find_cuda() {
  return ask([](const OpenedLibrary& library, cuda::Report& report) {
    library.find<decltype(wide_cuda_find)>("wide_cuda_find")(&report);
  });
}

CudaLibrary ask_cuda() {
  return ask([](const OpenedLibrary& library, cuda::Report& report) {
    library.find<decltype(wide_cuda_report)>("wide_cuda_report")(&report);
  });
}

std::unique_ptr<profiler::Source> cuda_source() {
  return make_source("wide_cuda_new_source");
}

std::unique_ptr<profiler::Source> cuda_graph_notes() {
  return make_source("wide_cuda_new_graph_notes");
}

void check_cuda_tracing() {
  const auto cuda = ask_cuda();
  const auto& report = cuda.report;
  if (!cuda.reason.empty()) throw CannotMeasure("profile", cuda.reason + "; " + cuda.remedy);
  if (!report.reason.empty()) throw CannotMeasure("profile", report.reason + "; " + report.remedy);
  if (!report.traced) throw CannotMeasure("profile", "the GPU cannot be traced: " + report.tracing);
}

}  // namespace wide::app
