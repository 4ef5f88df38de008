#pragma once
// The part of a proof that holds each member against its own runs.

#include <map>

#include "core/prove/checks.h"
#include "core/prove/conditioning.h"
#include "core/prove/reference.h"

namespace wide {

/// What the separate runs give, compared while they are made: outputs with those of the member alone and with
/// float64, written buffers.
class AloneChecks {
 public:
  AloneChecks(WideModel& model, std::span<const ModelInput> inputs, const Outputs& wide);

  void run(std::int64_t i, const std::map<std::string, at::Tensor>& wide_buffers);
  std::vector<ProofCheck> take();
  /// Names of members whose outputs hold numbers, none of them finite.
  std::vector<std::string> empty_members() const { return own_.empty_members(); }

 private:
  void compare_output(std::size_t member, std::size_t place, const at::Tensor& own,
                      const at::Tensor& reference, ConditionedCompare& conditioned);

  WideModel& model_;
  std::span<const ModelInput> inputs_;
  const Outputs& wide_;
  std::int64_t depth_;
  std::vector<Precision> precisions_;
  std::vector<bool> drawn_;  ///< by output, whether it hangs on random numbers
  bool has_reference_;
  CheckBuilder own_{"member against its own run", model_};
  CheckBuilder error_{"float64 reference", model_};
  CheckBuilder buffers_{"written buffers", model_};
};

}  // namespace wide
