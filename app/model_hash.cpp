#include "app/model_hash.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "formats/sha256.h"

namespace wide::app {
namespace {

void add(formats::Sha256& sum, std::string_view text) {
  sum.add(std::as_bytes(std::span(text)));
}

}  // namespace

std::string ModelHashes::of_file(const std::filesystem::path& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed))
    return "";  // a pipe would be emptied, or wait for ever
  const auto size = std::filesystem::file_size(path, failed);
  if (failed) return "";
  const auto changed = std::filesystem::last_write_time(path, failed);
  if (failed) return "";
  Seen& seen = seen_[path];
  if (!seen.hash.empty() && seen.size == size && seen.changed == changed) return seen.hash;
  seen = {size, changed, ""};
  std::ifstream file(path, std::ios::binary);
  formats::Sha256 sum;
  std::vector<char> buffer(1 << 20);
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0)
    add(sum, {buffer.data(), static_cast<std::size_t>(file.gcount())});
  if (!file.eof()) return "";
  return seen.hash = sum.hex();
}

std::string ModelHashes::of(const presets::CaseSpec& spec) {
  formats::Sha256 sum;
  if (spec.kind != "model") {
    add(sum, nlohmann::json({spec.kind, spec.subject, spec.shape}).dump());
    return sum.hex();
  }
  std::vector<std::filesystem::path> files{spec.model};
  files.insert(files.end(), spec.weights.begin(), spec.weights.end());
  for (const auto& file : files) {
    const std::string one = of_file(file);
    if (one.empty()) return "";
    add(sum, one);
  }
  return sum.hex();
}

}  // namespace wide::app
