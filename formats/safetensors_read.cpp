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

namespace wide::formats {
namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint64_t kLongestHeader = 100'000'000;  // the reference's limit, bytes
constexpr JsonLimits kHeaderLimits{.bytes = kLongestHeader, .depth = 8};

std::uint64_t header_length(Bytes file) {
  if (file.empty()) throw Fault("is empty; give a safetensors file");
  if (file.size() < 8) throw Fault("is too short for a safetensors file (truncated?); copy or save it again");
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8; ++i) length |= std::to_integer<std::uint64_t>(file[i]) << (8 * i);
  if (length > kLongestHeader)
    throw Fault("header length " + std::to_string(length) +
                " is beyond the limit of 100000000; not a safetensors file, or a damaged one: save it again");
  if (length > file.size() - 8)
    throw Fault("header length " + std::to_string(length) + " reaches beyond the file of " +
                std::to_string(file.size()) + " bytes (truncated?); copy or save it again");
  return length;
}

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

struct Placed {
  SafetensorsEntry entry;
  std::uint64_t begin = 0, end = 0;
};

Placed parse_entry(const std::string& name, const Json& json, Bytes data) {
  Placed result;
  result.entry.name = name;
  result.entry.dtype = parse_safetensors_dtype(as_text(member(json, "dtype"), "dtype"));
  result.entry.shape = parse_shape(member(json, "shape"));
  const auto& offsets = as_array(member(json, "data_offsets"), "data_offsets");
  if (offsets.size() != 2) throw Fault("data_offsets are not two numbers");
  result.begin = as_natural(offsets[0], "data_offsets");
  result.end = as_natural(offsets[1], "data_offsets");
  if (result.begin > result.end || result.end > data.size())
    throw Fault("data_offsets [" + std::to_string(result.begin) + ", " + std::to_string(result.end) +
                "] do not lie within the " + std::to_string(data.size()) +
                " bytes of data (truncated?); copy or save the file again");
  const std::uint64_t bytes = byte_count(result.entry.shape, result.entry.dtype);
  if (bytes != result.end - result.begin)
    throw Fault("shape and dtype need " + std::to_string(bytes) + " bytes, data_offsets span " +
                std::to_string(result.end - result.begin) + "; save the file again");
  result.entry.bytes = data.subspan(result.begin, bytes);
  // Any other byte is undefined behaviour as soon as somebody reads the value as a bool.
  if (result.entry.dtype == Dtype::kBool &&
      std::ranges::any_of(result.entry.bytes, [](std::byte b) { return b > std::byte{1}; }))
    throw Fault("holds a bool that is neither 0 nor 1; save the file again");
  return result;
}

/// Tensors lie one behind the other and fill the data: no hole, no overlap, nothing behind the last.
void check_filled(std::vector<Placed>& placed, std::uint64_t size) {
  std::ranges::sort(placed, {}, [](const Placed& p) { return std::pair(p.begin, p.end); });
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

}  // namespace

Safetensors Safetensors::parse_file(std::vector<std::byte> file) {
  Safetensors result;
  result.storage_ = std::make_shared<const std::vector<std::byte>>(std::move(file));
  const Bytes bytes = *result.storage_;
  const std::uint64_t length = header_length(bytes);
  const Bytes header = bytes.subspan(8, length), data = bytes.subspan(8 + length);
  std::vector<Placed> placed;
  within([] { return "header"; },
         [&] {
           const Json json =
               parse_json({reinterpret_cast<const char*>(header.data()), header.size()}, kHeaderLimits);
           for (const auto& tensor : as_object(json, "the header")) {
             if (tensor.key == "__metadata__")
               result.metadata_ = parse_metadata(tensor.value);
             else
               placed.push_back(within([&] { return "tensor " + quote(tensor.key); },
                                       [&] { return parse_entry(tensor.key, tensor.value, data); }));
           }
           check_filled(placed, data.size());
         });
  for (auto& p : placed) result.entries_.push_back(std::move(p.entry));
  std::ranges::sort(result.entries_, {}, &SafetensorsEntry::name);
  return result;
}

Safetensors Safetensors::read(const std::filesystem::path& path) {
  return naming_file("load", display_name(path), [&] { return parse_file(read_file(path)); });
}

Safetensors Safetensors::parse(std::vector<std::byte> file, std::string_view name) {
  return naming_file("load", name, [&] { return parse_file(std::move(file)); });
}

const SafetensorsEntry* Safetensors::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(entries_, name, {}, &SafetensorsEntry::name);
  return found != entries_.end() && found->name == name ? &*found : nullptr;
}

}  // namespace wide::formats
