#pragma once
// Facts of the machine that a result depends on: the stable ones, which key it, and the ones that change by
// the minute.

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

namespace wide::profiler {

struct Cache {
  std::string name;  ///< "L1d", "L1i", "L2", "L3"
  std::uint64_t bytes = 0;

  bool operator==(const Cache&) const = default;
};

/// What stays the same from run to run. Unknown: empty or 0.
struct Facts {
  std::string cpu;
  int physical_cores = 0;
  int logical_cores = 0;
  std::vector<Cache> caches;     ///< those of the first core
  std::vector<std::string> isa;  ///< of note only: "avx2", "avx512f", "amx_tile", …; sorted
  std::uint64_t memory_bytes = 0;
  std::string os;        ///< "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;    ///< "Linux 6.1.0"; no part of the key
  std::string compiler;  ///< that built this program
  /// What the caller knows: "libtorch" -> "2.11.0", "gpu" -> model, "driver", "cuda". Part of the key.
  std::map<std::string, std::string> extra;

  bool operator==(const Facts&) const = default;
};

/// What changes while one looks. Unknown: NaN.
struct Conditions {
  double load_1min = std::numeric_limits<double>::quiet_NaN();
  double cpu_mhz = std::numeric_limits<double>::quiet_NaN();  ///< mean over cores
};

/// Reads this machine. Never throws: what cannot be read stays unknown. `root` stands for "/" (tests).
Facts machine(const std::filesystem::path& root = "/");
Conditions conditions(const std::filesystem::path& root = "/");

/// 16 hex digits from the stable facts; memory counts in whole GiB, the kernel release does not count.
std::string key(const Facts& facts);

}  // namespace wide::profiler
