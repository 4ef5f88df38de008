#include "app/environment.h"

#include <sched.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string_view>

namespace wide::app {
namespace {

constexpr std::array<std::string_view, 10> kPrefixes = {
    "OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "ATEN_CPU_", "MALLOC_", "LIBXSMM_", "CUDA_", "NVIDIA_TF32"};
constexpr std::array<std::string_view, 4> kNames = {"LD_PRELOAD", "TORCH_NUM_THREADS", "GLIBC_TUNABLES",
                                                    "NUMEXPR_NUM_THREADS"};

bool matters(std::string_view name) {
  for (const auto prefix : kPrefixes) {
    if (name.starts_with(prefix)) return true;
  }
  for (const auto known : kNames) {
    if (name == known) return true;
  }
  return false;
}

}  // namespace

std::map<std::string, std::string> environment(const std::filesystem::path& root) {
  std::map<std::string, std::string> result;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || !matters(text.substr(0, equals))) continue;
    result.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  std::ifstream governor(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (std::string name; std::getline(governor, name)) result["governor"] = name;
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    result["usable CPUs"] = std::to_string(CPU_COUNT(&allowed));
  return result;
}

}  // namespace wide::app
