#pragma once
// Whole files in and out of memory. Never mapped: a file that shrinks under a mapping kills the process.

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace wide::formats {

/// The bytes of a regular file. Throws Fault when it is missing, a directory, a device, unreadable, or
/// changes while it is read.
std::vector<std::byte> read_file(const std::filesystem::path& path);

/// Replaces `path` by `parts` in a row: a temporary beside it, synced, then renamed; the folder is synced
/// too. On any failure the temporary is removed, `path` is as before, and Fault is thrown.
void replace_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts);

}  // namespace wide::formats
