#include "app/peer_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "app/exit_code.h"
#include "formats/document.h"
#include "formats/fault.h"
#include "processes/process.h"
#include "results/table.h"

namespace wide::app {
namespace {

constexpr std::size_t kLongestAnswer = std::size_t{64} << 20;
constexpr double kCheckSeconds = 300;  // a first import of torch from a slow disk takes minutes

std::filesystem::path on_path(const std::string& program) {
  const char* variable = std::getenv("PATH");
  const std::string folders = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  for (std::size_t begin = 0; begin <= folders.size();) {
    const auto end = std::min(folders.find(':', begin), folders.size());
    const auto file = std::filesystem::path(folders.substr(begin, end - begin)) / program;
    if (file.is_absolute() && ::access(file.c_str(), X_OK) == 0) return file;
    begin = end + 1;
  }
  return {};
}

std::filesystem::path find_python() {
  const char* given = std::getenv("WIDEBENCH_PYTHON");
  if (given != nullptr && *given != '\0') {
    if (::access(given, X_OK) == 0) return std::filesystem::absolute(given);
    throw CannotMeasure("peers", "WIDEBENCH_PYTHON names " + std::string(given) +
                                     ", which is no program; give the path of a Python that has torch");
  }
  auto python = on_path("python3");
  if (python.empty()) {
    throw CannotMeasure("peers",
                        "no python3 was found; set WIDEBENCH_PYTHON to the path of a Python that has torch");
  }
  return python;
}

std::filesystem::path find_script() {
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  for (const auto& file : {program.parent_path().parent_path() / "share/widebench/peers.py",
                           std::filesystem::path(WIDEBENCH_SOURCE_PEERS)}) {
    if (std::filesystem::is_regular_file(file, failed)) return file;
  }
  throw CannotMeasure("peers", std::string(WIDEBENCH_SOURCE_PEERS) +
                                   ": no such file; install the program again with cmake --install");
}

[[noreturn]] void fail(const std::string& what, int error) {
  throw Error("peers", what + ": " + std::strerror(error));
}

pid_t spawn(const std::vector<std::string>& arguments, int socket) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, socket, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, socket, STDOUT_FILENO);
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail("cannot start " + arguments[0], error);
  return pid;
}

/// `status`: as waitpid gives it; left alone when the process is not there any more.
bool reaped_within(pid_t pid, std::chrono::milliseconds limit, int* status = nullptr) {
  for (const auto start = std::chrono::steady_clock::now();
       std::chrono::steady_clock::now() - start < limit;) {
    const auto got = ::waitpid(pid, status, WNOHANG);
    if (got == pid || (got < 0 && errno != EINTR)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

/// Why the check did not succeed.
std::string failure(const processes::ProcessOutcome& outcome) {
  const auto end = outcome.errors.find_last_not_of("\r\n");
  const auto begin = end == outcome.errors.npos ? 0 : outcome.errors.find_last_of('\n', end) + 1;
  const auto last_line = results::printable(outcome.errors.substr(begin, end + 1 - begin), 300);
  switch (outcome.end) {
    case processes::ProcessEnd::kSignalled:
      return "it was killed by " + processes::signal_name(outcome.code);
    case processes::ProcessEnd::kTimedOut:
      return "it gave no answer within " + std::to_string(static_cast<int>(kCheckSeconds)) + " s";
    default:
      return last_line.empty() ? "it ended with code " + std::to_string(outcome.code) : last_line;
  }
}

}  // namespace

std::vector<std::string> peer_command() {
  return {find_python().string(), find_script().string()};
}

void check_peers(const std::string& device) {
  auto command = peer_command();
  command.insert(command.end(), {"--check", device});
  const auto outcome = processes::run_process({.argv = command, .timeout_seconds = kCheckSeconds});
  if (outcome.end == processes::ProcessEnd::kExited && outcome.code == 0) return;
  throw CannotMeasure("peers", "the Python rivals cannot run in " + command[0] + ": " + failure(outcome) +
                                   "; scripts/setup --profile full installs a Python torch, or set "
                                   "WIDEBENCH_PYTHON to the path of a Python that has torch and safetensors");
}

PeerProcess::PeerProcess(const std::vector<std::string>& argv) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    fail("cannot make a socket for the Python rivals", errno);
  socket_ = sockets[0];
  try {
    pid_ = spawn(argv, sockets[1]);
  } catch (...) {
    ::close(sockets[0]);
    ::close(sockets[1]);
    throw;
  }
  ::close(sockets[1]);
}

PeerProcess::~PeerProcess() {
  constexpr std::chrono::milliseconds kGrace(2000);
  const std::string stop = "{\"do\": \"stop\"}\n";
  (void)!::send(socket_, stop.data(), stop.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(socket_, SHUT_WR);
  if (pid_ > 0 && !reaped_within(pid_, kGrace)) {
    ::kill(pid_, SIGKILL);
    reaped_within(pid_, kGrace);
  }
  ::close(socket_);
}

std::string PeerProcess::ending() {
  int status = 0;
  if (pid_ > 0 && reaped_within(pid_, std::chrono::milliseconds(500), &status)) {
    pid_ = -1;
    ended_ = WIFSIGNALED(status) ? "was killed by " + processes::signal_name(WTERMSIG(status))
                                 : "has ended with code " + std::to_string(WEXITSTATUS(status));
  }
  return ended_;
}

void PeerProcess::send(const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const auto sent = ::send(socket_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) throw Error("peers", "the process of the Python rivals " + ending());
    if (sent > 0) done += static_cast<std::size_t>(sent);
  }
}

std::string PeerProcess::receive_line() {
  for (;;) {
    if (const auto newline = received_.find('\n'); newline != received_.npos) {
      auto line = received_.substr(0, newline);
      received_.erase(0, newline + 1);
      return line;
    }
    if (received_.size() > kLongestAnswer)
      throw Error("peers", "an answer of the Python rivals is longer than 64 MiB");
    char buffer[65536];
    const auto got = ::recv(socket_, buffer, sizeof buffer, 0);
    const bool gone = got == 0 || (got < 0 && errno == ECONNRESET);  // reset: it had not read all
    if (gone) throw Error("peers", "the process of the Python rivals " + ending());
    if (got < 0 && errno != EINTR) fail("the process of the Python rivals cannot be read", errno);
    if (got > 0) received_.append(buffer, static_cast<std::size_t>(got));
  }
}

nlohmann::json PeerProcess::ask(const nlohmann::json& request) {
  send(request.dump() + "\n");
  const auto line = receive_line();
  nlohmann::json answer;
  try {
    answer = formats::parse_document(line);
  } catch (const formats::Fault&) {
    answer = nullptr;  // told below, with what was given
  }
  if (!answer.is_object()) {
    throw Error("peers", "the Python rivals gave no JSON object: " + results::printable(line, 100));
  }
  if (const auto error = answer.find("error"); error != answer.end())
    throw Error("peers", error->is_string() ? error->get<std::string>() : error->dump());
  return answer;
}

}  // namespace wide::app
