#include "formats/zip_directory.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>

#include "formats/fault.h"
#include "formats/file.h"

namespace wide::formats {
namespace {

constexpr std::uint32_t kLocalMagic = 0x04034b50, kDirectoryMagic = 0x02014b50, kEndMagic = 0x06054b50,
                        kEnd64Magic = 0x06064b50, kLocatorMagic = 0x07064b50;
constexpr std::uint64_t kLocalSize = 30, kDirectorySize = 46, kEndSize = 22, kEnd64Size = 56,
                        kLocatorSize = 20;
constexpr std::uint64_t kEndWindow = 1 << 17;  // more than any reader searches
constexpr std::uint32_t kEncrypted = 1 << 0, kDataDescriptor = 1 << 3, kStrongEncryption = 1 << 6;
constexpr std::uint16_t kZip64Extra = 1;

[[noreturn]] void refuse(const std::string& why) {
  throw Fault("not a sound zip archive: " + why +
              "; the file is damaged or was not written by torch.export.save");
}

/// Little-endian numbers at checked offsets.
class Reader {
 public:
  /// `first`: the offset of the first byte, in a file of which only the end is at hand.
  explicit Reader(std::span<const std::byte> bytes, std::uint64_t first = 0) : bytes_(bytes), first_(first) {}

  std::uint64_t size() const { return first_ + bytes_.size(); }
  bool holds(std::uint64_t offset, std::uint64_t length) const {
    return offset >= first_ && offset <= size() && length <= size() - offset;
  }
  Reader part(std::uint64_t offset, std::uint64_t length) const {
    if (!holds(offset, length)) refuse("a record reaches beyond its end (truncated file?)");
    return Reader(bytes_.subspan(offset - first_, length));
  }
  std::uint16_t u16(std::uint64_t offset) const { return static_cast<std::uint16_t>(number(offset, 2)); }
  std::uint32_t u32(std::uint64_t offset) const { return static_cast<std::uint32_t>(number(offset, 4)); }
  std::uint64_t u64(std::uint64_t offset) const { return number(offset, 8); }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  std::uint64_t number(std::uint64_t offset, std::uint64_t width) const {
    if (!holds(offset, width)) refuse("a record reaches beyond its end (truncated file?)");
    std::uint64_t value = 0;
    for (std::uint64_t i = 0; i < width; ++i)
      value |= std::to_integer<std::uint64_t>(bytes_[offset - first_ + i]) << (8 * i);
    return value;
  }

  std::span<const std::byte> bytes_;
  std::uint64_t first_;
};

struct DirectoryPlace {
  std::uint64_t offset = 0, size = 0, entries = 0;
};

/// libzip considers every end record in the last 64 KiB (the sample inputs, a zip file of their own, hold
/// one) and makes room for as many members as it claims: no claim may exceed what the file could hold.
void check_claims(const Reader& file) {
  const std::uint64_t begin = file.size() - std::min<std::uint64_t>(file.size(), kEndWindow);
  const std::string_view tail = file.part(begin, file.size() - begin).text();
  for (auto at = tail.find("PK\6\7"); at != tail.npos; at = tail.find("PK\6\7", at + 1)) {
    if (!file.holds(begin + at, kLocatorSize)) return;
    const std::uint64_t end64 = file.u64(begin + at + 8);
    if (!file.holds(end64, kEnd64Size) || file.u32(end64) != kEnd64Magic) continue;
    const std::uint64_t most = file.size() / kDirectorySize;
    if (file.u64(end64 + 24) > most || file.u64(end64 + 32) > most)
      refuse("an end record claims more members than the file can hold");
  }
}

DirectoryPlace find_directory(const Reader& file) {
  if (file.size() < kEndSize) refuse("it is too short (truncated file?)");
  const std::uint64_t end = file.size() - kEndSize;
  if (file.u32(end) != kEndMagic || file.u16(end + 20) != 0)
    refuse("its end record is not at the end of the file (truncated file, or bytes appended?)");
  check_claims(file);
  if (file.u16(end + 4) != 0 || file.u16(end + 6) != 0 || file.u16(end + 8) != file.u16(end + 10))
    refuse("it spans several disks");
  DirectoryPlace place{file.u32(end + 16), file.u32(end + 12), file.u16(end + 10)};
  std::uint64_t limit = end;
  if (end >= kLocatorSize && file.u32(end - kLocatorSize) == kLocatorMagic) {
    const std::uint64_t locator = end - kLocatorSize;
    const std::uint64_t end64 = file.u64(locator + 8);
    if (!file.holds(end64, kEnd64Size) || end64 + kEnd64Size != locator || file.u32(end64) != kEnd64Magic)
      refuse("its ZIP64 end record is misplaced");
    if (file.u32(end64 + 16) != 0 || file.u32(end64 + 20) != 0 ||
        file.u64(end64 + 24) != file.u64(end64 + 32))
      refuse("it spans several disks");
    const DirectoryPlace wide{file.u64(end64 + 48), file.u64(end64 + 40), file.u64(end64 + 32)};
    const auto agrees = [](std::uint64_t narrow, std::uint64_t full, std::uint64_t unset) {
      return narrow == unset || narrow == full;
    };
    if (!agrees(place.offset, wide.offset, 0xffffffff) || !agrees(place.size, wide.size, 0xffffffff) ||
        !agrees(place.entries, wide.entries, 0xffff))
      refuse("its two end records disagree");
    place = wide;
    limit = end64;
  }
  if (place.offset > limit || place.size != limit - place.offset)
    refuse("its directory does not end where the end record begins");
  if (place.entries > place.size / kDirectorySize)
    refuse("its directory is too small for its number of members");
  return place;
}

/// Values of the ZIP64 extra field for the 32-bit fields that are all ones, in the order the format demands.
void widen(const Reader& extra, std::uint64_t& size, std::uint64_t& stored, std::uint64_t& begin) {
  for (std::uint64_t at = 0; at < extra.size();) {
    if (!extra.holds(at, 4)) refuse("an extra field is cut off");
    const std::uint16_t id = extra.u16(at);
    const Reader field = extra.part(at + 4, extra.u16(at + 2));
    at += 4 + field.size();
    if (id != kZip64Extra) continue;
    std::uint64_t next = 0;
    for (std::uint64_t* value : {&size, &stored, &begin}) {
      if (*value != 0xffffffff) continue;
      *value = field.u64(next);
      next += 8;
    }
    return;
  }
}

void check_name(const std::string& name, std::uint64_t size) {
  const auto bad = [&](const char* why) { refuse("member name " + quote(name) + " " + why); };
  if (name.empty()) bad("is empty");
  if (name.find('\0') != name.npos || name.find('\\') != name.npos) bad("holds a NUL or a backslash");
  if (name.front() == '/' || (name.size() > 1 && name[1] == ':')) bad("is absolute");
  std::string_view rest = name;
  if (rest.back() == '/') {  // a folder entry, as the zip program writes
    if (size != 0) bad("is a folder with content");
    rest.remove_suffix(1);
  }
  while (true) {
    const auto slash = rest.find('/');
    const std::string_view component = rest.substr(0, slash);
    if (component.empty() || component == "." || component == "..")
      bad("has an empty, '.' or '..' component");
    if (slash == rest.npos) return;
    rest.remove_prefix(slash + 1);
  }
}

/// Checks the local header against the directory and returns the offset behind the member's data.
std::uint64_t end_of_member(const Reader& file, const ZipMember& member, std::uint64_t stored,
                            const Reader& entry, std::uint64_t directory) {
  const auto bad = [&](const char* why) { refuse("member " + quote(member.name) + " " + why); };
  if (member.begin > directory || directory - member.begin < kLocalSize) bad("lies outside of the file");
  const Reader local = file.part(member.begin, kLocalSize);
  if (local.u32(0) != kLocalMagic) bad("has no local header where the directory says");
  const std::uint16_t flags = entry.u16(8), method = entry.u16(10);
  if (local.u16(6) != flags || local.u16(8) != method)
    bad("has a local header that disagrees with the directory");
  const std::uint64_t name_size = local.u16(26), extra_size = local.u16(28);
  const std::uint64_t head = kLocalSize + name_size + extra_size;
  if (directory - member.begin < head || directory - member.begin - head < stored)
    bad("reaches into the directory or beyond the file");
  if (file.part(member.begin + kLocalSize, name_size).text() != member.name)
    bad("has another name in its local header");
  if ((flags & kDataDescriptor) == 0) {
    std::uint64_t size = local.u32(22), local_stored = local.u32(18), unused = 0;
    widen(file.part(member.begin + kLocalSize + name_size, extra_size), size, local_stored, unused);
    if (size != member.size || local_stored != stored || local.u32(14) != member.crc)
      bad("has a local header that disagrees with the directory");
  }
  return member.begin + head + stored;
}

ZipMember read_entry(const Reader& file, const DirectoryPlace& place, const Reader& directory,
                     std::uint64_t& at) {
  const Reader entry = directory.part(at, kDirectorySize);
  if (entry.u32(0) != kDirectoryMagic) refuse("its directory holds something else than members");
  const std::uint64_t name_size = entry.u16(28), extra_size = entry.u16(30), comment_size = entry.u16(32);
  ZipMember member;
  member.name = directory.part(at + kDirectorySize, name_size).text();
  const Reader extra = directory.part(at + kDirectorySize + name_size, extra_size);
  at += kDirectorySize + name_size + extra_size + comment_size;
  if (at > directory.size()) refuse("its directory is cut off");

  std::uint64_t stored = entry.u32(20);
  member.size = entry.u32(24);
  member.begin = entry.u32(42);
  member.crc = entry.u32(16);
  widen(extra, member.size, stored, member.begin);
  check_name(member.name, member.size);
  const std::uint16_t flags = entry.u16(8);
  const auto bad = [&](const char* why) { refuse("member " + quote(member.name) + " " + why); };
  if (flags & (kEncrypted | kStrongEncryption)) bad("is encrypted");
  member.compressed = entry.u16(10) != 0;
  if (!member.compressed && stored != member.size) bad("has two sizes");
  if (entry.u16(34) != 0) bad("lies on another disk");
  member.end = end_of_member(file, member, stored, entry, place.offset);
  return member;
}

void check_apart(const std::vector<ZipMember>& members) {
  std::vector<const ZipMember*> order;
  order.reserve(members.size());
  for (const auto& member : members) order.push_back(&member);
  std::ranges::sort(order, {}, &ZipMember::begin);
  if (!order.empty() && order.front()->begin != 0) refuse("it has bytes before the first member");
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i]->begin < order[i - 1]->end)
      refuse("members " + quote(order[i - 1]->name) + " and " + quote(order[i]->name) + " overlap");
  std::ranges::sort(order, {}, [](const ZipMember* member) { return std::string_view(member->name); });
  for (std::size_t i = 1; i < order.size(); ++i)
    if (order[i]->name == order[i - 1]->name) refuse("member " + quote(order[i]->name) + " stands twice");
}

}  // namespace

std::vector<std::string> read_zip_names(const std::filesystem::path& path) {
  const OpenFile file(path);
  const auto window = std::min(file.size(), kEndWindow);
  const auto tail = file.read(file.size() - window, window);
  const auto place = find_directory(Reader(tail, file.size() - window));
  const auto bytes = file.read(place.offset, place.size);
  const Reader directory(bytes);
  std::vector<std::string> names;
  for (std::uint64_t i = 0, at = 0; i < place.entries; ++i) {
    const Reader entry = directory.part(at, kDirectorySize);
    if (entry.u32(0) != kDirectoryMagic) refuse("its directory holds something else than members");
    const std::uint64_t size = entry.u16(28);
    names.emplace_back(directory.part(at + kDirectorySize, size).text());
    at += kDirectorySize + size + entry.u16(30) + entry.u16(32);
  }
  return names;
}

std::vector<ZipMember> read_zip_directory(std::span<const std::byte> bytes) {
  const Reader file(bytes);
  const DirectoryPlace place = find_directory(file);
  const Reader directory = file.part(place.offset, place.size);
  std::vector<ZipMember> members;
  members.reserve(place.entries);  // bounded by the directory's size above
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < place.entries; ++i) members.push_back(read_entry(file, place, directory, at));
  if (at != directory.size()) refuse("its directory is longer than its members");
  check_apart(members);
  return members;
}

}  // namespace wide::formats
