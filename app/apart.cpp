#include "app/apart.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "app/pass_checks.h"
#include "core/tune/auto_plan.h"

namespace wide::app {
namespace {

// What a model of that one member takes: a member axis of one.
std::vector<ModelInput> inputs_of(std::int64_t member, std::span<const ModelInput> inputs) {
  std::vector<ModelInput> own(inputs.begin(), inputs.end());
  for (auto& input : own) {
    if (input.mapped) input.tensor = input.tensor.narrow(0, member, 1);
  }
  return own;
}

}  // namespace

ApartModels::ApartModels(const WideModel& model, std::span<const ModelInput> inputs, std::size_t slots)
    : slots_(slots) {
  const c10::InferenceMode guard;
  auto options = model.options();
  options.strategies = {};
  options.plan.reset();
  for (std::int64_t i = 0; i < model.members(); ++i) {
    options.seed = model.options().seed + static_cast<std::uint64_t>(i);
    const auto own = inputs_of(i, inputs);
    auto& one = models_.emplace_back(std::make_unique<WideModel>(
        model.graph(), std::vector{model.member_list()[static_cast<std::size_t>(i)]}, options));
    const auto& built = one->build(own);
    if (i == 0) options.plan = store(built.optimized, 1, built.planned);
    for (auto& slot : slots_) slot.push_back(cloned(own));
  }
}

results::Check ApartModels::check(std::span<const ModelInput> inputs) {
  results::Check worst;
  for (std::size_t i = 0; i < models_.size(); ++i) {
    const auto own = inputs_of(static_cast<std::int64_t>(i), inputs);
    auto& model = *models_[i];
    PassTally tally("members apart, by the same kernels", model, own);
    PassTally::Outputs alone(1);
    for (const auto& value : model.run_alone(0, own).outputs)
      alone[0].push_back(value.isTensor() ? value.toTensor() : at::Tensor());
    model.reset();
    tally.add(own, model.forward(own), alone);
    model.reset();
    auto check = tally.take();
    if (i == 0 || (worst.passed && (!check.passed || check.max_abs_err > worst.max_abs_err)))
      worst = std::move(check);
  }
  return worst;
}

void ApartModels::set_inputs(std::size_t slot, std::span<const ModelInput> inputs) {
  for (std::size_t i = 0; i < models_.size(); ++i)
    copy_into(slots_[slot][i], inputs_of(static_cast<std::int64_t>(i), inputs));
}

profiler::Contender ApartModels::contender(FreshInputs& fresh) {
  profiler::Contender contender{.name = "apart"};
  contender.run = [this] {
    const auto& slot = slots_[slot_];
    slot_ = (slot_ + 1) % slots_.size();
    std::vector<std::vector<ModelOutput>> outputs(models_.size());
    for (std::size_t i = 0; i < models_.size(); ++i) outputs[i] = models_[i]->forward(slot[i]);
  };
  contender.prepare = [this, &fresh](std::int64_t runs) {
    const auto ready = std::min(runs, static_cast<std::int64_t>(slots_.size()));
    for (std::int64_t i = 0; i < ready; ++i) set_inputs(static_cast<std::size_t>(i), fresh.next());
    slot_ = 0;
    return ready;
  };
  return contender;
}

}  // namespace wide::app
