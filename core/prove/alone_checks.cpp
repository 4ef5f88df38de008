#include "core/prove/alone_checks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/ir/compare.h"

namespace wide {
namespace {

// The reference where it is one: it took the same way through the model as the member alone. Another shape,
// or a difference that no rounding explains, means that some number fell on the other side of a decision.
// Elements that overflow in the member's own dtype are compared with the member alone only.
at::Tensor usable_reference(const at::Tensor& own, const at::Tensor& reference, const Tolerance& bound) {
  constexpr double kMostRounding = 64;
  if (!reference.defined() || !(own.is_floating_point() || own.is_complex())) return {};
  if (own.sizes() != reference.sizes()) return {};
  const auto exact = at::where(at::isfinite(own), reference, own.to(reference.scalar_type()));
  const auto most = bound.times(kMostRounding);
  const auto difference = compare(exact.to(own.scalar_type()), own, most);
  return difference.agrees && std::isfinite(difference.max_abs) ? exact : at::Tensor();
}

}  // namespace

AloneChecks::AloneChecks(WideModel& model, std::span<const ModelInput> inputs, const Outputs& wide)
    : model_(model),
      inputs_(inputs),
      wide_(wide),
      depth_(depth(model.build(inputs).canonical)),
      precisions_(user_precisions(model.build(inputs).canonical)),
      drawn_(drawn_outputs(model.build(inputs).canonical)),
      has_reference_(std::ranges::find(drawn_, false) != drawn_.end()) {}

void AloneChecks::run(std::int64_t i, const std::map<std::string, at::Tensor>& wide_buffers) {
  const auto index = static_cast<std::size_t>(i);
  const auto alone = model_.run_alone(i, inputs_);
  const auto own = tensors_of(alone.outputs);
  const auto reference = has_reference_ ? run_double(model_, i, inputs_) : std::nullopt;
  ConditionedCompare conditioned(model_, i, inputs_);
  has_reference_ = has_reference_ && reference;
  for (std::size_t k = 0; k < own.size(); ++k) {
    const bool is_exact = reference && !drawn_[k];
    if (own[k].defined())
      compare_output(index, k, own[k], is_exact ? (*reference)[k] : at::Tensor(), conditioned);
  }
  std::size_t place = 0;
  for (const auto& [fqn, expected] : alone.buffers) {
    const auto written = wide_buffers.find(fqn);
    if (written == wide_buffers.end()) {  // wide does not write it at all: not a bit may have changed
      const auto before = model_.member_list()[index].tensors.at(fqn).to(expected.device());
      auto difference = compare(before, expected, {0, 0});
      difference.agrees = same_bits(before, expected);
      buffers_.add(index, place++, difference);
      continue;
    }
    const auto bound = tolerance(expected.scalar_type(), depth_, magnitude(expected));
    const auto difference = conditioned.buffer(fqn, written->second.select(0, i), expected, bound);
    buffers_.add(index, place++, difference);
  }
}

std::vector<ProofCheck> AloneChecks::take() {
  std::vector<ProofCheck> checks{own_.take()};
  if (auto check = error_.take(); has_reference_ && !check.text.empty()) checks.push_back(std::move(check));
  if (auto check = buffers_.take(); !check.text.empty()) checks.push_back(std::move(check));
  return checks;
}

void AloneChecks::compare_output(std::size_t member, std::size_t place, const at::Tensor& own,
                                 const at::Tensor& reference, ConditionedCompare& conditioned) {
  const auto& got = wide_[member][place];
  auto bound = tolerance(precisions_[place], magnitude(own));
  const auto by = "; bound by " + describe(precisions_[place]);
  const auto exact = usable_reference(own, reference, bound);
  if (exact.defined()) {
    // Rounding that the member alone already shows may be met by wide too; also what its dtype cannot hold.
    const auto shown = compare(own.to(exact.scalar_type()), exact, {0, 0, true}).max_by_size;
    bound.absolute = std::max(bound.absolute, 4 * shown);
  }
  own_.add(member, place, conditioned.output(place, got, own, bound), by);
  if (!exact.defined()) return;
  const auto twice = bound.times(2);
  const auto wide = at::where(at::isfinite(own), got.to(exact.scalar_type()), exact);
  error_.add(member, place, conditioned.output(place, wide, exact, twice), by);
}

}  // namespace wide
