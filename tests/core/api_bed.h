#pragma once
// What the tests of the public interface share: models of tests/corpus, inputs, the stage of an error.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <wide/model.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace widebench::test {

inline std::filesystem::path corpus(const std::string& name) {
  return std::filesystem::path(TESTS_FOLDER) / "corpus" / name;
}

inline WideModel opened(const std::string& name, const Config& config = Config::fast()) {
  const auto folder = corpus(name);
  return WideModel::from_files({folder / "model.pt2"},
                               {folder / "seed0.safetensors", folder / "seed1.safetensors",
                                folder / "seed2.safetensors", folder / "seed3.safetensors"},
                               config);
}

inline std::vector<std::byte> program(const std::string& name) {
  std::ifstream file(corpus(name) / "model.pt2", std::ios::binary);
  const std::vector<char> all{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(all));
  return {bytes.begin(), bytes.end()};
}

inline std::vector<MemberWeights> members_of(const WideModel& model) {
  std::vector<MemberWeights> members;
  const auto names = model.names();
  for (std::size_t i = 0; i < names.size(); ++i)
    members.push_back({names[i], model.weights(static_cast<std::int64_t>(i))});
  return members;
}

inline std::vector<Input> inputs_for(const WideModel& model, bool mapped = false) {
  std::vector<Input> inputs;
  for (const auto& input : model.inputs()) {
    auto sizes = input.sizes;
    for (auto& size : sizes) size = size < 0 ? 5 : size;
    if (mapped) sizes.insert(sizes.begin(), model.size());
    inputs.push_back(
        {input.dtype == Dtype::kInt64 ? at::randint(0, 4, sizes, at::kLong) : at::randn(sizes), mapped});
  }
  return inputs;
}

// The stage of the Error that `body` throws; empty if none.
template <typename Body>
std::string stage_of(Body body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_FALSE(std::string_view(error.what()).empty());
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    return error.stage();
  }
  return {};
}

}  // namespace widebench::test
