#pragma once
// Work in child processes: other writers, other users, victims of kill -9.

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <functional>
#include <string>

namespace wide::results::test {

/// Runs `work` in a child and leaves there: 0 when it returned, 1 when it threw (the text goes to stderr).
inline pid_t start_child(const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    work();
  } catch (const std::exception& error) {
    const std::string text = std::string("child: ") + error.what() + "\n";
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(1);
  }
  ::_exit(0);
}

/// Waits; the exit code, or -1 when a signal ended it.
inline int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// What `work` returned in a child that cannot override file permissions (root becomes "nobody" there).
inline std::string as_plain_user(const std::function<std::string()>& work) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0) return "no pipe";
  const pid_t child = start_child([&] {
    if (::geteuid() == 0 && (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0))
      ::_exit(2);
    const std::string text = work();
    (void)!::write(ends[1], text.data(), text.size());
  });
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t got = 0; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), got);
  ::close(ends[0]);
  const int code = wait_for(child);
  return code == 0 ? text : "child ended with " + std::to_string(code);
}

}  // namespace wide::results::test
