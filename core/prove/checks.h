#pragma once
// What the parts of a proof share: outputs by member, and the worst of many comparisons.

#include <ATen/core/ivalue.h>

#include <string>
#include <vector>

#include "core/prove/prove.h"

namespace wide {

using Outputs = std::vector<std::vector<at::Tensor>>;  ///< [member][output]; undefined for constants

/// The outputs of a pass after another one, with memory poisoned in between: an element that nobody writes
/// shows.
Outputs run_wide(WideModel& model, std::span<const ModelInput> inputs);

/// Undefined where a value is no tensor.
std::vector<at::Tensor> tensors_of(const std::vector<c10::IValue>& values);

/// Makes one check of many comparisons: it tells of the worst.
class CheckBuilder {
 public:
  CheckBuilder(std::string what, const WideModel& model) : model_(model) { check_.what = std::move(what); }

  void add(std::size_t member, std::size_t output, const Difference& difference, const std::string& by = "");
  /// Names of members of which numbers were compared, and none was finite.
  std::vector<std::string> empty_members() const;
  ProofCheck take() { return std::move(check_); }

 private:
  const WideModel& model_;
  ProofCheck check_;
  struct Seen {
    bool number = false, finite = false;
  };
  std::vector<Seen> seen_;  ///< by member
};

}  // namespace wide
