#pragma once
// N checkpoints of one architecture in one safetensors file: tensors stacked, [N, ...], or kept once where
// all members have the same bytes.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "formats/safetensors.h"

namespace wide::formats {

/// A member to pack.
struct PackMember {
  std::string name;
  std::string place;                      ///< its file, for messages
  std::vector<SafetensorsEntry> entries;  ///< sorted by name; the bytes must outlive the packing
  std::string header;                     ///< of its own file, as it stands there; empty: of no such file
};

struct PackOptions {
  bool stack_all = false;  ///< also what all members have alike
};

/// What packing did.
struct PackSummary {
  std::size_t stacked = 0, once = 0;         ///< tensors
  std::uint64_t bytes = 0, bytes_apart = 0;  ///< of tensors, in the packed file and in the members'
};

/// Writes `members`, which have the same names in the same dtypes and shapes, as one file, whole or not at
/// all. Throws wide::Error ("pack") naming file and tensor, ("write") for the file itself.
PackSummary write_packed(const std::filesystem::path& path, std::span<const PackMember> members,
                         const PackOptions& options = {});

/// A packed file, read whole and checked.
class Packed {
 public:
  /// Nothing when the file was not packed. Throws wide::Error ("load"), naming `place`, when it says that it
  /// was and that cannot be true.
  static std::optional<Packed> of(Safetensors file, std::string_view place);

  /// Names are all different, and each is a path below a folder.
  const std::vector<std::string>& members() const { return names_; }

  /// Member `i` as it was packed. Entries point into the file, which a copy of this object keeps alive.
  PackMember member(std::size_t i) const;

  /// Writes member `i` to a file of its own. The bytes of the file are those that were packed where that was
  /// a safetensors file. Throws wide::Error ("write").
  void write_member(std::size_t i, const std::filesystem::path& path) const;

  const Safetensors& file() const { return file_; }

 private:
  Packed(Safetensors file, std::string_view place);

  Safetensors file_;
  std::string place_;
  std::vector<std::string> names_;
  std::vector<bool> once_;                             ///< by entry of the file
  std::vector<std::string> headers_;                   ///< each once
  std::vector<std::optional<std::size_t>> header_of_;  ///< by member
};

/// Names of the members in a file, without reading its tensors; nothing where it was not packed or cannot be
/// read. Throws wide::Error ("load") when it says that it was packed, and is not as it says.
std::optional<std::vector<std::string>> packed_members(const std::filesystem::path& path);

/// What is wrong with a member's name as a path below a folder; empty when nothing is.
std::string objection_to_member_name(std::string_view name);

}  // namespace wide::formats
