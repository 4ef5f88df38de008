#pragma once
// Runs one program in a process group of its own, with a time limit, and collects what it writes.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace wide::processes {

/// What a program and all that it starts may use; 0: as much as we may.
struct ProcessLimits {
  std::size_t memory = 0, file = 0;  ///< bytes of address space of each process, and of each file written
  int seconds = 0;                   ///< of processor time, of each process
};

struct ProcessTask {
  std::vector<std::string> argv;  ///< program (a path, not searched for) and arguments
  std::string input;              ///< its standard input
  int result_descriptor = 3;      ///< open for writing in the program; what it writes there is `result`
  double timeout_seconds = 60;    ///< then the whole group is killed
  const std::atomic<int>* stop = nullptr;                    ///< not 0: the whole group is killed
  std::optional<std::vector<std::string>> environment = {};  ///< "NAME=value"; ours where none is given
  ProcessLimits limits = {};
  std::function<void()> waiting;  ///< called about ten times a second; may be empty
};

enum class ProcessEnd : std::uint8_t { kExited, kSignalled, kTimedOut, kStopped, kFlooded, kUnkillable };

struct ProcessOutcome {
  ProcessEnd end = ProcessEnd::kExited;
  int code = 0;        ///< exit code, or the signal's number for kSignalled
  std::string result;  ///< kFlooded: it was longer than 256 MiB, and the program was killed
  std::string errors;  ///< the last 8 KiB of standard output and error together
  double seconds = 0;
};

/// "SIGSEGV (Segmentation fault)".
std::string signal_name(int signal);

/// Throws wide::Error ("process") when the program cannot be started.
ProcessOutcome run_process(const ProcessTask& task);

}  // namespace wide::processes
