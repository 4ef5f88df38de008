#include "primitives/kernels/clones.h"

namespace wide::kernels {

// One function a generation: the loader picks as it picks for every other kernel.
[[gnu::target("arch=x86-64-v4")]] std::string_view picked() {
  return "x86-64-v4";
}
[[gnu::target("arch=x86-64-v3")]] std::string_view picked() {
  return "x86-64-v3";
}
[[gnu::target("default")]] std::string_view picked() {
  return "x86-64";
}

std::string_view instruction_set() {
  return picked();
}

}  // namespace wide::kernels
