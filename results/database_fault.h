#pragma once
// What SQLite says of a file, in words for its user.

#include <SQLiteCpp/SQLiteCpp.h>

#include <filesystem>
#include <string>

namespace wide::results {

/// What went wrong with which file and what to try, in one line.
std::string explain(const std::filesystem::path& path, const SQLite::Exception& error);

/// The same of a damaged file: `how` are SQLite's words. Names the backup, where there is one.
std::string damaged(const std::filesystem::path& path, const std::string& how);

/// SQLite calls it an error of the disk where its shared memory, 32 KiB, has no room.
bool is_on_full_disk(const std::filesystem::path& path);

}  // namespace wide::results
