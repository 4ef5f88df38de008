#pragma once
// libxsmm, which generates kernels of small products: its calls that may be the first of a process.

#include <libxsmm.h>

namespace wide::kernels {

/// Initialises libxsmm, once.
void initialize_xsmm();

/// What it generates code for, LIBXSMM_X86_AVX2 say.
inline int xsmm_target() {
  initialize_xsmm();
  return libxsmm_get_target_archid();
}

/// libxsmm_otrans(): a matrix by columns, transposed.
template <typename... Arguments>
void xsmm_transpose(Arguments... arguments) {
  initialize_xsmm();
  libxsmm_otrans(arguments...);
}

/// libxsmm_smmdispatch(): the kernel of a product, or null.
template <typename... Arguments>
libxsmm_smmfunction xsmm_dispatch(Arguments... arguments) {
  initialize_xsmm();
  return libxsmm_smmdispatch(arguments...);
}

}  // namespace wide::kernels
