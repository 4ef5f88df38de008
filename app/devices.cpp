#include "app/devices.h"

#include <ATen/Version.h>

#include <functional>
#include <map>
#include <mutex>
#include <utility>

#include "app/cuda_library.h"
#include "app/exit_code.h"
#include "app/sweep_job.h"
#include "cuda/run_seam.h"

namespace wide::app {
namespace {

// What looking for a device found.
struct Device {
  DeviceInfo info;
  std::function<void(ComputeDevice&)> open;  ///< of a usable one: the name is set
};

Device look_for_cpu() {
  return {.info = {.name = {}, .description = at::get_cpu_capability(), .usable = true, .reason = {}},
          .open = [](ComputeDevice& device) { device = {}; }};
}

void refuse(Device& cuda, const std::string& reason, const std::string& remedy) {
  cuda.info.reason = reason;
  if (!remedy.empty()) cuda.info.reason.append("; ").append(remedy);
}

// Of a GPU that the driver has: whether libtorch can use it too.
void open_libtorch(Device& cuda) {
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
  cuda.open = [open](ComputeDevice& device) { open(&device); };
  cuda.info.usable = true;
}

Device look_for_cuda() {
  Device cuda{.info = {.name = {}, .description = {}, .usable = false, .reason = {}}, .open = {}};
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

// Their names are those of presets::kDevices; "auto" takes the last one that is usable.
const std::vector<std::pair<std::string, Device (*)()>> kBackEnds = {{"cpu", look_for_cpu},
                                                                     {"cuda", look_for_cuda}};

// Looks when it is first asked for: where there is a GPU that opens libtorch's CUDA library.
const Device& look_for(const std::string& name) {
  static std::mutex mutex;
  static std::map<std::string, Device> found;
  const std::scoped_lock lock(mutex);
  if (const auto known = found.find(name); known != found.end()) return known->second;
  for (const auto& [known, look] : kBackEnds) {
    if (known != name) continue;
    auto device = look();
    device.info.name = name;
    return found.emplace(name, std::move(device)).first->second;
  }
  throw CannotMeasure("device", "this program knows no device " + name + "; see widebench doctor");
}

}  // namespace

const std::vector<DeviceInfo>& known_devices() {
  static const auto all = [] {
    std::vector<DeviceInfo> result;
    for (const auto& [name, look] : kBackEnds) result.push_back(look_for(name).info);
    return result;
  }();
  return all;
}

std::string settled_device(const std::string& name) {
  return name == "auto" ? settled_device(known_devices(), name) : name;
}

ComputeDevice open_device(const std::string& name) {
  const auto& found = look_for(settled_device(name));
  if (!found.info.usable) throw CannotMeasure("device", found.info.reason);
  ComputeDevice device{.name = found.info.description};
  found.open(device);
  return device;
}

}  // namespace wide::app
