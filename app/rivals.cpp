#include "app/rivals.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include "core/observe.h"
#include "core/side_by_side.h"
#include "formats/error.h"

namespace wide::app {

SeparateRuns::SeparateRuns(WideModel& model, std::span<const ModelInput> inputs)
    : graph_(model.build(inputs).canonical), interpreter_(graph_) {
  const c10::InferenceMode guard;
  for (std::int64_t i = 0; i < model.members(); ++i) {
    const auto& member = model.member_list()[static_cast<std::size_t>(i)];
    std::vector<c10::IValue> values;
    std::size_t user = 0;
    for (const auto& input : graph_.inputs) {
      // Copies: a stacked input is not a separate one.
      const auto& tensor =
          input.kind == InputKind::kUser ? inputs[user++].member(i) : member.tensors.at(input.target);
      values.emplace_back(tensor.to(graph_.device).clone());
    }
    values_.push_back(std::move(values));
  }
}

std::vector<c10::IValue> SeparateRuns::run_member(std::size_t i) const {
  const c10::InferenceMode guard;
  const ObservedMembers observed({static_cast<std::int64_t>(i), 1});
  return interpreter_.run(values_[i]);
}

std::function<void()> SeparateRuns::contender(const std::string& name) const {
  if (name == "eager") {
    return [this] {
      std::vector<std::vector<c10::IValue>> outputs(values_.size());
      for (std::size_t i = 0; i < values_.size(); ++i) outputs[i] = run_member(i);
    };
  }
  if (name == "threads") {
    return [this] {
      std::vector<std::vector<c10::IValue>> outputs(values_.size());
      const auto threads = static_cast<std::size_t>(at::get_num_threads());
      run_side_by_side(values_.size(), threads, [&](std::size_t i) { outputs[i] = run_member(i); });
    };
  }
  throw Error("preset", "there is no rival '" + name + "'; there are eager and threads");
}

}  // namespace wide::app
