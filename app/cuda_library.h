#pragma once
// Opens the libraries for CUDA, where they are, and asks what they see.

#include <memory>
#include <string>

#include "cuda/seam.h"

namespace wide::app {

/// A library of this program that is opened at run time, for the life of the process.
struct OpenedLibrary {
  void* handle = nullptr;
  std::string path;            ///< empty: not found
  std::string reason, remedy;  ///< why it is not open

  void* symbol(const char* name) const;
  /// nullptr when it has no such function.
  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
};

/// Looks beside the program and in ../lib/widebench.
OpenedLibrary open_beside_program(const std::string& name);

struct CudaLibrary {
  std::string path;            ///< empty: not found
  std::string reason, remedy;  ///< why it is not open
  cuda::Report report;         ///< filled in when it is
};

/// Driver and devices, by libwide_cuda.so.
CudaLibrary find_cuda();
/// Beside it CUPTI, and whether a test kernel can be traced.
CudaLibrary ask_cuda();

/// What sees a GPU during one capture. Throws CannotMeasure with reason and remedy where none can be traced.
std::unique_ptr<profiler::Source> cuda_source();
/// What notes of which node the kernels of CUDA Graphs are that are recorded while it looks. Throws likewise.
std::unique_ptr<profiler::Source> cuda_graph_notes();
/// Finds out whether it can be traced by tracing a test kernel, which takes up to a second. Throws likewise.
void check_cuda_tracing();

}  // namespace wide::app
