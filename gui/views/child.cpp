#include "gui/views/child.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>

#include "processes/spawn.h"

namespace wide::gui {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLongestErrors = 8192, kLongestLine = 65536;
constexpr int kTickMilliseconds = 100;

// Cuts what comes into lines; "\r" ends one too.
class Lines {
 public:
  Lines(const ChildTask& task, ChildEnd& end) : task_(task), end_(end) {}
  void add(std::string_view bytes) {
    end_.errors.append(bytes);
    if (end_.errors.size() > 2 * kLongestErrors) end_.errors.erase(0, end_.errors.size() - kLongestErrors);
    for (const char c : bytes) {
      if (c != '\n' && c != '\r' && line_.size() < kLongestLine) {
        line_.push_back(c);
      } else {
        finish();
      }
    }
  }
  void finish() {
    if (!line_.empty() && task_.line) task_.line(line_);
    line_.clear();
  }

 private:
  const ChildTask& task_;
  ChildEnd& end_;
  std::string line_;
};

// Reads what is there. False at the end.
template <typename Take>
bool drain(const Descriptor& from, const Take& take) {
  std::array<char, 16384> buffer;
  for (;;) {
    const auto got = ::read(from.get(), buffer.data(), buffer.size());
    if (got > 0) {
      take(std::string_view(buffer.data(), static_cast<std::size_t>(got)));
    } else if (got == 0) {
      return false;
    } else if (errno != EINTR) {
      return errno == EAGAIN;
    }
  }
}

int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

// Asks the child to end, and makes it end where it does not. At most one signal of each kind.
class Ending {
 public:
  Ending(const ChildTask& task, pid_t pid) : task_(task), pid_(pid) {}
  bool asked() const { return stage_ > 0; }
  void tick() {
    if (stage_ == 0 && task_.cancelled && task_.cancelled()) {
      ::kill(pid_, SIGINT);  // itself alone: it ends its workers, stores and says so
      since_ = Clock::now(), stage_ = 1;
    }
    if (stage_ == 1 && std::chrono::duration<double>(Clock::now() - since_).count() > task_.grace_seconds) {
      ::kill(-pid_, SIGKILL);
      stage_ = 2;
    }
  }

 private:
  const ChildTask& task_;
  pid_t pid_;
  Clock::time_point since_;
  int stage_ = 0;
};

}  // namespace

ChildEnd run_child(const ChildTask& task) {
  auto output = processes::make_pipe(), errors = processes::make_pipe();
  ChildEnd end;
  const auto input = processes::input_file("");
  const auto pid = processes::spawn(
      task.argv, {{STDIN_FILENO, &input}, {STDOUT_FILENO, &output.write}, {STDERR_FILENO, &errors.write}});
  output.write.close(), errors.write.close();
  Ending ending(task, pid);
  Lines lines(task, end);
  const auto take_output = [&](std::string_view bytes) {
    end.output.append(
        bytes.substr(0, task.longest_output - std::min(task.longest_output, end.output.size())));
  };
  int status = 0;
  for (bool exited = false; !exited;) {
    std::array<pollfd, 2> polled = {{{output.read.get(), POLLIN, 0}, {errors.read.get(), POLLIN, 0}}};
    ::poll(polled.data(), polled.size(), kTickMilliseconds);
    // A grandchild may hold the pipes open: what decides is the child's own end.
    exited = ::waitpid(pid, &status, WNOHANG) == pid;
    if (output.read.open() && !drain(output.read, take_output)) output.read.close();
    if (errors.read.open() && !drain(errors.read, [&](std::string_view bytes) { lines.add(bytes); }))
      errors.read.close();
    if (!exited) ending.tick();
  }
  lines.finish();
  ::kill(-pid, SIGKILL);  // workers that were left behind
  end.code = exit_code(status);
  end.cancelled = ending.asked();
  if (end.errors.size() > kLongestErrors) end.errors.erase(0, end.errors.size() - kLongestErrors);
  return end;
}

std::string complaint(const ChildEnd& end) {
  constexpr std::size_t kFewLines = 5;
  std::vector<std::string> lines = {""};
  for (const char c : end.errors) {
    if (c == '\n' || c == '\r') {
      if (!lines.back().empty()) lines.emplace_back();
    } else {
      lines.back().push_back(c);
    }
  }
  if (lines.back().empty()) lines.pop_back();
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (line->starts_with("error: ")) return line->substr(7);
  }
  std::string text;
  for (auto i = lines.size() > kFewLines ? lines.size() - kFewLines : 0; i < lines.size(); ++i)
    text.append(text.empty() ? "" : "\n").append(lines[i]);
  if (!text.empty()) return text;
  return "it ended with code " + std::to_string(end.code) + " and said nothing";
}

}  // namespace wide::gui
