#pragma once
// The sweep runner: every case in a worker process of its own, so that a crash, a hang or want of memory
// costs that case and not the sweep. See Note [Worker processes] in sweep.cpp.

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "presets/case.h"
#include "results/record.h"

namespace wide::presets {

struct SweepOptions {
  std::vector<std::string> worker = {"/proc/self/exe", "worker"};  ///< program and arguments; no shell
  double timeout_seconds = 60;           ///< per case, start of the worker to its end
  std::uint64_t memory_limit_bytes = 0;  ///< RLIMIT_AS of a worker; 0: none
  /// Set to a signal's number (any other than 0 will do) from a handler or thread: the sweep stops within 2
  /// s, the running case is given up. May be null.
  const std::atomic<int>* stop = nullptr;
};

/// Where a sweep reports to. All are called on the thread that runs the sweep; empty ones are left out.
struct Sink {
  /// A case's worker is about to start; `index` counts from 0 over the specs given.
  std::function<void(const CaseSpec&, std::size_t index)> starting;
  /// The case has its verdict. Store it here: when this returns, the case counts as done. What it throws ends
  /// the sweep and passes through.
  std::function<void(const CaseSpec&, const results::CaseRecord&, std::size_t index)> finished;
  /// Called about ten times a second while a worker runs, to move a progress bar.
  std::function<void()> waiting;
};

enum class SweepEnd : std::uint8_t { kDone, kStopped };

/// Runs the cases one after the other. Throws wide::Error ("sweep") when no worker can be started at all.
SweepEnd run_sweep(std::span<const CaseSpec> specs, const SweepOptions& options, const Sink& sink);

/// A record with the fields that name the case and nothing else.
results::CaseRecord record_of(const CaseSpec& spec);

}  // namespace wide::presets
