#pragma once
// A folder of files that become code: nobody but this user may have written them.

#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "formats/descriptor.h"

namespace wide::native {

/// All is done by an open folder, whose owner and permissions were looked at, not by its path. Names are made
/// by us.
class PrivateFolder {
 public:
  /// `make`: makes it (mode 0700) where it is not there.
  static PrivateFolder open(const std::filesystem::path& folder, bool make);

  /// Why it is not to be used: it is not there, another user's, open to others for writing, or a link.
  const std::string& refusal() const { return refusal_; }

  /// A regular file of ours that nobody else may write. What is there and is not such is removed.
  std::optional<std::vector<std::byte>> read(const std::string& name) const;
  /// Whole or not at all; false where it cannot be written.
  bool write(const std::string& name, std::initializer_list<std::span<const std::byte>> parts) const;
  void remove(const std::string& name) const;
  /// Removes files from the oldest on until they have fewer than `most_bytes`, and what a killed process
  /// left.
  void trim(std::size_t most_bytes) const;

 private:
  Descriptor folder_;
  std::filesystem::path path_;
  std::string refusal_;
};

/// A file in memory that cannot be changed any more; not open where there is no room for it.
Descriptor sealed_memory(std::span<const std::byte> bytes);

}  // namespace wide::native
