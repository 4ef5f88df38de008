#include "processes/process.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>

#include "processes/spawn.h"

namespace wide::processes {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestResult = std::size_t{256} << 20;
constexpr std::size_t kLongestErrors = 8192;
constexpr int kTickMilliseconds = 100;

// What a tick counts at most towards the timeout: a process that was itself stopped meanwhile (Ctrl-Z, a
// debugger) gave its child no time.
constexpr double kLongestTick = 0.5;

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

// Just after the start: nothing that takes long has happened yet, and what it starts itself inherits them.
void limit(pid_t pid, const ProcessLimits& limits) {
  const auto set = [&](__rlimit_resource what, std::size_t most) {
    const rlimit bound{most, most};
    if (most > 0) ::prlimit(pid, what, &bound, nullptr);
  };
  set(RLIMIT_AS, limits.memory);
  set(RLIMIT_FSIZE, limits.file);
  set(RLIMIT_CPU, static_cast<std::size_t>(limits.seconds));
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

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  const char* text = ::sigdescr_np(signal);
  if (name == nullptr || text == nullptr) return "signal " + std::to_string(signal);
  return std::string("SIG") + name + " (" + text + ")";
}

ProcessOutcome run_process(const ProcessTask& task) {
  const auto start = Clock::now();
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  auto result = make_pipe(), errors = make_pipe();
  const auto input = input_file(task.input);
  const pid_t pid = spawn(task.argv,
                          {{STDIN_FILENO, &input},
                           {STDOUT_FILENO, &errors.write},
                           {STDERR_FILENO, &errors.write},
                           {task.result_descriptor, &result.write}},
                          task.environment ? &*task.environment : nullptr);
  limit(pid, task.limits);
  result.write.close();
  errors.write.close();
  Streams streams{std::move(result.read), std::move(errors.read)};
  ProcessOutcome outcome;
  double told = 0, given = 0, last = 0;
  while (!has_ended(pid)) {
    if (task.stop != nullptr && task.stop->load() != 0) outcome.end = ProcessEnd::kStopped;
    const double now = elapsed();
    given += std::min(now - last, kLongestTick);
    last = now;
    if (given > task.timeout_seconds) outcome.end = ProcessEnd::kTimedOut;
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

}  // namespace wide::processes
