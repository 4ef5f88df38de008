#include "primitives/kernels/xsmm.h"

#include <cstdlib>
#include <optional>
#include <string>

namespace wide::kernels {

// Debian's libxsmm sets a variable that has every OpenMP program that this process starts pin its threads:
// workers of a sweep would have one CPU for all of them.
void initialize_xsmm() {
  [[maybe_unused]] static const bool done = [] {
    constexpr const char* kBinding = "OMP_PROC_BIND";
    const char* given = ::getenv(kBinding);
    const auto before = given ? std::optional<std::string>(given) : std::nullopt;
    libxsmm_init();
    if (before) {
      ::setenv(kBinding, before->c_str(), /*overwrite=*/1);
    } else {
      ::unsetenv(kBinding);
    }
    return true;
  }();
}

}  // namespace wide::kernels
