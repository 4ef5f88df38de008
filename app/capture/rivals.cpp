#include "app/capture/rivals.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "core/aten/side_by_side.h"
#include "core/eager/observe.h"
#include "core/tune/auto_plan.h"
#include "formats/error.h"

namespace wide::app {
namespace {

// As nn.LSTM.flatten_parameters() does: the weights of each call in one piece of memory, in cuDNN's order.
// Without it cuDNN packs them at every call, which nobody's own model lets it do.
void pack_recurrent_weights(const Graph& graph, std::span<const c10::IValue> values) {
  struct Cell {
    std::string_view op;
    std::int64_t mode, gates;
  };
  constexpr std::array<Cell, 4> kCells{{{"aten.rnn_relu.input", 0, 1},
                                        {"aten.rnn_tanh.input", 1, 1},
                                        {"aten.lstm.input", 2, 4},
                                        {"aten.gru.input", 3, 3}}};
  for (const auto& node : graph.nodes) {
    const auto cell = std::ranges::find(kCells, node.op, &Cell::op);
    if (cell == kCells.end()) continue;
    std::vector<at::Tensor> weights;
    bool all = true;
    for_each_use(node.arguments[2], [&](ValueId id) {
      const auto input = std::ranges::find(graph.inputs, id, &GraphInput::value);
      all &= input != graph.inputs.end();
      if (all) weights.push_back(values[static_cast<std::size_t>(input - graph.inputs.begin())].toTensor());
    });
    const auto layers = std::get<std::int64_t>(node.arguments[4].value);
    const auto is_set = [&](std::size_t argument) { return std::get<bool>(node.arguments[argument].value); };
    const auto chains = layers * (is_set(7) ? 2 : 1);
    if (!all || weights.size() < 2) continue;
    const auto hidden = weights[0].size(0) / cell->gates, projected = weights[1].size(1);
    at::_cudnn_rnn_flatten_weight(weights, static_cast<std::int64_t>(weights.size()) / chains,
                                  weights[0].size(1), cell->mode, hidden, projected == hidden ? 0 : projected,
                                  layers, is_set(8), is_set(7));
  }
}

}  // namespace

SeparateRuns::SeparateRuns(WideModel& model, std::span<const ModelInput> inputs, std::size_t slots)
    : graph_(model.build(inputs).canonical),
      interpreter_(graph_),
      slots_(slots),
      device_(model.options().device) {
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
    if (graph_.device.is_cuda()) pack_recurrent_weights(graph_, values);
    for (auto& slot : slots_) {
      slot.push_back(values);
      if (&slot == &slots_.front()) continue;
      for (std::size_t k = 0; k < values.size(); ++k) {
        if (graph_.inputs[k].kind == InputKind::kUser) slot.back()[k] = values[k].toTensor().clone();
      }
    }
  }
}

void SeparateRuns::set_inputs(std::size_t slot, std::span<const ModelInput> inputs) {
  const c10::InferenceMode guard;
  auto& members = slots_.at(slot);
  run_side_by_side(1, 1, [&](std::size_t) {  // as wide's are written, see copy_into
    for (std::size_t i = 0; i < members.size(); ++i) {
      std::size_t user = 0;
      for (std::size_t k = 0; k < graph_.inputs.size(); ++k) {
        if (graph_.inputs[k].kind != InputKind::kUser) continue;
        members[i][k].toTensor().copy_(inputs[user++].member(static_cast<std::int64_t>(i)));
      }
    }
  });
}

SeparateRuns::Outputs SeparateRuns::outputs(std::size_t slot) const {
  return run_one_by_one(slots_.at(slot));
}

const SeparateRuns::Slot& SeparateRuns::next() const {
  const auto& slot = slots_[slot_];
  slot_ = (slot_ + 1) % slots_.size();
  return slot;
}

std::vector<c10::IValue> SeparateRuns::run_member(const Slot& slot, std::size_t i) const {
  const c10::InferenceMode guard;
  const ObservedMembers observed({static_cast<std::int64_t>(i), 1});
  return interpreter_.run(slot[i]);
}

SeparateRuns::Outputs SeparateRuns::run_one_by_one(const Slot& slot) const {
  Outputs outputs(slot.size());
  for (std::size_t i = 0; i < slot.size(); ++i) outputs[i] = run_member(slot, i);
  return outputs;
}

SeparateRuns::Outputs SeparateRuns::run_on_threads(const Slot& slot) const {
  Outputs outputs(slot.size());
  const auto threads = static_cast<std::size_t>(at::get_num_threads());
  run_side_by_side(slot.size(), threads, [&](std::size_t i) { outputs[i] = run_member(slot, i); });
  return outputs;
}

SeparateRuns::Outputs SeparateRuns::run_streams(const Slot& slot) const {
  Outputs outputs(slot.size());
  run_on_streams(device_.device, slot.size(), static_cast<std::size_t>(kMostStreams),
                 [&](std::size_t i) { outputs[i] = run_member(slot, i); });
  return outputs;
}

// Once as ever, in which libraries set themselves up, then recorded.
std::function<void()> SeparateRuns::recorded() const {
  struct State {
    Outputs outputs;
    std::unique_ptr<Recording> recording;
  };
  const auto state = std::make_shared<State>();
  const auto& slot = slots_.front();
  (void)run_streams(slot);
  state->recording = device_.record([&] { state->outputs = run_streams(slot); });
  return [state] { state->recording->replay(); };
}

std::function<void()> SeparateRuns::contender(const std::string& name) const {
  const bool cpu = device_.device.is_cpu();
  if (name == "eager") return [this] { (void)run_one_by_one(next()); };
  if (name == "threads" && cpu) return [this] { (void)run_on_threads(next()); };
  if (name == "streams" && !cpu) return [this] { (void)run_streams(next()); };
  if (name == "graph" && device_.record) return recorded();
  throw Error("preset", "there is no rival '" + name + "' on this device; there are eager and " +
                            (cpu ? "threads" : "streams, graph"));
}

}  // namespace wide::app
