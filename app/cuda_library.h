#pragma once
// Opens libwide_cuda.so, where there is one, and asks it what it sees.

#include <string>

#include "cuda/seam.h"

namespace wide::app {

struct CudaLibrary {
  std::string path;            ///< empty: not found
  std::string reason, remedy;  ///< why it is not open
  cuda::Report report;         ///< filled in when it is
};

/// Looks beside the program and in ../lib/widebench. Opened once for the life of the process.
CudaLibrary ask_cuda();

}  // namespace wide::app
