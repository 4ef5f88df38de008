#include "core/prove/checks.h"

#include <ATen/ATen.h>

#include <cmath>

namespace wide {
namespace {

Outputs by_member(const std::vector<ModelOutput>& outputs, std::int64_t members) {
  Outputs result(static_cast<std::size_t>(members));
  for (std::int64_t i = 0; i < members; ++i) {
    for (const auto& output : outputs) {
      result[static_cast<std::size_t>(i)].push_back(output.is_tensor() ? output.member(i).clone()
                                                                       : at::Tensor());
    }
  }
  return result;
}

}  // namespace

Outputs run_wide(WideModel& model, std::span<const ModelInput> inputs) {
  model.reset();
  model.forward(inputs);
  model.poison();
  model.reset();
  return by_member(model.forward(inputs), model.members());
}

std::vector<at::Tensor> tensors_of(const std::vector<c10::IValue>& values) {
  std::vector<at::Tensor> tensors;
  for (const auto& value : values) tensors.push_back(value.isTensor() ? value.toTensor() : at::Tensor());
  return tensors;
}

void CheckBuilder::add(std::size_t member, std::size_t output, const Difference& difference,
                       const std::string& by) {
  const bool worse = !difference.agrees && check_.passed;
  const bool larger = difference.agrees == check_.passed && !(difference.max_abs <= check_.max_abs);
  if (worse || larger || check_.text.empty()) {
    check_.member = model_.member_list()[member].name;
    check_.max_abs = difference.max_abs;
    check_.tolerance = difference.allowed;
    check_.text =
        "member " + check_.member + ", output " + std::to_string(output) + ", " + difference.text + by;
  }
  if (std::isnan(difference.max_rel) || difference.max_rel > check_.max_rel)
    check_.max_rel = difference.max_rel;
  check_.passed = check_.passed && difference.agrees;
  if (seen_.size() <= member) seen_.resize(member + 1);
  seen_[member].number = seen_[member].number || difference.any_number;
  seen_[member].finite = seen_[member].finite || difference.any_finite;
}

std::vector<std::string> CheckBuilder::empty_members() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (seen_[i].number && !seen_[i].finite) names.push_back(model_.member_list()[i].name);
  }
  return names;
}

}  // namespace wide
