#pragma once
// A folder that goes with the object that made it.

#include <filesystem>
#include <string>

namespace wide::app {

class TemporaryFolder {
 public:
  /// Makes a folder "NAME-…" that only this user may enter, in $TMPDIR or /tmp. Throws wide::Error
  /// ("folder").
  explicit TemporaryFolder(const std::string& name);
  /// Removes it with all that is in it.
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace wide::app
