#include "formats/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "formats/descriptor.h"
#include "formats/fault.h"

namespace wide::formats {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

struct stat checked_stat(int descriptor) {
  struct stat facts {};
  if (::fstat(descriptor, &facts) != 0)
    throw Fault("cannot be examined (" + reason(errno) + "); check the disk");
  if (S_ISDIR(facts.st_mode)) throw Fault("is a directory; give the file inside it");
  if (!S_ISREG(facts.st_mode)) throw Fault("is not a regular file; give a file on disk");
  return facts;
}

std::filesystem::path temporary_beside(const std::filesystem::path& path) {
  static std::atomic<std::uint64_t> counter{0};
  auto name = path.filename().native();
  name = "." + name.substr(0, 200) + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(counter++);
  return path.parent_path() / name;
}

void write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0)
      throw Fault("cannot be written (" + reason(errno) + "); check free space and permissions");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

/// A file beside `target` that is in its place when it is whole, and gone otherwise. It has no name before,
/// where the file system knows such files: then nothing is left of it however the process ends.
class FileToBe {
 public:
  explicit FileToBe(const std::filesystem::path& target) : path_(temporary_beside(target)) {
    const auto folder = target.has_parent_path() ? target.parent_path() : std::filesystem::path(".");
    // A nameless file gets its name through /proc.
    if (::access("/proc/self/fd", X_OK) == 0)
      descriptor_ = Descriptor(::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
    if (descriptor_.open()) return;
    descriptor_ = Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (!descriptor_.open())
      throw Fault("cannot be created (" + reason(errno) +
                  "); check that its folder exists and may be written");
    named_ = true;
  }
  FileToBe(const FileToBe&) = delete;
  FileToBe& operator=(const FileToBe&) = delete;
  ~FileToBe() {
    if (named_) ::unlink(path_.c_str());
  }

  int descriptor() const { return descriptor_.get(); }

  void replace(const std::filesystem::path& target) {
    const auto unsaved = [] {
      return Fault("cannot be brought to disk (" + reason(errno) + "); check free space");
    };
    struct stat old {};
    if (::stat(target.c_str(), &old) == 0 && ::fchmod(descriptor_.get(), old.st_mode & 0777) != 0)
      throw Fault("cannot have the rights of the file in its place (" + reason(errno) +
                  "); name another file");
    if (::fsync(descriptor_.get()) != 0) throw unsaved();
    if (!named_) {
      const auto link = "/proc/self/fd/" + std::to_string(descriptor_.get());
      if (::linkat(AT_FDCWD, link.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) != 0) throw unsaved();
      named_ = true;
    }
    if (!descriptor_.close()) throw unsaved();
    if (::rename(path_.c_str(), target.c_str()) != 0)
      throw Fault("cannot be replaced (" + reason(errno) +
                  "); check that it is not a directory and may be written");
    named_ = false;
  }

 private:
  std::filesystem::path path_;
  Descriptor descriptor_;
  bool named_ = false;
};

/// What must be written to, since a file in its place would be another thing.
bool is_device_or_pipe(const std::filesystem::path& path) {
  struct stat facts {};
  return ::stat(path.c_str(), &facts) == 0 && !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode);
}

void write_into(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts) {
  const Descriptor descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (descriptor.get() < 0) throw Fault("cannot be opened (" + reason(errno) + "); check its permissions");
  for (const auto part : parts) write_all(descriptor.get(), part);
}

bool begins_as_database(const std::filesystem::path& path) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;
  std::array<char, 16> head{};
  std::ifstream(path, std::ios::binary).read(head.data(), head.size());
  return std::string_view(head.data(), head.size()) == std::string_view("SQLite format 3\0", head.size());
}

void sync_folder_of(const std::filesystem::path& path) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that may be written but not read, or a file system without folder syncs, is no reason to fail:
  // the file is whole either way, only its name could be lost with the power.
  if (descriptor.get() >= 0) (void)::fsync(descriptor.get());
}

}  // namespace

OpenFile::OpenFile(const std::filesystem::path& path)
    // O_NONBLOCK: a FIFO without a writer must not hang before fstat can refuse it.
    : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  if (!descriptor_.open()) {
    if (errno == ENOENT) throw Fault("no such file; check the path");
    throw Fault("cannot be opened (" + reason(errno) + "); check the path and its permissions");
  }
  size_ = static_cast<std::uint64_t>(checked_stat(descriptor_.get()).st_size);
}

std::vector<std::byte> OpenFile::read(std::uint64_t offset, std::uint64_t count) const {
  if (offset > size_ || count > size_ - offset) throw Fault("is too short (truncated file?)");
  std::vector<std::byte> bytes(count);
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::pread(descriptor_.get(), bytes.data() + done, bytes.size() - done,
                                static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw Fault("cannot be read (" + reason(errno) + "); check the disk");
    if (got == 0) throw Fault("became shorter while it was read; wait until its writer has finished");
    done += static_cast<std::size_t>(got);
  }
  if (static_cast<std::uint64_t>(checked_stat(descriptor_.get()).st_size) != size_)
    throw Fault("changed its size while it was read; wait until its writer has finished");
  return bytes;
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  const OpenFile file(path);
  return file.read(0, file.size());
}

std::filesystem::path behind_links(std::filesystem::path path) {
  constexpr int kMost = 40;  // as many as Linux follows
  std::error_code none;
  for (int i = 0; std::filesystem::is_symlink(path, none); ++i) {
    if (i == kMost) throw Fault("is a link that leads to itself; name a file");
    path = path.parent_path() / std::filesystem::read_symlink(path, none);
  }
  return path;
}

void refuse_standard_output(const std::filesystem::path& path) {
  struct stat file {
  }, output{};
  if (::stat(path.c_str(), &file) != 0 || ::fstat(STDOUT_FILENO, &output) != 0) return;
  if (S_ISREG(output.st_mode) && file.st_dev == output.st_dev && file.st_ino == output.st_ino)
    throw Fault("is where this program's standard output goes; name another file");
}

void refuse_database(const std::filesystem::path& path) {
  const auto file = behind_links(path);
  auto owner = file.native();
  for (const std::string_view end : {"-wal", "-shm", "-journal"})
    if (owner.ends_with(end)) owner.resize(owner.size() - end.size());
  if (begins_as_database(file) || (owner != file.native() && begins_as_database(owner)))
    throw Fault("is an SQLite database, as histories are, or belongs to one; name another file");
}

void replace_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> parts) {
  if (!path.has_filename()) throw Fault("names no file; give a file name");
  refuse_standard_output(path);
  refuse_database(path);
  if (is_device_or_pipe(path)) return write_into(path, parts);
  const auto target = behind_links(path);
  FileToBe file(target);
  for (const auto part : parts) write_all(file.descriptor(), part);
  file.replace(target);
  sync_folder_of(target);
}

}  // namespace wide::formats
