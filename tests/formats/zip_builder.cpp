#include "zip_builder.h"

#include <zlib.h>

#include "formats/archive.h"

namespace wide::formats::test {
namespace {

std::uint32_t crc_of(const std::string& bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

void put(std::string& out, std::uint64_t value, int width) {
  for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
}

// The twelve fields that local header and directory entry share, from flags to the length of the extra field.
void put_common(std::string& out, const ZipPart& part, const std::string& name) {
  const std::uint32_t size = part.size.value_or(static_cast<std::uint32_t>(part.bytes.size()));
  put(out, part.flags, 2);
  put(out, part.method, 2);
  put(out, 0, 4);  // time and date
  put(out, part.crc ? *part.crc : crc_of(part.bytes), 4);
  put(out, size, 4);
  put(out, size, 4);
  put(out, name.size(), 2);
  put(out, 0, 2);
}

}  // namespace

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

std::string zip(const std::vector<ZipPart>& parts) {
  std::string out, directory;
  for (const auto& part : parts) {
    const std::uint32_t begin = part.begin.value_or(static_cast<std::uint32_t>(out.size()));
    const std::string local_name = part.local_name.value_or(part.name);
    put(out, 0x04034b50, 4);
    put(out, 20, 2);
    put_common(out, part, local_name);
    out += local_name + part.bytes;
    put(directory, 0x02014b50, 4);
    put(directory, 20, 2);
    put(directory, 20, 2);
    put_common(directory, part, part.name);
    put(directory, 0, 6);  // comment, disk, internal attributes
    put(directory, 0, 4);  // external attributes
    put(directory, begin, 4);
    directory += part.name;
  }
  const std::uint64_t offset = out.size();
  out += directory;
  put(out, 0x06054b50, 4);
  put(out, 0, 4);
  put(out, parts.size(), 2);
  put(out, parts.size(), 2);
  put(out, directory.size(), 4);
  put(out, offset, 4);
  put(out, 0, 2);
  return out;
}

std::vector<ZipPart> unzip(std::string_view file) {
  const Archive archive(bytes_of(file));
  std::vector<ZipPart> parts;
  for (const auto& [name, member] : archive.members()) {
    const auto bytes = archive.read(name);
    parts.push_back({name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
  }
  return parts;
}

}  // namespace wide::formats::test
