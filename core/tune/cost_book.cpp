#include "core/tune/cost_book.h"

#include <ATen/Version.h>
#include <fcntl.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <span>

#include "formats/file.h"
#include "source_digest.h"

namespace wide {
namespace {

// First line of a file; another means another meaning of keys, and the file is begun anew.
constexpr std::string_view kHeader = "# widebench costs 2: key, nanoseconds, ~ if timed beside other work";

// Lines that the last ones of their key replace, before the file is written anew.
constexpr std::size_t kSpare = 2000;

// Nanoseconds, eleven days: no time of an operator or a pass.
constexpr double kMost = 1e15;

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 1);
  }
  return "cpu";
}

std::string fingerprint(std::string_view text) {
  char buffer[17];
  std::snprintf(buffer, sizeof buffer, "%016llx", static_cast<unsigned long long>(fnv1a(text)));
  return buffer;
}

std::optional<Cost> parsed_cost(std::string_view text) {
  const bool quiet = !text.ends_with('~');
  if (!quiet) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value < kMost))
    return std::nullopt;
  return Cost{value, quiet};
}

std::string line_of(const std::string& key, Cost cost) {
  char value[32];
  std::snprintf(value, sizeof value, "%.1f%s", cost.nanoseconds, cost.quiet ? "" : "~");
  return std::string(key).append("\t").append(value).append("\n");
}

}  // namespace

CostBook::CostBook(std::filesystem::path file) : file_(std::move(file)) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file_, failed)) return;
  std::ifstream in(file_);
  std::string line;
  if (!std::getline(in, line) || line != kHeader) return;
  std::size_t lines = 0;
  for (; std::getline(in, line); ++lines) {
    const auto tab = line.rfind('\t');
    if (tab == std::string::npos) continue;  // cut off while it was written
    if (const auto cost = parsed_cost(std::string_view(line).substr(tab + 1)))
      costs_[line.substr(0, tab)] = *cost;
  }
  if (lines > 2 * costs_.size() + kSpare) rewrite();
}

// Each key once. A line that another process adds meanwhile is lost: it is measured again.
void CostBook::rewrite() const {
  std::string text(kHeader);
  text.append("\n");
  for (const auto& [key, cost] : costs_) text.append(line_of(key, cost));
  const std::array parts{std::as_bytes(std::span(text))};
  try {
    formats::replace_file(file_, parts);
    std::filesystem::permissions(file_,
                                 std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  } catch (const std::exception&) {  // its folder may be somebody else's: the file stays as it is
  }
}

std::optional<Cost> CostBook::find(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto found = costs_.find(key);
  return found == costs_.end() ? std::nullopt : std::optional(found->second);
}

std::size_t CostBook::size() const {
  const std::lock_guard lock(mutex_);
  return costs_.size();
}

void CostBook::add(const std::string& key, Cost cost) {
  const std::lock_guard lock(mutex_);
  costs_[key] = cost;
  if (file_.empty()) return;
  std::error_code failed;
  std::filesystem::create_directories(file_.parent_path(), failed);
  if (std::filesystem::exists(file_, failed) && !std::filesystem::is_regular_file(file_, failed)) return;
  bool fresh = false;
  {
    std::ifstream in(file_);
    std::string line;
    fresh = !std::getline(in, line) || line != kHeader;
  }
  const int fd = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (fresh ? O_TRUNC : O_APPEND), 0600);
  if (fd < 0) return;
  auto line = line_of(key, cost);
  if (fresh) line.insert(0, std::string(kHeader).append("\n"));
  // One write each, so that lines of several processes do not mix; a lost one is measured again.
  [[maybe_unused]] const auto written = ::write(fd, line.data(), line.size());
  ::close(fd);
}

std::filesystem::path CostBook::default_file() {
  std::filesystem::path cache;
  if (const char* given = std::getenv("XDG_CACHE_HOME"); given && *given == '/') {
    cache = given;
  } else if (const char* home = std::getenv("HOME"); home && *home == '/') {
    cache = std::filesystem::path(home) / ".cache";
  } else {
    return {};
  }
  auto machine = processor() + "|" + at::get_cpu_capability() + "|" + TORCH_VERSION;
  machine.append("|").append(kSourceDigest);
  return cache / "widebench" / "costs" / (fingerprint(machine) + ".tsv");
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

}  // namespace wide
