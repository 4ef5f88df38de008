#pragma once
// The worker's side of a sweep: how a case comes in and its record goes out. The parent's side is sweep.h.

#include <functional>
#include <string_view>

#include "presets/case.h"
#include "results/record.h"

namespace wide::presets {

inline constexpr int kResultDescriptor = 3;   ///< where a worker writes its record, as one JSON document
inline constexpr int kExitOutOfMemory = 112;  ///< a worker's exit code when memory ran out

/// Whether an error is that memory ran out. libtorch reports a failed allocation as an error like any other:
/// its words tell.
bool tells_of_memory(std::string_view message);

/// Does all a worker process does: ties its life to the parent's, reads the spec from standard input, sets
/// the memory limit, runs `measure`, writes the record. Returns the exit code: 0 whenever a record was
/// written, also one with the verdict error. wide::Error and std::exception from `measure` become such a
/// record, std::bad_alloc the verdict oom. `measure` fills in all but the naming fields, which are set before
/// it is called.
int run_worker(const std::function<void(const CaseSpec&, results::CaseRecord&)>& measure);

}  // namespace wide::presets
