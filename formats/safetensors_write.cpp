// Writing safetensors: every tensor aligned to its element, and the file replaced as a whole or not at all.

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "formats/fault.h"
#include "formats/file.h"
#include "formats/int128.h"
#include "formats/safetensors.h"
#include "formats/safetensors_dtype.h"
#include "formats/safetensors_header.h"

namespace wide::formats {
namespace {

using nlohmann::json;

/// The bytes that shape and dtype ask for, or nothing where they overflow or an extent is negative.
std::optional<std::uint64_t> byte_count(const SafetensorsPieces& entry) {
  uint128 count = item_size(entry.dtype);
  for (const auto size : entry.shape) {
    if (size < 0) return {};
    count *= static_cast<std::uint64_t>(size);
    if (count > INT64_MAX) return {};
  }
  return static_cast<std::uint64_t>(count);
}

std::uint64_t size(const SafetensorsPieces& entry) {
  std::uint64_t bytes = 0;
  for (const auto piece : entry.pieces) bytes += piece.size();
  return bytes;
}

void check(const SafetensorsPieces& entry) {
  if (entry.name == "__metadata__") throw Fault("the name is reserved; rename the tensor");
  try {
    (void)json(entry.name).dump();
  } catch (const json::type_error&) {
    throw Fault("the name is not valid UTF-8; rename the tensor");
  }
  if (!safetensors_name(entry.dtype))
    throw Fault("safetensors has no type " + std::string(name(entry.dtype)) + "; convert the tensor first");
  if (byte_count(entry) != size(entry))
    throw Fault("has " + std::to_string(size(entry)) + " bytes, which is not what its shape and type need");
}

/// Larger elements first, as the reference does, so that each tensor is aligned; then by name.
std::vector<const SafetensorsPieces*> in_file_order(std::span<const SafetensorsPieces> entries) {
  std::vector<const SafetensorsPieces*> order;
  for (const auto& entry : entries) {
    within([&] { return "tensor " + quote(entry.name); }, [&] { check(entry); });
    order.push_back(&entry);
  }
  std::ranges::sort(order, [](const auto* a, const auto* b) {
    const auto width_a = item_size(a->dtype), width_b = item_size(b->dtype);
    return width_a != width_b ? width_a > width_b : a->name < b->name;
  });
  return order;
}

std::string header_text(const std::vector<const SafetensorsPieces*>& order,
                        const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t begin = 0;
  for (const auto* entry : order) {
    const std::uint64_t end = begin + size(*entry);
    const auto [place, is_new] = header.emplace(entry->name, json{{"dtype", *safetensors_name(entry->dtype)},
                                                                  {"shape", entry->shape},
                                                                  {"data_offsets", {begin, end}}});
    if (!is_new) throw Fault("two tensors are named " + quote(entry->name) + "; rename one");
    begin = end;
  }
  try {
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    if (text.size() > kLongestSafetensorsHeader)
      throw Fault("names and metadata need a header of " + std::to_string(text.size()) +
                  " bytes, beyond the limit of 100000000; write fewer tensors into one file");
    return text;
  } catch (const json::type_error&) {  // the only failure of dump
    throw Fault("__metadata__ is not valid UTF-8; rename what it names");
  }
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, std::span<const SafetensorsPieces> tensors,
                       const std::map<std::string, std::string>& metadata) {
  naming_file("write", display_name(path), [&] {
    const auto order = in_file_order(tensors);
    const std::string header = header_text(order, metadata);
    std::array<std::byte, 8> length;
    for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(header.size() >> (8 * i));
    std::vector<std::span<const std::byte>> parts = {length, std::as_bytes(std::span(header))};
    for (const auto* entry : order) parts.insert(parts.end(), entry->pieces.begin(), entry->pieces.end());
    replace_file(path, parts);
  });
}

void write_safetensors(const std::filesystem::path& path, std::span<const SafetensorsEntry> entries,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<SafetensorsPieces> tensors;
  tensors.reserve(entries.size());
  for (const auto& entry : entries) tensors.push_back({entry.name, entry.dtype, entry.shape, {entry.bytes}});
  write_safetensors(path, tensors, metadata);
}

}  // namespace wide::formats
