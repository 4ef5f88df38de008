#include "app/cuda_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <vector>

namespace wide::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kName = "libwide_cuda.so";

std::string find_library() {
  std::error_code failed;
  const auto program = fs::read_symlink("/proc/self/exe", failed).parent_path();
  if (failed) return "";
  for (const auto& folder : std::vector<fs::path>{program, program / "../lib/widebench",
                                                  program / "../lib/x86_64-linux-gnu/widebench"}) {
    if (fs::is_regular_file(folder / kName, failed)) return (folder / kName).lexically_normal().string();
  }
  return "";
}

template <typename Function>
Function* find(void* library, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

CudaLibrary ask_cuda() {
  CudaLibrary result;
  result.path = find_library();
  if (result.path.empty()) {
    result.reason = std::string(kName) + " is not beside the program";
    result.remedy = "build it from a libtorch that has CUPTI beside it; the CPU works without";
    return result;
  }
  void* const library = ::dlopen(result.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* error = ::dlerror();
    result.reason = error ? error : "it cannot be opened";
    result.remedy = "run scripts/setup again";
    return result;
  }
  const auto version = find<decltype(wide_cuda_seam_version)>(library, "wide_cuda_seam_version");
  const auto report = find<decltype(wide_cuda_report)>(library, "wide_cuda_report");
  if (!version || !report || version() != cuda::kSeamVersion) {
    result.reason = "it belongs to another version of this program";
    result.remedy = "build program and library together";
    return result;
  }
  report(&result.report);
  return result;
}

}  // namespace wide::app
