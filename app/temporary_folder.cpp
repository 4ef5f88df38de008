#include "app/temporary_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "formats/error.h"

namespace wide::app {

TemporaryFolder::TemporaryFolder(const std::string& name) {
  std::error_code failed;
  auto pattern = (std::filesystem::temp_directory_path(failed) / (name + "-XXXXXX")).string();
  if (failed || ::mkdtemp(pattern.data()) == nullptr) {
    const std::string why = failed ? failed.message() : std::strerror(errno);
    throw Error("folder", "no temporary folder can be made: " + why + "; set TMPDIR to a folder with room");
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code failed;
  std::filesystem::remove_all(path_, failed);
}

}  // namespace wide::app
