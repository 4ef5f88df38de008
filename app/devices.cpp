#include "app/devices.h"

#include <ATen/Context.h>
#include <ATen/Version.h>

#include "app/cuda_library.h"
#include "app/exit_code.h"
#include "cuda/run_seam.h"

namespace wide::app {
namespace {

DeviceInfo cuda_info() {
  DeviceInfo info{.name = "cuda", .description = {}, .usable = false, .reason = {}};
  const auto found = find_cuda();
  const auto& reason = found.reason.empty() ? found.report.reason : found.reason;
  const auto& remedy = found.reason.empty() ? found.report.remedy : found.remedy;
  info.usable = reason.empty() && !found.report.devices.empty();
  if (info.usable) {
    info.description = found.report.devices.front();
  } else {
    info.reason = reason.empty() ? "the driver names no GPU" : reason;
    if (!remedy.empty()) info.reason.append("; ").append(remedy);
  }
  return info;
}

[[noreturn]] void refuse(const OpenedLibrary& library, const std::string& reason, const std::string& remedy) {
  throw CannotMeasure("device", library.path + ": " + reason + "; " + remedy);
}

}  // namespace

const std::vector<DeviceInfo>& known_devices() {
  static const std::vector<DeviceInfo> all{
      {.name = "cpu", .description = at::get_cpu_capability(), .usable = true, .reason = {}}, cuda_info()};
  return all;
}

std::string settled_device(const std::string& name) {
  if (name != "auto") return name;
  return known_devices()[1].usable ? "cuda" : "cpu";
}

ComputeDevice open_device(const std::string& name) {
  if (settled_device(name) == "cpu") return {};
  const auto& info = known_devices()[1];
  if (!info.usable) throw CannotMeasure("device", info.reason);
  static const auto library = open_beside_program("libwide_cuda_run.so");
  if (library.handle == nullptr) refuse(library, library.reason, library.remedy);
  const auto version = library.find<decltype(wide_cuda_run_version)>("wide_cuda_run_version");
  const auto devices = library.find<decltype(wide_cuda_run_devices)>("wide_cuda_run_devices");
  const auto record = library.find<decltype(wide_cuda_run_record)>("wide_cuda_run_record");
  if (!version || !devices || !record || version() != cuda::kRunSeamVersion)
    refuse(library, "it belongs to another version of this program", "build program and library together");
  if (devices() == 0) refuse(library, "libtorch can use no GPU here", "see widebench doctor");
  // Members alone and wide shall round alike; PyTorch's default rounds convolutions to 10 bits.
  at::globalContext().setAllowTF32CuDNN(false);
  ComputeDevice device{at::Device(at::kCUDA, 0), info.description, {}};
  record(&device);
  return device;
}

}  // namespace wide::app
