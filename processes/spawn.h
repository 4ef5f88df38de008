#pragma once
// Starts a program: what process.h and others that talk to a child stand on.

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "formats/descriptor.h"

namespace wide::processes {

/// Reading does not wait (O_NONBLOCK). Both ends lie above the numbers that a child is given, so that no
/// dup2 there overwrites one still needed.
struct Pipe {
  Descriptor read, write;
};

/// Throws wide::Error ("process").
Pipe make_pipe();

/// A file in memory that holds `text`, at its begin: a standard input that never fills up and raises no
/// SIGPIPE. Throws wide::Error ("process").
Descriptor input_file(const std::string& text);

/// Starts argv[0] (a path, not searched for) in a process group of its own, with no signal blocked or
/// ignored. `given`: the number in the child of each descriptor that it gets. `environment`: "NAME=value",
/// null: ours. Throws wide::Error ("process").
pid_t spawn(const std::vector<std::string>& argv, const std::map<int, const Descriptor*>& given,
            const std::vector<std::string>* environment = nullptr);

}  // namespace wide::processes
