#include "core/native/private_folder.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace wide::native {
namespace {

constexpr std::size_t kLargest = std::size_t{16} << 20;
constexpr const char* kHalfMade = ".new-";
constexpr auto kLeftBehind = std::chrono::hours(1);

bool is_ours_alone(const struct stat& facts) {
  return facts.st_uid == ::geteuid() && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Whoever may write into the folder above may put another one in its place.
bool may_hold(const struct stat& parent) {
  const bool sticky = (parent.st_mode & S_ISVTX) != 0;
  return (parent.st_uid == ::geteuid() || parent.st_uid == 0) && ((parent.st_mode & S_IWOTH) == 0 || sticky);
}

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto wrote = ::write(descriptor, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(wrote));
  }
  return true;
}

std::optional<std::vector<std::byte>> read_all(int descriptor, std::size_t size) {
  std::vector<std::byte> bytes(size);
  for (std::size_t done = 0; done < size;) {
    const auto got = ::read(descriptor, bytes.data() + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return std::nullopt;
    done += static_cast<std::size_t>(got);
  }
  return bytes;
}

std::string temporary_name() {
  static std::atomic<int> count = 0;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return kHalfMade + std::to_string(::getpid()) + "-" + std::to_string(now) + "-" + std::to_string(++count);
}

}  // namespace

PrivateFolder PrivateFolder::open(const std::filesystem::path& folder, bool make) {
  PrivateFolder result;
  result.path_ = folder;
  const auto refuse = [&](const std::string& why) -> PrivateFolder&& {
    result.refusal_ = why;
    return std::move(result);
  };
  if (folder.empty())
    return refuse("there is no folder for compiled kernels: neither HOME nor XDG_CACHE_HOME");
  if (make) {
    std::error_code ignored;  // told of where the folder is opened
    std::filesystem::create_directories(folder.parent_path(), ignored);
    ::mkdir(folder.c_str(), 0700);
  }
  constexpr int kHow = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  const Descriptor parent(::open(folder.parent_path().c_str(), kHow));
  result.folder_ = Descriptor(::open(folder.c_str(), kHow | O_NOFOLLOW));
  if (!result.folder_.open() && errno == ENOENT && !make) return refuse("not compiled yet");
  struct stat facts {
  }, above{};
  if (!parent.open() || !result.folder_.open() || ::fstat(result.folder_.get(), &facts) != 0 ||
      ::fstat(parent.get(), &above) != 0)
    return refuse("the folder " + folder.string() + " cannot be opened: " + std::strerror(errno));
  if (!is_ours_alone(facts))
    return refuse("the folder " + folder.string() + " is not this user's alone: others could put code there");
  if (!may_hold(above))
    return refuse("others may write where the folder " + folder.string() + " lies, and could replace it");
  return result;
}

std::optional<std::vector<std::byte>> PrivateFolder::read(const std::string& name) const {
  const Descriptor file(
      ::openat(folder_.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file.open() && errno == ENOENT) return std::nullopt;
  struct stat facts {};
  const bool good = file.open() && ::fstat(file.get(), &facts) == 0 && S_ISREG(facts.st_mode) &&
                    is_ours_alone(facts) && static_cast<std::size_t>(facts.st_size) <= kLargest;
  if (!good) {
    remove(name);
    return std::nullopt;
  }
  ::futimens(file.get(), nullptr);  // used now: the last to go
  return read_all(file.get(), static_cast<std::size_t>(facts.st_size));
}

bool PrivateFolder::write(const std::string& name,
                          std::initializer_list<std::span<const std::byte>> parts) const {
  const auto temporary = temporary_name();
  Descriptor file(
      ::openat(folder_.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!file.open()) return false;
  bool good = std::ranges::all_of(parts, [&](auto part) { return write_all(file.get(), part); });
  good = good && ::fsync(file.get()) == 0;
  good = file.close() && good;
  good = good && ::renameat(folder_.get(), temporary.c_str(), folder_.get(), name.c_str()) == 0;
  if (!good) remove(temporary);
  return good;
}

void PrivateFolder::remove(const std::string& name) const {
  ::unlinkat(folder_.get(), name.c_str(), 0);
}

void PrivateFolder::trim(std::size_t most_bytes) const {
  struct Entry {
    std::filesystem::file_time_type time;
    std::size_t bytes;
    std::string name;
  };
  std::vector<Entry> entries;
  std::size_t bytes = 0;
  std::error_code failed;
  for (const auto& one : std::filesystem::directory_iterator(path_, failed)) {
    std::error_code gone;  // by another process
    const auto time = one.last_write_time(gone);
    const auto name = one.path().filename().string();
    const bool old = !gone && std::filesystem::file_time_type::clock::now() - time > kLeftBehind;
    if (one.is_directory(gone)) {
      if (old) std::filesystem::remove_all(one.path(), gone);
    } else if (name.starts_with(kHalfMade)) {
      if (old) remove(name);
    } else if (const auto size = one.file_size(gone); !gone) {
      entries.push_back({time, size, name});
      bytes += size;
    }
  }
  std::ranges::sort(entries, {}, &Entry::time);
  for (const auto& one : entries) {
    if (bytes <= most_bytes) break;
    remove(one.name);
    bytes -= one.bytes;
  }
}

Descriptor sealed_memory(std::span<const std::byte> bytes) {
  Descriptor file(::memfd_create("widebench-kernel", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.open() || !write_all(file.get(), bytes)) return Descriptor();
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) return Descriptor();
  return file;
}

}  // namespace wide::native
