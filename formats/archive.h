#pragma once
// A zip archive of stored members, held in memory: structure checked at opening, checksums at reading.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "formats/zip_directory.h"

struct zip;

namespace wide::formats {

class Archive {
 public:
  /// Checks the structure with our own rules (zip_directory.h), then with libzip's, and that the two agree.
  /// Throws Fault.
  explicit Archive(std::vector<std::byte> file);

  /// Members by full name, folder entries left out.
  const std::map<std::string, ZipMember, std::less<>>& members() const { return members_; }
  bool has(std::string_view name) const { return members_.contains(name); }

  /// The bytes of a member, its checksum verified unless it has none (CRC 0 on data). Throws Fault.
  std::vector<std::byte> read(std::string_view name) const;

  /// Verifies a member without keeping its bytes. Throws Fault.
  void verify(std::string_view name) const;

  /// Whether a member has data but no checksum.
  static bool unverified(const ZipMember& member) { return member.crc == 0 && member.size != 0; }

 private:
  struct Discard {
    void operator()(zip* handle) const noexcept;
  };
  void read_into(const ZipMember& member, std::byte* out) const;

  std::vector<std::byte> file_;
  std::unique_ptr<zip, Discard> zip_;
  std::map<std::string, ZipMember, std::less<>> members_;
};

}  // namespace wide::formats
