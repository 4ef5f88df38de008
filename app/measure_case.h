#pragma once
// One case in a worker process: build the subject, prove it, measure it beside its rivals.

#include "presets/case.h"
#include "results/record.h"

namespace wide::app {

/// Fills in all of `record` but the fields that name it. A mode, device or strategy that is not there gives
/// the verdict skipped with the reason; wrong numbers give fail, and nothing is measured. Throws wide::Error
/// for a subject or model that cannot be loaded, std::bad_alloc when memory runs out.
void measure_case(const presets::CaseSpec& spec, results::CaseRecord& record);

}  // namespace wide::app
