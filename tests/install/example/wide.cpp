// Runs four checkpoints of one exported model as one wide model, and compares each with the same model run
// alone:
//   example_wide MODEL.pt2 CHECKPOINT.safetensors…
#include <ATen/ATen.h>

#include <filesystem>
#include <iostream>
#include <vector>

#include "core/model/wide_model.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  auto loaded = wide::load({argv[1]}, std::vector<std::filesystem::path>(argv + 2, argv + argc));
  wide::WideModel model(std::move(loaded.graph), std::move(loaded.members));

  // One input for all members, of the shape that the model was exported with.
  const auto& graph = model.graph();
  std::vector<wide::ModelInput> inputs;
  for (const auto& input : model.user_inputs()) {
    const auto& type = *graph.values[static_cast<std::size_t>(input.value)].type;
    std::vector<std::int64_t> shape;
    for (const auto& size : type.sizes) shape.push_back(std::get<std::int64_t>(size));
    inputs.push_back(wide::ModelInput::shared(at::randn(shape, type.dtype)));
  }

  const auto outputs = model.forward(inputs);
  for (std::int64_t i = 0; i < model.members(); ++i) {
    const auto alone = model.run_alone(i, inputs).outputs.at(0).toTensor();
    if (!at::allclose(outputs.at(0).member(i), alone, 1e-4, 1e-5)) {
      std::cerr << "member " << i << " differs from what it computes alone\n";
      return 5;
    }
  }
  std::cout << model.members() << " members agree with themselves run alone\n";
  return 0;
}
