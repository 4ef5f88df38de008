// libwide_window.so: the entry that the program finds by name.
#include <exception>

#include "app/window.h"

extern "C" {

__attribute__((visibility("default"))) int wide_window_seam_version() {
  return wide::gui::kSeamVersion;
}

__attribute__((visibility("default"))) void wide_window_run(const wide::gui::Host* host,
                                                            const wide::gui::WindowOptions* options,
                                                            wide::gui::WindowEnd* end) {
  try {
    *end = wide::gui::run_window(*host, *options);
  } catch (const std::exception& error) {
    *end = {.exit_code = 70, .error = error.what()};
  }
}

}  // extern "C"
