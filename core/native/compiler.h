#pragma once
// The C compiler of this machine: found once, run without a shell, in a process of its own with limits.

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "core/native/source.h"

namespace wide::native {

struct Compiler {
  std::filesystem::path program;  ///< absolute; empty where there is none
  std::string refusal;            ///< why there is none
  double seconds = 20;            ///< a run that takes longer is killed

  /// $WIDEBENCH_CC (a path, or "none"), else the first of cc, gcc and clang in the folders of $PATH.
  static const Compiler& of_this_machine();
};

/// Which compiler it is: path, size and time of its file. Not what it says of itself: asking takes long.
std::string identity(const Compiler& compiler);

/// An object file for dlopen, or why there is none.
struct Compiled {
  std::vector<std::byte> object;
  std::string refusal;
  bool hung = false;  ///< the compiler had to be killed: it will not do better next time
};

/// How every text is compiled, beside the kind of processor.
std::vector<std::string> compile_flags(const std::string& level);

/// What is made on the way lies in a folder of its own in `folder`.
Compiled compile(const Compiler& compiler, const Source& source, const std::filesystem::path& folder);

}  // namespace wide::native
