#include "formats/archive.h"

#include <zip.h>

#include <algorithm>
#include <array>

#include "formats/fault.h"

namespace wide::formats {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw Fault("not a sound zip archive: " + why +
              "; the file is damaged or was not written by torch.export.save");
}

struct CloseFile {
  void operator()(zip_file_t* file) const noexcept { zip_fclose(file); }
};

/// Opens for reading with libzip's consistency checks; `file` must outlive the handle.
zip_t* open_checked(const std::vector<std::byte>& file) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(file.data(), file.size(), 0, &error);
  zip_t* handle = source ? zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error) : nullptr;
  if (!handle) {
    const std::string why = zip_error_strerror(&error);
    if (source) zip_source_free(source);
    zip_error_fini(&error);
    refuse(why);
  }
  zip_error_fini(&error);
  return handle;
}

// Also what ends compression bombs: sizes add up to no more than the file.
void check_stored(const std::vector<ZipMember>& members) {
  for (const auto& member : members)
    if (member.compressed) refuse("member " + quote(member.name) + " is compressed, which torch never does");
}

void check_agreement(zip_t* handle, const std::vector<ZipMember>& members) {
  if (zip_get_num_entries(handle, 0) != static_cast<zip_int64_t>(members.size()))
    refuse("two readers see a different number of members");
  for (std::size_t i = 0; i < members.size(); ++i) {
    zip_stat_t facts;
    zip_stat_init(&facts);
    if (zip_stat_index(handle, i, ZIP_FL_ENC_RAW, &facts) != 0 || members[i].name != facts.name ||
        members[i].size != facts.size || members[i].size != facts.comp_size || members[i].crc != facts.crc ||
        facts.comp_method != ZIP_CM_STORE)
      refuse("two readers disagree on member " + quote(members[i].name));
  }
}

}  // namespace

void Archive::Discard::operator()(zip* handle) const noexcept {
  zip_discard(handle);
}

Archive::Archive(std::vector<std::byte> file) : file_(std::move(file)) {
  const auto members = read_zip_directory(file_);
  check_stored(members);
  zip_.reset(open_checked(file_));
  check_agreement(zip_.get(), members);
  for (const auto& member : members)
    if (!member.name.ends_with('/')) members_.emplace(member.name, member);
}

// Reads in pieces of whatever libzip gives; `out` null discards. libzip compares the checksum at the end,
// whatever it is, so members without one are taken from the file as they are.
void Archive::read_into(const ZipMember& member, std::byte* out) const {
  if (unverified(member)) {
    if (out) std::copy_n(file_.data() + (member.end - member.size), member.size, out);
    return;
  }
  const std::unique_ptr<zip_file_t, CloseFile> file(
      zip_fopen(zip_.get(), member.name.c_str(), ZIP_FL_ENC_RAW));
  if (!file) refuse("member " + quote(member.name) + " cannot be read (" + zip_strerror(zip_.get()) + ")");
  std::array<std::byte, 1 << 16> scratch;
  std::uint64_t done = 0;
  while (true) {
    const std::uint64_t left = member.size - done;
    // At the end one more byte is asked for: only the read that meets the end compares the checksum.
    const bool at_end = left == 0;
    std::byte* target = out && !at_end ? out + done : scratch.data();
    const std::uint64_t room = at_end ? 1 : out ? left : std::min<std::uint64_t>(left, scratch.size());
    const zip_int64_t got = zip_fread(file.get(), target, room);
    if (got < 0) {
      if (zip_error_code_zip(zip_file_get_error(file.get())) == ZIP_ER_CRC)
        throw Fault("member " + quote(member.name) +
                    " does not match its checksum; the file is damaged: copy or export it again");
      refuse("member " + quote(member.name) + " cannot be read (" + zip_file_strerror(file.get()) + ")");
    }
    if (got == 0 && at_end) return;
    if (got == 0 || at_end)
      refuse("member " + quote(member.name) + " has another size than the directory says");
    done += static_cast<std::uint64_t>(got);
  }
}

std::vector<std::byte> Archive::read(std::string_view name) const {
  const auto found = members_.find(name);
  if (found == members_.end())
    throw Fault("member " + quote(name) + " is missing from the archive; export the model again");
  std::vector<std::byte> bytes(found->second.size);  // bounded: the member lies within the file
  read_into(found->second, bytes.data());
  return bytes;
}

void Archive::verify(std::string_view name) const {
  const auto found = members_.find(name);
  if (found == members_.end())
    throw Fault("member " + quote(name) + " is missing from the archive; export the model again");
  read_into(found->second, nullptr);
}

}  // namespace wide::formats
