#include "app/devices.h"

#include <ATen/Version.h>

#include "app/cuda_library.h"
#include "app/exit_code.h"
#include "app/sweep_job.h"
#include "cuda/run_seam.h"

namespace wide::app {
namespace {

struct Cuda {
  DeviceInfo info{.name = "cuda", .description = {}, .usable = false, .reason = {}};
  decltype(wide_cuda_run_open)* open = nullptr;
};

void refuse(Cuda& cuda, const std::string& reason, const std::string& remedy) {
  cuda.info.reason = reason;
  if (!remedy.empty()) cuda.info.reason.append("; ").append(remedy);
}

// Of a GPU that the driver has: whether libtorch can use it too.
void open_libtorch(Cuda& cuda) {
  const auto library = open_beside_program("libwide_cuda_run.so");
  if (library.handle == nullptr) return refuse(cuda, library.reason, library.remedy);
  const auto version = library.find<decltype(wide_cuda_run_version)>("wide_cuda_run_version");
  const auto devices = library.find<decltype(wide_cuda_run_devices)>("wide_cuda_run_devices");
  const auto open = library.find<decltype(wide_cuda_run_open)>("wide_cuda_run_open");
  if (!version || !devices || !open || version() != cuda::kRunSeamVersion) {
    return refuse(cuda, library.path + " belongs to another version of this program",
                  "build program and library together");
  }
  if (devices() == 0) return refuse(cuda, "libtorch can use no GPU here", "see widebench doctor");
  cuda.open = open;
  cuda.info.usable = true;
}

Cuda look_for_cuda() {
  Cuda cuda;
  const auto found = find_cuda();
  if (!found.reason.empty()) {
    refuse(cuda, found.reason, found.remedy);
  } else if (!found.report.reason.empty()) {
    refuse(cuda, found.report.reason, found.report.remedy);
  } else if (found.report.devices.empty()) {
    refuse(cuda, "the driver names no GPU", "");
  } else {
    cuda.info.description = found.report.devices.front();
    open_libtorch(cuda);
  }
  return cuda;
}

const Cuda& the_cuda() {
  static const Cuda cuda = look_for_cuda();
  return cuda;
}

}  // namespace

const std::vector<DeviceInfo>& known_devices() {
  static const std::vector<DeviceInfo> all{
      {.name = "cpu", .description = at::get_cpu_capability(), .usable = true, .reason = {}},
      the_cuda().info};
  return all;
}

std::string settled_device(const std::string& name) {
  return name == "auto" ? settled_device(known_devices(), name) : name;
}

ComputeDevice open_device(const std::string& name) {
  if (settled_device(name) == "cpu") return {};
  const auto& cuda = the_cuda();
  if (!cuda.info.usable) throw CannotMeasure("device", cuda.info.reason);
  ComputeDevice device{.name = cuda.info.description};
  cuda.open(&device);
  return device;
}

}  // namespace wide::app
