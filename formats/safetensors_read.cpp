// Reading safetensors, to the letter of the reference and a little stricter (duplicate keys are refused).

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "formats/fault.h"
#include "formats/file.h"
#include "formats/int128.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "formats/safetensors_dtype.h"
#include "formats/safetensors_header.h"

namespace wide::formats {
namespace {

using Bytes = std::span<const std::byte>;

constexpr JsonLimits kHeaderLimits{.bytes = kLongestSafetensorsHeader, .depth = 8};

std::vector<std::int64_t> parse_shape(const Json& json) {
  std::vector<std::int64_t> shape;
  for (const Json& extent : as_array(json, "shape")) {
    const auto size = as_natural(extent, "an extent of shape");
    if (size > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      throw Fault("extent " + std::to_string(size) + " of shape is beyond 64-bit integers");
    shape.push_back(static_cast<std::int64_t>(size));
  }
  return shape;
}

/// Bytes of a tensor; throws where 63 bits do not hold them.
std::uint64_t byte_count(const std::vector<std::int64_t>& shape, Dtype dtype) {
  uint128 count = 1;
  constexpr auto kMost = static_cast<uint128>(std::numeric_limits<std::int64_t>::max());
  for (const auto size : shape) {
    count *= static_cast<std::uint64_t>(size);
    if (count > kMost) throw Fault("shape has more elements than 64 bits hold");
  }
  count *= item_size(dtype);
  if (count > kMost) throw Fault("shape has more bytes than 64 bits hold");
  return static_cast<std::uint64_t>(count);
}

PlacedEntry parse_entry(const std::string& name, const Json& json, std::uint64_t data_size) {
  PlacedEntry result;
  result.entry.name = name;
  result.entry.dtype = parse_safetensors_dtype(as_text(member(json, "dtype"), "dtype"));
  result.entry.shape = parse_shape(member(json, "shape"));
  const auto& offsets = as_array(member(json, "data_offsets"), "data_offsets");
  if (offsets.size() != 2) throw Fault("data_offsets are not two numbers");
  result.begin = as_natural(offsets[0], "data_offsets");
  result.end = as_natural(offsets[1], "data_offsets");
  if (result.begin > result.end || result.end > data_size)
    throw Fault("data_offsets [" + std::to_string(result.begin) + ", " + std::to_string(result.end) +
                "] do not lie within the " + std::to_string(data_size) +
                " bytes of data (truncated?); copy or save the file again");
  const std::uint64_t bytes = byte_count(result.entry.shape, result.entry.dtype);
  if (bytes != result.end - result.begin)
    throw Fault("shape and dtype need " + std::to_string(bytes) + " bytes, data_offsets span " +
                std::to_string(result.end - result.begin) + "; save the file again");
  return result;
}

/// Any other byte is undefined behaviour as soon as somebody reads the value as a bool.
void check_bools(const SafetensorsEntry& entry) {
  if (entry.dtype == Dtype::kBool &&
      std::ranges::any_of(entry.bytes, [](std::byte b) { return b > std::byte{1}; }))
    throw Fault("holds a bool that is neither 0 nor 1; save the file again");
}

/// Tensors lie one behind the other and fill the data: no hole, no overlap, nothing behind the last.
void check_filled(std::vector<PlacedEntry>& placed, std::uint64_t size) {
  std::ranges::sort(placed, {}, [](const PlacedEntry& p) { return std::pair(p.begin, p.end); });
  std::uint64_t end = 0;
  for (const auto& p : placed) {
    if (p.begin != end)
      throw Fault("tensor " + quote(p.entry.name) + " begins at byte " + std::to_string(p.begin) +
                  " where the one before ends at " + std::to_string(end) +
                  " (hole or overlap); save the file again");
    end = p.end;
  }
  if (end != size)
    throw Fault("data has " + std::to_string(size) + " bytes, its tensors " + std::to_string(end) +
                "; save the file again");
}

std::map<std::string, std::string> parse_metadata(const Json& json) {
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : as_object(json, "__metadata__"))
    metadata.emplace(key, as_text(value, "a value of __metadata__"));
  return metadata;
}

SafetensorsHeader header_of(const OpenFile& file) {
  const auto first = file.read(0, std::min<std::uint64_t>(8, file.size()));
  const auto length = safetensors_header_length(first, file.size());
  const auto text = file.read(8, length);
  return parse_safetensors_header({reinterpret_cast<const char*>(text.data()), text.size()},
                                  file.size() - 8 - length);
}

}  // namespace

namespace {

// Files that are taken for one: each begins in its own way.
std::string instead_of_safetensors(Bytes first) {
  const auto begins = [&](std::string_view text) {
    return std::ranges::equal(text, first.first(text.size()),
                              [](char c, std::byte b) { return std::byte(c) == b; });
  };
  if (begins("PK") || begins("\x80\x02"))
    return "is a checkpoint of torch.save, no safetensors file; write its tensors by "
           "safetensors.torch.save_file";
  if (begins("{"))
    return "is JSON, no safetensors file; of a checkpoint in several files give one file with all its "
           "tensors";
  return "";
}

}  // namespace

std::uint64_t safetensors_header_length(Bytes first, std::uint64_t size) {
  if (size == 0) throw Fault("is empty; give a safetensors file");
  if (size < 8 || first.size() < 8)
    throw Fault("is too short for a safetensors file (truncated?); copy or save it again");
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::to_integer<std::uint64_t>(first[i]) << (8 * i);
  if (length > kLongestSafetensorsHeader) {
    if (const auto other = instead_of_safetensors(first); !other.empty()) throw Fault(other);
    throw Fault("header length " + std::to_string(length) +
                " is beyond the limit of 100000000; not a safetensors file, or a damaged one: save it again");
  }
  if (length > size - 8)
    throw Fault("header length " + std::to_string(length) + " reaches beyond the file of " +
                std::to_string(size) + " bytes (truncated?); copy or save it again");
  return length;
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::uint64_t data_size) {
  return within(
      [] { return "header"; },
      [&] {
        SafetensorsHeader header;
        const Json json = parse_json(text, kHeaderLimits);
        for (const auto& tensor : as_object(json, "the header")) {
          if (tensor.key == "__metadata__") {
            header.metadata = parse_metadata(tensor.value);
          } else {
            header.placed.push_back(within([&] { return "tensor " + quote(tensor.key); },
                                           [&] { return parse_entry(tensor.key, tensor.value, data_size); }));
          }
        }
        check_filled(header.placed, data_size);
        return header;
      });
}

Safetensors Safetensors::parse_file(std::vector<std::byte> file) {
  Safetensors result;
  result.storage_ = std::make_shared<const std::vector<std::byte>>(std::move(file));
  const Bytes bytes = *result.storage_;
  const std::uint64_t length = safetensors_header_length(bytes, bytes.size());
  const Bytes data = bytes.subspan(8 + length);
  result.header_ = {reinterpret_cast<const char*>(bytes.data()) + 8, length};
  auto header = parse_safetensors_header(result.header_, data.size());
  result.metadata_ = std::move(header.metadata);
  for (auto& placed : header.placed) {
    placed.entry.bytes = data.subspan(placed.begin, placed.end - placed.begin);
    within([&] { return "header: tensor " + quote(placed.entry.name); }, [&] { check_bools(placed.entry); });
    result.entries_.push_back(std::move(placed.entry));
  }
  std::ranges::sort(result.entries_, {}, &SafetensorsEntry::name);
  return result;
}

Safetensors Safetensors::read(const std::filesystem::path& path) {
  return naming_file("load", display_name(path), [&] {
    const OpenFile file(path);
    header_of(file);  // of what is no safetensors file only the beginning is read
    return parse_file(file.read(0, file.size()));
  });
}

Safetensors Safetensors::parse(std::vector<std::byte> file, std::string_view name) {
  return naming_file("load", name, [&] { return parse_file(std::move(file)); });
}

std::map<std::string, std::string> Safetensors::read_metadata(const std::filesystem::path& path) {
  return naming_file("load", display_name(path), [&] { return header_of(OpenFile(path)).metadata; });
}

const SafetensorsEntry* Safetensors::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(entries_, name, {}, &SafetensorsEntry::name);
  return found != entries_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace wide::formats
