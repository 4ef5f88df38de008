// Runs checkpoints of one exported model as one wide model, and compares each with the same model run alone;
// then the same from the program's bytes with members in memory. No header of libtorch is read:
//   example_wide MODEL.pt2 CHECKPOINT.safetensors…
#include <wide/model.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <vector>

namespace {

std::vector<std::byte> bytes_of(const char* path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> all{std::istreambuf_iterator<char>(file), {}};
  const auto* data = reinterpret_cast<const std::byte*>(all.data());
  return {data, data + all.size()};
}

// One input for all members, of the shape that the model was exported with.
std::vector<widebench::Input> inputs_for(const widebench::WideModel& model) {
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<widebench::Input> inputs;
  for (const auto& input : model.inputs()) {
    std::size_t count = 1;
    for (const auto size : input.sizes) count *= static_cast<std::size_t>(size);
    std::vector<float> values(count);
    for (auto& value : values) value = normal(random);
    inputs.push_back({widebench::Tensor::copy_of(values, input.sizes)});
  }
  return inputs;
}

bool is_close(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!(std::abs(a[i] - b[i]) <= 1e-5F + 1e-4F * std::abs(b[i]))) return false;
  }
  return true;
}

bool is_right(widebench::WideModel& model) {
  const auto inputs = inputs_for(model);
  const auto outputs = model.forward(inputs);
  for (std::int64_t i = 0; i < model.size(); ++i) {
    const auto own = outputs.at(0).mapped ? outputs[0].tensor[i] : outputs[0].tensor;
    if (is_close(own.floats(), model.run_alone(i, inputs).at(0).floats())) continue;
    std::cerr << "member " << model.names()[static_cast<std::size_t>(i)]
              << " differs from what it computes alone\n";
    return false;
  }
  return model.prove(inputs).passed();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::vector<std::filesystem::path> checkpoints(argv + 2, argv + argc);
  auto model = widebench::WideModel::from_files({argv[1]}, checkpoints, widebench::Config::fast());
  if (!is_right(model)) return 5;

  std::vector<widebench::MemberWeights> members;
  for (std::int64_t i = 0; i < model.size(); ++i)
    members.push_back({model.names()[static_cast<std::size_t>(i)], model.weights(i)});
  auto copy = widebench::WideModel::from_bytes(bytes_of(argv[1]), members, widebench::Config::safe());
  if (!is_right(copy)) return 5;

  members[0].tensors.erase(members[0].tensors.begin());
  try {
    copy.replace_members(members);
    return 5;
  } catch (const widebench::Error& error) {
    std::cout << error.stage() << ": " << error.what() << '\n';
  }
  if (!is_right(copy)) return 5;
  std::cout << model.size()
            << " members agree with themselves run alone: " << model.plan(inputs_for(model)).schedule << '\n';
  return 0;
}
