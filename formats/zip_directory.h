#pragma once
// The central directory of a zip file, read by strict rules of our own, so that libzip is handed only
// archives that every reader understands alike.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace wide::formats {

struct ZipMember {
  std::string name;
  std::uint64_t size = 0;   ///< bytes of content
  bool compressed = false;  ///< never so in what torch.export.save writes
  std::uint32_t crc = 0;    ///< 0 may mean that the writer computed none
  std::uint64_t begin = 0;  ///< offset of the local header in the file
  std::uint64_t end = 0;    ///< offset behind the last byte of data
};

/// Members in the order of the directory. Throws Fault on anything a plain writer would not make: encryption,
/// several disks, an archive comment, bytes around the archive, overlapping members, local headers that
/// disagree with the directory, and names that are duplicate, absolute or hold NUL, "\" or "..".
std::vector<ZipMember> read_zip_directory(std::span<const std::byte> file);

/// Names of the members, read from the directory alone: of a file of gigabytes some kilobytes. It looks into
/// no member, so that a file whose names are read need not be sound. Throws Fault where there is no
/// directory.
std::vector<std::string> read_zip_names(const std::filesystem::path& path);

}  // namespace wide::formats
