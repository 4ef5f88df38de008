#include "cuda/seam.h"

#include <dlfcn.h>

#include <exception>

#include "cuda/activity_capture.h"
#include "cuda/driver.h"
#include "cuda/graph_notes.h"

namespace wide::cuda {
namespace {

void find_cupti(Report& report) {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<void*>(&cuptiGetVersion), &info) != 0 && info.dli_fname)
    report.cupti_library = info.dli_fname;
  std::uint32_t version = 0;
  if (linked_cupti().get_version(&version) == CUPTI_SUCCESS) report.cupti_version = std::to_string(version);
}

// What a capture of ours is made with: `launch` gets why the sentinel could not be launched.
ActivityCapture::Settings settings_of(const Driver& driver, std::optional<Refusal>* launch) {
  ActivityCapture::Settings settings;
  settings.sentinel = [&driver, launch] {
    auto refusal = driver.launch_sentinel();
    if (launch) *launch = std::move(refusal);
  };
  settings.sentinel_name = kSentinelKernel;
  return settings;
}

// An empty kernel, launched and looked for: whether traces of this machine can be complete.
void try_tracing(const Driver& driver, Report& report) {
  profiler::Trace trace;
  std::optional<Refusal> launch;
  auto settings = settings_of(driver, &launch);
  settings.buffers = 1;
  ActivityCapture capture(linked_cupti(), settings);
  if (const auto refusal = capture.start(profiler::now()); !refusal.empty()) {
    report.tracing = refusal;
    return;
  }
  capture.stop();
  capture.add_to(trace);
  report.traced = trace.completeness.complete && !launch;
  if (launch) {
    report.tracing = launch->text();
  } else if (report.traced) {
    report.tracing = "a test kernel was launched and seen";
  } else {
    for (const auto& reason : trace.completeness.because)
      report.tracing.append(report.tracing.empty() ? "" : "; ").append(reason);
  }
}

Driver& the_driver() {
  static Driver driver;
  return driver;
}

const std::shared_ptr<GraphPlaces>& the_graphs() {
  static const auto graphs = std::make_shared<GraphPlaces>();
  return graphs;
}

void find(Driver& driver, Report& report) {
  const auto refusal = driver.open();
  report.driver_library = driver.path();
  if (refusal) {
    report.reason = refusal->reason, report.remedy = refusal->remedy;
    return;
  }
  report.driver_version = driver.version();
  report.devices = driver.devices();
}

void fill(Report& report) {
  find_cupti(report);
  auto& driver = the_driver();
  find(driver, report);
  if (!report.reason.empty()) return;
  if (const auto other = other_subscriber(linked_cupti())) report.other_subscriber = other->text();
  try_tracing(driver, report);
}

}  // namespace
}  // namespace wide::cuda

int wide_cuda_seam_version() {
  return wide::cuda::kSeamVersion;
}

void wide_cuda_find(wide::cuda::Report* report) try {
  wide::cuda::find(wide::cuda::the_driver(), *report);
} catch (const std::exception& error) {
  report->reason = error.what();
}

void wide_cuda_report(wide::cuda::Report* report) try {
  wide::cuda::fill(*report);
} catch (const std::exception& error) {
  report->reason = error.what();
}

wide::profiler::Source* wide_cuda_new_source() try {
  auto& driver = wide::cuda::the_driver();
  auto settings = wide::cuda::settings_of(driver, nullptr);
  settings.devices = driver.devices();
  settings.graphs = wide::cuda::the_graphs();
  return new wide::cuda::ActivityCapture(wide::cuda::linked_cupti(), std::move(settings));
} catch (const std::exception&) {
  return nullptr;
}

wide::profiler::Source* wide_cuda_new_graph_notes() try {
  return new wide::cuda::GraphNotes(wide::cuda::linked_cupti(), *wide::cuda::the_graphs());
} catch (const std::exception&) {
  return nullptr;
}
