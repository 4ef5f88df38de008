#pragma once
// What is there already is not replaced unasked, and what a command reads not at all.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <span>
#include <string>

#include "formats/error.h"
#include "formats/fault.h"
#include "formats/file.h"

namespace wide::cli {

/// Throws wide::Error ("usage") where `file` is "-", which elsewhere is standard output: that command writes
/// files only.
inline void check_is_file(const std::filesystem::path& file) {
  if (file == "-") throw Error("usage", "-: this is written to files only; name one");
}

/// Throws wide::Error ("write") where `path` is a file, a folder or a link, unless `force`, where it is
/// a database, and as check_is_file does. Devices and pipes may be written to.
inline void check_may_write(const std::filesystem::path& path, bool force) {
  namespace fs = std::filesystem;
  check_is_file(path);
  formats::naming_file("write", path.string(), [&] { formats::refuse_database(path); });
  std::error_code failed;
  const auto link = fs::symlink_status(path, failed).type(), file = fs::status(path, failed).type();
  const bool stream = file == fs::file_type::character || file == fs::file_type::fifo;
  if (force || stream || link == fs::file_type::not_found || link == fs::file_type::none) return;
  throw Error("write", path.string() + ": is there already; give --force to replace it, or another name");
}

/// Throws wide::Error (`stage`) where `file` is a folder, or lies in one that does not exist or may not be
/// written to: before work is done that may take minutes. An empty name is none.
inline void check_place(const char* stage, const std::string& file) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const auto there = fs::status(file, failed).type();
  if (file.empty() || there == fs::file_type::character || there == fs::file_type::fifo) return;
  const auto refuse = [&](const char* why) { throw Error(stage, formats::display_name(file) + ": " + why); };
  if (there == fs::file_type::directory) refuse("is a folder; name a file");
  const auto folder = fs::absolute(file).parent_path();
  if (!fs::is_directory(folder, failed)) refuse("its folder does not exist; create it or name another");
  if (::access(folder.c_str(), W_OK | X_OK) != 0) refuse("its folder is not writable; name another");
}

/// Throws wide::Error ("usage") where a file of `written` is one of those that are `read`, or lies in a
/// folder of them, a bundle say, or is where standard output goes, or where two of `written` are one file,
/// or where one is a database, and as check_is_file does. Empty names are none.
inline void check_not_read(std::span<const std::string> written, std::span<const std::string> read) {
  namespace fs = std::filesystem;
  std::set<fs::path> places;
  for (const auto& file : written) {
    if (file.empty()) continue;
    check_is_file(file);
    formats::naming_file("usage", file, [&] {
      formats::refuse_standard_output(file);
      formats::refuse_database(file);
    });
    std::error_code none;
    const auto place = fs::weakly_canonical(fs::absolute(file), none);
    if (!fs::is_character_file(file, none) && !places.insert(place).second)
      throw Error("usage", file + ": is named for two things; name two files to write");
    for (const auto& one : read) {
      if (one.empty()) continue;
      const auto source = fs::weakly_canonical(fs::absolute(one), none);
      const auto [in_source, in_place] =
          std::mismatch(source.begin(), source.end(), place.begin(), place.end());
      const bool inside = in_source == source.end() && fs::is_directory(source, none);
      if (inside || place == source || fs::equivalent(file, one, none))
        throw Error("usage", file + ": " + (inside ? one : std::string("this file")) +
                                 " is read; name another file to write");
    }
  }
}

}  // namespace wide::cli
