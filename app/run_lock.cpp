#include "app/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "formats/error.h"

namespace wide::app {
namespace {

std::string process_in(int file) {
  std::array<char, 32> text{};
  const auto length = ::pread(file, text.data(), text.size(), 0);
  const std::string number(text.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
  const bool known = !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
  return known ? "process " + number : "another process";
}

// Beside the database itself, whatever links lead to it.
std::filesystem::path lock_file(const std::filesystem::path& database, std::int64_t run) {
  std::error_code none;
  auto file = std::filesystem::weakly_canonical(database, none);
  if (none) file = database;
  return file += ".run-" + std::to_string(run) + ".lock";
}

// For a moment somebody may look whether it is held: status_now().
bool take(int file) {
  constexpr int kTries = 5, kBetween = 2000;  // microseconds
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) ::usleep(kBetween);
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return true;
    if (errno != EWOULDBLOCK) return false;
  }
  errno = EWOULDBLOCK;
  return false;
}

/// Whoever held the lock before may have removed the file since it was opened.
bool is_still_there(int file, const std::filesystem::path& path) {
  using Status = struct stat;
  Status opened{}, named{};
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

}  // namespace

RunLock::RunLock(const std::filesystem::path& database, std::int64_t run) : path_(lock_file(database, run)) {
  for (;;) {
    // Workers must not inherit it: it would outlive this process with them.
    file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (!file_.open()) throw Error("runs", path_.string() + " cannot be made: " + std::strerror(errno));
    if (!take(file_.get())) {
      const auto who = errno == EWOULDBLOCK ? process_in(file_.get()) : std::string(std::strerror(errno));
      throw Error("runs", "run " + std::to_string(run) + " is being measured by " + who +
                              "; wait until that has ended, or stop it");
    }
    if (is_still_there(file_.get(), path_)) break;
  }
  // For the message above; without it, that names no process.
  const auto number = std::to_string(::getpid());
  [[maybe_unused]] const bool told =
      ::ftruncate(file_.get(), 0) == 0 && ::pwrite(file_.get(), number.data(), number.size(), 0) > 0;
}

RunLock::~RunLock() {
  ::unlink(path_.c_str());
}

results::RunStatus status_now(const std::filesystem::path& database, std::int64_t run,
                              results::RunStatus stored) {
  if (stored != results::RunStatus::kRunning) return stored;
  const Descriptor file(::open(lock_file(database, run).c_str(), O_RDONLY | O_CLOEXEC));
  const bool alone = file.open() ? ::flock(file.get(), LOCK_SH | LOCK_NB) == 0 : errno == ENOENT;
  return alone ? results::RunStatus::kInterrupted : stored;
}

results::RunStatus status_now(const results::Store& store, std::int64_t run, results::RunStatus stored) {
  constexpr int kMoment = 50'000;  // microseconds between a run's row and its lock
  if (status_now(store.path(), run, stored) == stored) return stored;
  ::usleep(kMoment);
  return status_now(store.path(), run, store.run(run).status);
}

}  // namespace wide::app
