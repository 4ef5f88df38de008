#pragma once
// The rival "apart": each member as a program of its own, by the same kernels, planner and mode as wide. What
// wide gains over it is gained by width; what it gains over eager, by kernels.

#include <memory>
#include <span>
#include <vector>

#include "app/fresh_inputs.h"
#include "core/model/wide_model.h"
#include "profiler/measure.h"
#include "results/record.h"

namespace wide::app {

/// N models of one member, built once; the first one's plan is that of all.
class ApartModels {
 public:
  /// Throws wide::Error ("plan") where the planner refuses. `slots` as in SeparateRuns.
  ApartModels(const WideModel& model, std::span<const ModelInput> inputs, std::size_t slots);

  /// Each model against its member's own run.
  results::Check check(std::span<const ModelInput> inputs);
  /// One after the other; a call holds the outputs of all when it ends. Every run has new inputs. Neither
  /// this nor `fresh` may end before it.
  profiler::Contender contender(FreshInputs& fresh);

 private:
  void set_inputs(std::size_t slot, std::span<const ModelInput> inputs);

  std::vector<std::unique_ptr<WideModel>> models_;
  std::vector<std::vector<std::vector<ModelInput>>> slots_;  ///< [slot][member][input]
  std::size_t slot_ = 0;
};

}  // namespace wide::app
