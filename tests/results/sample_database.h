#pragma once

#include <filesystem>
#include <string>

#include "results/database.h"

namespace wide::results::test {

/// Why the database cannot be opened; empty: it can.
std::string open_error(const std::filesystem::path& path, OpenMode mode = OpenMode::kReadWrite);

/// A database of ours with one run of three cases, "a", "b" and "c".
void fill(const std::filesystem::path& path);

/// All that can be read of it, as text.
std::string everything(const std::filesystem::path& path);

std::string pragma(const std::filesystem::path& path, const std::string& name);

}  // namespace wide::results::test
