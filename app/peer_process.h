#pragma once
// The process that runs the Python rivals, and the line protocol with it. scripts/peers.py says what it
// understands.

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace wide::app {

/// Python and the script, as an argument vector: $WIDEBENCH_PYTHON, else the python3 of $PATH; peers.py
/// beside the installed program, else in the source tree. Throws CannotMeasure naming what is not there.
std::vector<std::string> peer_command();

/// Throws CannotMeasure with the reason and the remedy where that Python cannot import torch, or torch cannot
/// use the device, "cpu" or "cuda". Takes seconds.
void check_peers(const std::string& device);

/// A running peer. Requests and answers are JSON objects, one a line, over a socket: a peer that died is an
/// error here, never a signal.
class PeerProcess {
 public:
  /// `argv[0]` is a path. The peer stays in this process' group, so that whoever kills the group kills it.
  /// Throws wide::Error ("peers") when it cannot be started.
  explicit PeerProcess(const std::vector<std::string>& argv);
  /// Asks it to stop and ends it when it does not.
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  /// Waits for the answer without a limit: the time limit of a case is its worker's. Throws wide::Error
  /// ("peers") when the peer is gone, answers no JSON object, or answers {"error": TEXT}.
  nlohmann::json ask(const nlohmann::json& request);

 private:
  void send(const std::string& text);
  std::string receive_line();
  /// How the peer, which answers no more, came to its end; reaps it.
  std::string ending();
  pid_t pid_ = -1;
  int socket_ = -1;
  std::string ended_ = "has closed its socket";  ///< until it was reaped
  std::string received_;                         ///< beyond the last line
};

}  // namespace wide::app
