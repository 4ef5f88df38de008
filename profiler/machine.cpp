#include "profiler/machine.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

namespace wide::profiler {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 17> kNotableIsa = {
    "amx_bf16",    "amx_int8",    "amx_tile",    "asimd",    "avx",      "avx2",
    "avx512_bf16", "avx512_fp16", "avx512_vnni", "avx512bw", "avx512dq", "avx512f",
    "avx512vl",    "bf16",        "fma",         "sse4_2",   "sve"};

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r\n\"");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r\n\"") - first + 1));
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return trimmed(line);
}

template <typename T>
std::optional<T> number(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

/// "key : value" or "key=value"; empty key when there is no separator.
std::pair<std::string, std::string> key_value(const std::string& line, char separator) {
  const auto at = line.find(separator);
  if (at == std::string::npos) return {};
  return {trimmed(std::string_view(line).substr(0, at)), trimmed(std::string_view(line).substr(at + 1))};
}

void read_cpuinfo(const fs::path& root, Facts& facts) {
  std::ifstream file(root / "proc/cpuinfo");
  std::set<std::pair<std::string, std::string>> cores;
  std::string package;
  for (std::string line; std::getline(file, line);) {
    const auto [name, value] = key_value(line, ':');
    if (name == "processor") ++facts.logical_cores;
    if (facts.cpu.empty() && (name == "model name" || name == "Model")) facts.cpu = value;
    if (name == "physical id") package = value;
    if (name == "core id") cores.emplace(package, value);
    if (facts.isa.empty() && (name == "flags" || name == "Features")) {
      std::istringstream flags(value);
      for (std::string flag; flags >> flag;) {
        if (std::find(kNotableIsa.begin(), kNotableIsa.end(), flag) != kNotableIsa.end())
          facts.isa.push_back(flag);
      }
      std::sort(facts.isa.begin(), facts.isa.end());
    }
  }
  facts.physical_cores = static_cast<int>(cores.size());
}

/// "48K", "2048K", "32M" in bytes.
std::uint64_t cache_bytes(const std::string& text) {
  const auto value = number<std::uint64_t>(text).value_or(0);
  const char unit = text.empty() ? ' ' : text.back();
  return unit == 'K' ? value << 10 : unit == 'M' ? value << 20 : value;
}

void read_caches(const fs::path& root, Facts& facts) {
  for (int index = 0; index < 16; ++index) {
    const auto folder = root / "sys/devices/system/cpu/cpu0/cache" / ("index" + std::to_string(index));
    const auto level = first_line(folder / "level");
    if (level.empty()) continue;
    const auto type = first_line(folder / "type");
    const std::string suffix = type == "Data" ? "d" : type == "Instruction" ? "i" : "";
    facts.caches.push_back({"L" + level + suffix, cache_bytes(first_line(folder / "size"))});
  }
}

std::uint64_t memory_bytes(const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    const auto [name, value] = key_value(line, ':');
    if (name == "MemTotal") return number<std::uint64_t>(value).value_or(0) << 10;
  }
  return 0;
}

std::string os_name(const fs::path& root) {
  std::ifstream file(root / "etc/os-release");
  for (std::string line; std::getline(file, line);) {
    const auto [name, value] = key_value(line, '=');
    if (name == "PRETTY_NAME") return value;
  }
  return {};
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

/// FNV-1a, 64 bits; a zero byte after each part keeps "ab","c" apart from "a","bc".
class Hash {
 public:
  void add(std::string_view part) {
    for (const char byte : part) mix(static_cast<unsigned char>(byte));
    mix(0);
  }
  void add(std::uint64_t value) { add(std::to_string(value)); }
  std::string hex() const {
    std::array<char, 17> text{};
    std::snprintf(text.data(), text.size(), "%016llx", static_cast<unsigned long long>(value_));
    return text.data();
  }

 private:
  void mix(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3ULL; }
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

}  // namespace

Facts machine(const fs::path& root) {
  Facts facts;
  read_cpuinfo(root, facts);
  read_caches(root, facts);
  facts.memory_bytes = memory_bytes(root);
  facts.os = os_name(root);
  facts.kernel = trimmed(first_line(root / "proc/sys/kernel/ostype") + " " +
                         first_line(root / "proc/sys/kernel/osrelease"));
  facts.compiler = compiler();
  return facts;
}

Conditions conditions(const fs::path& root) {
  Conditions result;
  if (const auto load = number<double>(first_line(root / "proc/loadavg"))) result.load_1min = *load;
  std::ifstream file(root / "proc/cpuinfo");
  double sum = 0;
  int count = 0;
  for (std::string line; std::getline(file, line);) {
    const auto [name, value] = key_value(line, ':');
    if (name != "cpu MHz") continue;
    if (const auto mhz = number<double>(value)) {
      sum += *mhz;
      ++count;
    }
  }
  if (count > 0) result.cpu_mhz = sum / count;
  return result;
}

std::string key(const Facts& facts) {
  constexpr std::uint64_t kGiB = 1ULL << 30;
  Hash hash;
  hash.add(facts.cpu);
  hash.add(static_cast<std::uint64_t>(facts.physical_cores));
  hash.add(static_cast<std::uint64_t>(facts.logical_cores));
  for (const Cache& cache : facts.caches) {
    hash.add(cache.name);
    hash.add(cache.bytes);
  }
  hash.add("isa");
  for (const auto& flag : facts.isa) hash.add(flag);
  hash.add((facts.memory_bytes + kGiB / 2) / kGiB);
  hash.add(facts.os);
  hash.add(facts.compiler);
  for (const auto& [name, value] : facts.extra) {
    hash.add(name);
    hash.add(value);
  }
  return hash.hex();
}

}  // namespace wide::profiler
