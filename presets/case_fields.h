#pragma once
// The fields that a stored case and a preset file have in common, and their legal values.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "presets/case.h"
#include "presets/json_reader.h"

namespace wide::presets {

inline const std::vector<std::string> kKinds = {"primitive", "block", "zoo", "model"};
inline const std::vector<std::string> kDtypes = {"float32", "float64", "float16", "bfloat16"};
inline const std::vector<std::string> kDevices = {"auto", "cpu", "cuda"};
inline const std::vector<std::string> kModes = {"eager", "default", "reduce-overhead", "max-autotune"};
/// Those of scripts/peers.py.
inline const std::vector<std::string> kPythonRivals = {
    "python_eager", "python_compile", "python_vmap", "python_vmap_compile", "python_streams", "python_graph"};
inline const std::vector<std::string> kRivals = {"eager",          "apart",       "threads",
                                                 "streams",        "graph",       "python_eager",
                                                 "python_compile", "python_vmap", "python_vmap_compile",
                                                 "python_streams", "python_graph"};
/// On a GPU only.
inline const std::vector<std::string> kRivalsOfGpu = {"streams", "graph", "python_streams", "python_graph"};
inline constexpr std::int64_t kMostMembers = 65536;
inline constexpr std::int64_t kLargestSize = std::int64_t{1} << 40;
inline constexpr std::int64_t kMostThreads = 4096;

nlohmann::json to_json(const profiler::StoppingRule& rule);

/// Reads the keys that are there over `fallback`. Throws wide::Error on unknown keys and bad values.
profiler::StoppingRule read_stopping(JsonReader in, profiler::StoppingRule fallback);

/// A list of names out of `known`, none twice; an empty list is legal.
std::vector<std::string> read_names(const JsonReader& in, const std::vector<std::string>& known);

}  // namespace wide::presets
