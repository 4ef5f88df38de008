#pragma once
// C text to compile.

#include <string>

namespace wide::native {

/// C text, and the instruction set that it is compiled for ("x86-64-v3").
struct Source {
  std::string text, level;
};

}  // namespace wide::native
