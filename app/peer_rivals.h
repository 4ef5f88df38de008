#pragma once
// The Python rivals of one case: the case as a folder, the process that runs it, contenders for its rounds.

#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "core/model/wide_model.h"
#include "presets/case.h"
#include "profiler/measure.h"

namespace wide::app {

/// The rivals of `spec` that scripts/peers.py runs.
std::vector<std::string> python_rivals(const presets::CaseSpec& spec);

/// Prepares once, which compiles and checks; then contenders can be asked for rounds.
class PeerRivals {
 public:
  /// Nothing is thrown for rivals that cannot run, not even when none can: report() has their reasons.
  PeerRivals(const presets::CaseSpec& spec, WideModel& model, std::span<const ModelInput> inputs);
  ~PeerRivals();
  PeerRivals(const PeerRivals&) = delete;
  PeerRivals& operator=(const PeerRivals&) = delete;

  /// Those that can run. They must not outlive this object, and throw wide::Error ("peers") when the process
  /// dies.
  std::vector<profiler::Contender> contenders() const;

  /// All of them: [{"name", "ok", "reason", "max_abs_err", "build_us", "first_run_us"}]. build_us is the
  /// compile time of the compiled ones.
  const nlohmann::json& report() const { return report_; }
  /// Marks all as failed for this reason: their process died in the middle.
  void give_up(const std::string& reason);

 private:
  struct Process;
  std::unique_ptr<Process> process_;
  nlohmann::json report_ = nlohmann::json::array();
};

}  // namespace wide::app
