#pragma once
// What was read out of traces, as JSON. Times in microseconds per pass unless a key says otherwise.

#include <nlohmann/json_fwd.hpp>
#include <span>

#include "profiler/trace/activity.h"
#include "profiler/trace/comparison.h"
#include "profiler/trace/kernels.h"
#include "profiler/trace/roofline.h"

namespace wide::profiler {

nlohmann::json to_json(const Completeness& badge);
nlohmann::json to_json(const Activity& activity);
nlohmann::json to_json(const MemoryUse& use);
nlohmann::json to_json(const GainSplit& gain);
nlohmann::json to_json(std::span<const KernelRow> rows);
nlohmann::json to_json(std::span<const DiffRow> rows);
nlohmann::json to_json(const Comparison& comparison);
nlohmann::json to_json(std::span<const NodeTime> times, const Trace& trace);
nlohmann::json to_json(const Roofline& roofline, const Trace& trace);

}  // namespace wide::profiler
