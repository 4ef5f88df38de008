#pragma once
// What is there already is not replaced unasked.

#include <filesystem>

#include "formats/error.h"

namespace wide::cli {

/// Throws wide::Error ("write") where `path` is a file, a folder or a link, unless `force`. Devices and pipes
/// may be written to.
inline void check_may_write(const std::filesystem::path& path, bool force) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const auto link = fs::symlink_status(path, failed).type(), file = fs::status(path, failed).type();
  const bool stream = file == fs::file_type::character || file == fs::file_type::fifo;
  if (force || stream || link == fs::file_type::not_found || link == fs::file_type::none) return;
  throw Error("write", path.string() + ": is there already; give --force to replace it, or another name");
}

}  // namespace wide::cli
