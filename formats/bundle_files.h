#pragma once
// The files of a bundle (core/bundle) that others read, too.

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

namespace wide::formats {

inline constexpr const char *kBundleList = "bundle.json", *kBundleProgram = "model.pt2",
                            *kBundleMembers = "members.safetensors";

struct BundleFiles {
  std::string program, members;
};

/// Where `path` is a bundle: a folder with a bundle.json in it.
inline std::optional<BundleFiles> bundle_files(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path / kBundleList, none)) return std::nullopt;
  return BundleFiles{(path / kBundleProgram).string(), (path / kBundleMembers).string()};
}

}  // namespace wide::formats
