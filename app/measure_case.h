#pragma once
// One case in a worker process: build the subject, prove it, measure it beside its rivals.

#include "app/pass_checks.h"
#include "presets/case.h"
#include "results/record.h"

namespace wide::app {

/// Another pass in the place of the model's own, from the end of the proof on: tests plant faults by it.
using Plant = std::function<WidePass(WideModel& model, WidePass own)>;

struct MeasureOptions {
  bool plans_anew = false;  ///< by times that are taken now, and not by those that the cost book knows
  Plant plant = {};         ///< empty: none
};

/// Fills in all of `record` but the fields that name it. A mode, device or strategy that is not there gives
/// the verdict skipped with the reason; wrong numbers, before, while or after they are timed, give fail; a
/// time that this machine cannot reach gives error. Throws wide::Error for a subject or model that cannot be
/// loaded, std::bad_alloc when memory runs out.
void measure_case(const presets::CaseSpec& spec, const MeasureOptions& options, results::CaseRecord& record);

}  // namespace wide::app
