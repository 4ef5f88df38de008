#pragma once
// Reading and writing safetensors files (https://github.com/huggingface/safetensors), strictly.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/dtype.h"

namespace wide::formats {

/// One tensor of a file: C-contiguous, little-endian.
struct SafetensorsEntry {
  std::string name;
  Dtype dtype;
  std::vector<std::int64_t> shape;   ///< every extent >= 0; empty for a scalar
  std::span<const std::byte> bytes;  ///< product(shape) * item_size(dtype) bytes, at any alignment
};

/// A whole file read into memory. Entries keep pointing into it as long as a copy of the object lives.
class Safetensors {
 public:
  /// Reads and checks `path`. Throws wide::Error ("load") naming the file and the fault.
  static Safetensors read(const std::filesystem::path& path);

  /// The same for a file in memory; `name` stands in messages.
  static Safetensors parse(std::vector<std::byte> file, std::string_view name);

  /// What `__metadata__` of the file says, without reading its tensors. Throws as read() does.
  static std::map<std::string, std::string> read_metadata(const std::filesystem::path& path);

  /// Sorted by name.
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  const SafetensorsEntry* find(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  /// The header's text as it stands in the file.
  std::string_view header() const { return header_; }
  /// Keeps the bytes alive.
  const std::shared_ptr<const std::vector<std::byte>>& storage() const { return storage_; }

 private:
  static Safetensors parse_file(std::vector<std::byte> file);

  std::shared_ptr<const std::vector<std::byte>> storage_;
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
  std::string_view header_;  // within storage_
};

/// A tensor to write whose bytes lie in several places, one piece behind the other.
struct SafetensorsPieces {
  std::string name;
  Dtype dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::span<const std::byte>> pieces;
};

/// Writes `entries` to a temporary beside `path`, syncs, renames: never a half file. Throws wide::Error
/// ("write").
void write_safetensors(const std::filesystem::path& path, std::span<const SafetensorsEntry> entries,
                       const std::map<std::string, std::string>& metadata = {});
void write_safetensors(const std::filesystem::path& path, std::span<const SafetensorsPieces> tensors,
                       const std::map<std::string, std::string>& metadata = {});

}  // namespace wide::formats
