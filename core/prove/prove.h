#pragma once
// prove: every member of a wide model computes what it computes alone.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/ir/compare.h"
#include "core/model/wide_model.h"

namespace wide {

/// One kind of comparison over all members and outputs.
struct ProofCheck {
  std::string what;    ///< "member against its own run", "float64 reference", "cross-talk", …
  std::string member;  ///< the worst member
  double max_abs = 0;  ///< largest difference; NaN where it is not a number
  double max_rel = 0;
  double tolerance = 0;  ///< absolute bound at the worst element's tensor
  bool passed = true;
  std::string text;  ///< one line: where, and the numbers there
};

/// Why members cannot be proved against their own runs: a strategy of the plan computes something else on
/// purpose (Strategy::on_request). Empty where they can.
std::string unprovable(const Plan& plan);

/// What PyTorch says where it refuses to run some member alone on these inputs: no fault of the wide model
/// then. Empty where every member runs.
std::string refused_alone(const WideModel& model, std::span<const ModelInput> inputs);

struct Proof {
  std::vector<ProofCheck> checks;
  std::vector<std::string> notes = {};  ///< a line for each check that could not be made, and why
  bool passed() const;
  double max_abs_err() const;  ///< of the float64 reference where there is one
};

/// Runs the model on `inputs` and compares, with outputs of an earlier pass and poisoned memory in between:
/// - each member with its own separate run (its weights, its inputs, its random stream);
/// - wide and separate run with a float64 reference, where the graph runs in float64;
/// - one member with its own run once more after its inputs were changed: an output kept from before would
/// show;
/// - the other members, bit for bit, after one member's inputs were changed (cross-talk over activations),
///   and after one member's own weights were changed (cross-talk over weights);
/// - each member with its own run after the weights that all members share were changed together.
/// A member's inputs are changed into others that are as legal: another member's, of floats the middle of
/// both. A check whose changed values a member alone refuses too is left out, and a note says so. The model
/// is reset before and after. Members should have distinct weights and inputs: equal ones hide a swap. Throws
/// wide::Error ("plan") where unprovable() has a reason.
Proof prove(WideModel& model, std::span<const ModelInput> inputs);

}  // namespace wide
