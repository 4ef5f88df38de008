#pragma once
// Where the peaks of this machine are kept.

#include <cstdlib>
#include <filesystem>

namespace wide::app {

/// $XDG_CACHE_HOME/widebench/peaks, else ~/.cache/widebench/peaks.
inline std::filesystem::path peaks_folder() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  const auto base = cache && *cache ? std::filesystem::path(cache)
                                    : std::filesystem::path(home && *home ? home : "/tmp") / ".cache";
  return base / "widebench" / "peaks";
}

}  // namespace wide::app
