#include "presets/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "formats/error.h"

namespace wide::presets {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestResult = std::size_t{256} << 20;
constexpr std::size_t kLongestErrors = 8192;
constexpr int kTickMilliseconds = 100;

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error("sweep", what + ": " + std::strerror(error) + "; free some memory or processes and try again");
}

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void close() {
    if (open()) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

// Out of the way of the numbers that the child gets, so that no dup2 there overwrites one still needed.
Descriptor raised(Descriptor low) {
  constexpr int kLeast = 16;
  const int fd = ::fcntl(low.get(), F_DUPFD_CLOEXEC, kLeast);
  if (fd < 0) fail("cannot open a pipe to a worker", errno);
  return Descriptor(fd);
}

struct Pipe {
  Descriptor read, write;
};

Pipe make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) fail("cannot open a pipe to a worker", errno);
  Descriptor read(fds[0]), write(fds[1]);
  Pipe pipe{raised(std::move(read)), raised(std::move(write))};
  ::fcntl(pipe.read.get(), F_SETFL, O_NONBLOCK);
  return pipe;
}

// The input as a file in memory: no pipe that fills up, no SIGPIPE when the program does not read.
Descriptor input_file(const std::string& text) {
  Descriptor file(::memfd_create("widebench-case", MFD_CLOEXEC));
  if (!file.open()) fail("cannot make a worker's input", errno);
  for (std::size_t done = 0; done < text.size();) {
    const auto wrote = ::write(file.get(), text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) fail("cannot write a worker's input", errno);
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  ::lseek(file.get(), 0, SEEK_SET);
  return raised(std::move(file));
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
  void give(const Descriptor& from, int to) { ::posix_spawn_file_actions_adddup2(&actions, from.get(), to); }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

pid_t spawn(const ProcessTask& task, const Descriptor& errors, const Descriptor& result) {
  const auto input = input_file(task.input);
  SpawnSettings settings;
  settings.give(input, STDIN_FILENO);
  settings.give(errors, STDOUT_FILENO);
  settings.give(errors, STDERR_FILENO);
  settings.give(result, task.result_descriptor);
  std::vector<char*> argv;
  for (const auto& argument : task.argv) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error =
      ::posix_spawn(&pid, argv[0], &settings.actions, &settings.attributes, argv.data(), environ);
  if (error != 0) fail("cannot start the worker " + task.argv[0], error);
  return pid;
}

// Appends what can be read now; closes the descriptor at the end of the stream.
void drain(Descriptor& from, std::string& into, std::size_t limit) {
  char buffer[65536];
  while (from.open() && into.size() <= limit) {
    const auto got = ::read(from.get(), buffer, sizeof buffer);
    if (got > 0) {
      into.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      from.close();
    } else if (errno == EAGAIN) {
      return;
    }
  }
}

bool has_ended(pid_t pid) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == pid;
}

// A process in an uninterruptible call outlives SIGKILL: it is not waited for longer than this.
bool reap(pid_t pid, int& status) {
  constexpr auto kLongest = std::chrono::milliseconds(1500);
  for (const auto start = Clock::now(); Clock::now() - start < kLongest;) {
    const auto got = ::waitpid(pid, &status, WNOHANG);
    if (got == pid) return true;
    if (got < 0 && errno != EINTR) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

// Kills the group and takes the process off the table.
void finish(pid_t pid, ProcessOutcome& outcome) {
  ::kill(-pid, SIGKILL);  // before the leader is reaped, so that its number still stands for this group
  int status = 0;
  if (!reap(pid, status)) {
    if (outcome.end != ProcessEnd::kStopped) outcome.end = ProcessEnd::kUnkillable;
  } else if (outcome.end == ProcessEnd::kExited && WIFSIGNALED(status)) {
    outcome.end = ProcessEnd::kSignalled;
    outcome.code = WTERMSIG(status);
  } else if (outcome.end == ProcessEnd::kExited) {
    outcome.code = WEXITSTATUS(status);
  }
}

struct Streams {
  Descriptor result, errors;

  void wait() {
    pollfd fds[2] = {{result.get(), POLLIN, 0}, {errors.get(), POLLIN, 0}};  // poll leaves out closed ones
    const bool all_closed = !result.open() && !errors.open();
    ::poll(fds, 2, all_closed ? 1 : kTickMilliseconds);
  }
  void read(ProcessOutcome& outcome) {
    drain(result, outcome.result, kLongestResult);
    do {
      if (outcome.errors.size() > kLongestErrors)
        outcome.errors.erase(0, outcome.errors.size() - kLongestErrors);
      drain(errors, outcome.errors, kLongestErrors);
    } while (outcome.errors.size() > kLongestErrors);
  }
};

}  // namespace

ProcessOutcome run_process(const ProcessTask& task) {
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  auto result = make_pipe(), errors = make_pipe();
  const pid_t pid = spawn(task, errors.write, result.write);
  result.write.close();
  errors.write.close();
  Streams streams{std::move(result.read), std::move(errors.read)};
  ProcessOutcome outcome;
  double told = 0;
  while (!has_ended(pid)) {
    if (task.stop != nullptr && task.stop->load() != 0) outcome.end = ProcessEnd::kStopped;
    if (elapsed() > task.timeout_seconds) outcome.end = ProcessEnd::kTimedOut;
    if (outcome.result.size() > kLongestResult) outcome.end = ProcessEnd::kFlooded;
    if (outcome.end != ProcessEnd::kExited) break;
    streams.wait();
    streams.read(outcome);
    if (task.waiting && elapsed() - told > 0.1) {
      told = elapsed();
      task.waiting();
    }
  }
  finish(pid, outcome);
  streams.read(outcome);
  outcome.seconds = elapsed();
  return outcome;
}

}  // namespace wide::presets
