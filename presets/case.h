#pragma once
// One case of a sweep: what a worker process is asked to build, prove and measure.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/measure.h"

namespace wide::presets {

/// A case is all that a worker must know, and nothing of the machine: it can be stored and run again.
struct CaseSpec {
  std::string subject;                        ///< name of a built-in subject, or the user's name of a model
  std::string kind;                           ///< "primitive", "block", "zoo" or "model"
  std::int64_t n = 1;                         ///< members, >= 1
  std::map<std::string, std::int64_t> shape;  ///< named sizes, e.g. batch and channels; see presets/README.md
  std::string dtype = "float32";              ///< "float32", "float64", "float16" or "bfloat16"
  std::string device = "cpu";                 ///< "cpu", "cuda", or "auto" until the sweep has settled it
  std::string mode = "eager";                 ///< "eager", "default", "reduce-overhead" or "max-autotune"
  std::string strategy = "auto";              ///< "auto" or the name of a strategy
  std::vector<std::string> rivals = {"eager", "threads"};  ///< measured beside wide, in the same rounds
  profiler::StoppingRule stopping;
  std::uint64_t seed = 0;            ///< of weights, inputs and the order of contenders
  int threads = 0;                   ///< CPU threads; 0: as many as the library takes
  std::string model;                 ///< kind "model": path of the .pt2; otherwise empty
  std::vector<std::string> weights;  ///< kind "model": safetensors, one per member; empty: those of the .pt2
  std::string
      inputs;  ///< kind "model": safetensors to take inputs from; empty: those of `expect`, else made up
  std::string expect;  ///< kind "model": safetensors with the outputs that another program had; empty: none

  bool operator==(const CaseSpec& other) const;

  /// Names the case within a run, in one line without blanks: the same case has the same key in every run.
  /// Subject, n, shape, dtype, device, mode and strategy are in it; seed and stopping rule are not.
  std::string key() const;
};

/// True when a rival is run by scripts/peers.py.
bool has_python_rivals(const CaseSpec& spec);

nlohmann::json to_json(const CaseSpec& spec);

/// Reads what to_json wrote. Throws wide::Error ("preset") naming `where` and the JSON path of an unknown
/// key, a missing key or a bad value.
CaseSpec spec_from_json(const nlohmann::json& json, std::string_view where);

}  // namespace wide::presets
