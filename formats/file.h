#pragma once
// Whole files in and out of memory. Never mapped: a file that shrinks under a mapping kills the process.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "formats/descriptor.h"

namespace wide::formats {

/// The bytes of a regular file. Throws Fault when it is missing, a directory, a device, unreadable, or
/// changes while it is read.
std::vector<std::byte> read_file(const std::filesystem::path& path);

/// A regular file that is read in parts.
class OpenFile {
 public:
  /// Throws Fault as read_file() does.
  explicit OpenFile(const std::filesystem::path& path);
  std::uint64_t size() const { return size_; }
  /// Bytes [offset, offset + count). Throws Fault where the file ends before, or cannot be read.
  std::vector<std::byte> read(std::uint64_t offset, std::uint64_t count) const;

 private:
  Descriptor descriptor_;
  std::uint64_t size_ = 0;
};

/// Where links from `path` lead, also where nothing is there yet. Throws Fault where they lead to one
/// another.
std::filesystem::path behind_links(std::filesystem::path path);

/// Throws Fault where `path` is the file that standard output goes into: text would be written over it.
void refuse_standard_output(const std::filesystem::path& path);

/// Throws Fault where `path` is an SQLite database, a history or its backup say, or one of the files that
/// SQLite keeps beside one, which may hold what was stored last.
void refuse_database(const std::filesystem::path& path);

/// Replaces `path` by `parts` in a row: a temporary beside it, synced, then renamed; the folder is synced
/// too. On any failure the temporary is removed, `path` is as before, and Fault is thrown; also a process
/// that is killed leaves none, where the file system has files without a name. Rights are those of the file
/// that is replaced. A device or a pipe is written to instead; a link stays, and what it leads to is
/// replaced. Standard output and databases are refused.
void replace_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts);

}  // namespace wide::formats
