#pragma once
// What was measured, by content: two runs of "net.pt2" may have measured two models.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "presets/case.h"

namespace wide::app {

/// Hashes of the models that cases name; a file is read once, and again only when its size or time changes.
class ModelHashes {
 public:
  /// SHA-256 as hex: for a user's model over its file and all its weights in order, for a built-in subject
  /// over kind, name and shape. Empty when a file cannot be read: the worker says what is wrong with it.
  std::string of(const presets::CaseSpec& spec);

 private:
  struct Seen {
    std::uintmax_t size = 0;
    std::filesystem::file_time_type changed;
    std::string hash;
  };
  std::string of_file(const std::filesystem::path& path);
  std::map<std::filesystem::path, Seen> seen_;
};

}  // namespace wide::app
