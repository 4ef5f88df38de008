#pragma once
// What the program needs to know of the engine behind it. main fills it from libtorch and core; tests fill in
// fakes. The parent process of a sweep asks these questions only: cases run in workers.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace wide::app {

/// Something that `benchmark` and `test` can name.
struct SubjectInfo {
  std::string name;
  std::string kind;                                      ///< "primitive", "block" or "zoo"
  std::string summary;                                   ///< one line
  std::vector<std::string> strategies = {"sequential"};  ///< what `-s all` measures, "auto" aside
  struct Range {
    std::int64_t least, most;
  };
  std::map<std::string, Range> sizes;  ///< by name
};

struct PrimitiveInfo {
  std::string name;                     ///< operator: "aten.linear.default"
  std::vector<std::string> strategies;  ///< in the planner's order
};

struct DeviceInfo {
  std::string name;         ///< "cpu" or "cuda"
  std::string description;  ///< model name; may be empty
  bool usable = true;
  std::string reason;  ///< why not usable, and the remedy; empty when usable
};

struct CacheInfo {
  std::string name;
  std::string path;
};

/// Every function may be called at any time and does not throw. Each answers within 0.1 s, but for the first
/// that asks for devices where there is a GPU: it loads what runs models there.
struct Engine {
  std::string version;     ///< of this program
  std::string git_commit;  ///< of the build, "-dirty" after changes; without git "sources-" and a digest
  std::function<std::vector<SubjectInfo>()> subjects;
  std::function<std::vector<PrimitiveInfo>()> primitives;
  std::function<std::vector<DeviceInfo>()> devices;  ///< "cpu" is always among them
  std::function<std::map<std::string, std::string>()>
      libraries;  ///< name to version, as far as results depend on it
  std::function<std::vector<CacheInfo>()> caches;
};

/// The engine of this program, defined beside libtorch in engine.cpp.
Engine engine();

}  // namespace wide::app
