#pragma once
// One process measures a run: the mark that it is at it.

#include <cstdint>
#include <filesystem>
#include <string>

#include "formats/descriptor.h"
#include "results/record.h"
#include "results/store.h"

namespace wide::app {

/// Held while a run is measured. The lock is the system's (flock), so that it goes with the process however
/// that ends; the file that it is on, DATABASE.run-N.lock, goes with the object.
class RunLock {
 public:
  /// Throws wide::Error ("runs") naming the process that measures the run already, or saying why the file
  /// cannot be made.
  RunLock(const std::filesystem::path& database, std::int64_t run);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  std::filesystem::path path_;
  Descriptor file_;
};

/// How a run stands that is stored as `stored`: one that is running, and that no process measures, was
/// killed, which is kInterrupted.
results::RunStatus status_now(const std::filesystem::path& database, std::int64_t run,
                              results::RunStatus stored);
/// The same, also of one that began or ended while it was read.
results::RunStatus status_now(const results::Store& store, std::int64_t run, results::RunStatus stored);

}  // namespace wide::app
