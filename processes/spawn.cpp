#include "processes/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "formats/error.h"

namespace wide::processes {
namespace {

[[noreturn]] void fail(const std::string& what, int error) {
  const bool files = error == EMFILE || error == ENFILE;
  throw Error("process",
              what + ": " + std::strerror(error) + "; " +
                  (files ? "allow more open files (`ulimit -n`)" : "free some memory or processes") +
                  " and try again");
}

Descriptor raised(const Descriptor& low) {
  constexpr int kLeast = 16;
  const int number = ::fcntl(low.get(), F_DUPFD_CLOEXEC, kLeast);
  if (number < 0)  // EINVAL: so high a number is never given
    fail("cannot open a pipe to a process", errno == EINVAL ? EMFILE : errno);
  return Descriptor(number);
}

// As exec takes them.
std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const auto& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t none, all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(&attributes,
                               POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~SpawnSettings() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&actions);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

}  // namespace

Pipe make_pipe() {
  int numbers[2];
  if (::pipe2(numbers, O_CLOEXEC) != 0) fail("cannot open a pipe to a process", errno);
  const Descriptor read(numbers[0]), write(numbers[1]);
  Pipe pipe{raised(read), raised(write)};
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

Descriptor input_file(const std::string& text) {
  const Descriptor file(::memfd_create("widebench-case", MFD_CLOEXEC));
  if (!file.open()) fail("cannot make a process's input", errno);
  for (std::size_t done = 0; done < text.size();) {
    const auto wrote = ::write(file.get(), text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) fail("cannot write a process's input", errno);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return raised(file);
}

pid_t spawn(const std::vector<std::string>& argv, const std::map<int, const Descriptor*>& given,
            const std::vector<std::string>* environment) {
  SpawnSettings settings;
  for (const auto& [number, descriptor] : given)
    ::posix_spawn_file_actions_adddup2(&settings.actions, descriptor->get(), number);
  auto arguments = pointers(argv);
  auto variables = environment != nullptr ? pointers(*environment) : std::vector<char*>();
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, arguments[0], &settings.actions, &settings.attributes,
                                  arguments.data(), environment != nullptr ? variables.data() : environ);
  if (error != 0) fail("cannot start " + argv.at(0), error);
  return pid;
}

}  // namespace wide::processes
