#pragma once
// Which large databases were found whole, and have not changed since. Only results/ includes this.

#include <filesystem>
#include <string>

namespace wide::results {

/// What changes whenever anyone writes to the file or its log: inode, size and times of both. Empty: there is
/// no file, or it is so small that it is checked at every opening.
std::string state_of(const std::filesystem::path& path);

/// Whether the file was whole in this state, as $XDG_CACHE_HOME/widebench/checked-databases has it.
bool is_known_whole(const std::string& state);

/// Remembers that the file was whole in this state, if it still has it. What changed within the last moments
/// is waited for, as a change right after it would not show in the times.
void remember_whole(const std::filesystem::path& path, const std::string& state);

}  // namespace wide::results
