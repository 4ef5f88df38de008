#pragma once
// What the program asks of libwide_cuda.so, which it opens at run time where there is one. See README.md.

#include <string>
#include <vector>

#include "profiler/trace/source.h"

namespace wide::cuda {

inline constexpr int kSeamVersion = 4;

/// What there is of CUDA, and whether it can be traced.
struct Report {
  std::string driver_library;  ///< path of libcuda; empty: none
  std::string driver_version;  ///< the CUDA version that it supports: "13.0"
  std::string cupti_library;   ///< path of the libcupti in use
  std::string cupti_version;
  std::vector<std::string> devices;
  std::string reason, remedy;    ///< why no GPU can be used; empty: one can
  std::string tracing;           ///< what came of tracing a test kernel; empty: not tried
  bool traced = false;           ///< it was seen, complete
  std::string other_subscriber;  ///< another profiler in this process; empty: none
};

}  // namespace wide::cuda

extern "C" {
/// kSeamVersion of the library: another one is not used.
int wide_cuda_seam_version();
/// Fills in driver and devices; never throws.
void wide_cuda_find(wide::cuda::Report* report);
/// Fills in all that can be found out; never throws. Takes up to a second where there is a GPU.
void wide_cuda_report(wide::cuda::Report* report);
/// What the GPU does, for one capture; the caller's. Where nothing can be traced its start() says so; nullptr
/// where it cannot be made.
wide::profiler::Source* wide_cuda_new_source();
/// Notes for which node of a model each kernel of a CUDA Graph is recorded while it looks: what comes from
/// wide_cuda_new_source() later knows it. The caller's; nullptr where it cannot be made.
wide::profiler::Source* wide_cuda_new_graph_notes();
}
