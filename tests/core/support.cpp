#include "core/support.h"

#include <ATen/ATen.h>
#include <unistd.h>

#include <algorithm>

#include "core/aten/torch_bridge.h"
#include "core/frontend/capture.h"
#include "core/frontend/members.h"
#include "core/ir/compare.h"
#include "formats/error.h"
#include "formats/exported_program.h"
#include "formats/safetensors.h"

namespace wide::test {

namespace fs = std::filesystem;

namespace {
constexpr std::uint64_t kSeed = 5;
}

fs::path corpus(std::string_view model) {
  return fs::path(TESTS_FOLDER) / "corpus" / model;
}

std::vector<std::string> corpus_models() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(corpus(""))) {
    if (fs::exists(entry.path() / "model.pt2")) names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Graph captured(std::string_view model) {
  return capture(formats::read_exported_program(corpus(model) / "model.pt2"), std::string(model));
}

WideModel corpus_model(std::string_view model, std::int64_t members, BuildOptions options) {
  std::vector<fs::path> weights;
  for (std::int64_t i = 0; i < members; ++i) {
    weights.push_back(corpus(model) / ("seed" + std::to_string(i) + ".safetensors"));
  }
  auto loaded = load({corpus(model) / "model.pt2"}, weights);
  return WideModel(std::move(loaded.graph), std::move(loaded.members), std::move(options));
}

std::vector<ModelInput> corpus_inputs(std::string_view model, std::int64_t members) {
  const auto golden = formats::Safetensors::read(corpus(model) / "golden.safetensors");
  std::vector<ModelInput> inputs;
  for (int k = 0; golden.find("seed0.input." + std::to_string(k)); ++k) {
    const auto rest = ".input." + std::to_string(k);
    std::vector<at::Tensor> tensors;
    for (std::int64_t i = 0; i < members; ++i) {
      tensors.push_back(to_tensor(*golden.find("seed" + std::to_string(i) + rest)));
    }
    inputs.push_back(ModelInput::per_member(tensors, rest));
  }
  return inputs;
}

void expect_error(const std::function<void()>& body, std::string_view stage,
                  const std::vector<std::string>& words) {
  try {
    body();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.stage(), stage) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    for (const auto& word : words)
      EXPECT_NE(text.find(word), std::string::npos) << "'" << word << "' in: " << text;
  }
}

std::vector<c10::IValue> member_values(const zoo::Architecture& architecture) {
  const auto member = zoo::make_members(architecture, 1, kSeed, at::kFloat)[0];
  const auto inputs = zoo::make_inputs(architecture, 1, kSeed, at::kFloat);
  std::vector<c10::IValue> values;
  std::size_t user = 0;
  for (const auto& input : architecture.graph.inputs) {
    const auto tensor =
        input.kind == InputKind::kUser ? inputs[user++].member(0) : member.tensors.at(input.target);
    values.emplace_back(tensor.clone());
  }
  return values;
}

WideModel wide_model(const zoo::Architecture& architecture, std::int64_t members, BuildOptions options) {
  return WideModel(architecture.graph, zoo::make_members(architecture, members, kSeed, at::kFloat),
                   std::move(options));
}

void expect_members_as_alone(WideModel& model, std::span<const ModelInput> inputs) {
  const auto outputs = model.forward(inputs);
  for (std::int64_t i = 0; i < model.members(); ++i) {
    const auto alone = model.run_alone(i, inputs);
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const auto own = alone.outputs[k].toTensor(), wide = outputs[k].member(i);
      EXPECT_TRUE(wide.isnan().equal(own.isnan())) << "member " << i << ", output " << k;
      EXPECT_TRUE(agree(wide.nan_to_num(0, 0, 0), own.nan_to_num(0, 0, 0)))
          << "member " << i << ", output " << k;
    }
  }
}

std::vector<ModelInput> wide_inputs(const zoo::Architecture& architecture, std::int64_t members) {
  return zoo::make_inputs(architecture, members, kSeed, at::kFloat);
}

std::vector<std::string> ops(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& node : graph.nodes) names.push_back(node.op);
  return names;
}

std::vector<std::string> strategies(const Build& build) {
  std::vector<std::string> names;
  for (const auto& node : build.plan().nodes) names.push_back(node.strategy);
  return names;
}

testing::AssertionResult agree(const at::Tensor& got, const at::Tensor& expected) {
  constexpr std::int64_t kDepth = 8;
  const auto difference =
      compare(got, expected, tolerance(expected.scalar_type(), kDepth, magnitude(expected)));
  return difference.agrees ? testing::AssertionSuccess() : testing::AssertionFailure() << difference.text;
}

std::vector<Member> made_up_members(const Graph& graph, std::int64_t count, bool equal) {
  std::vector<Member> members;
  for (std::int64_t i = 0; i < count; ++i) {
    Member member{"seed" + std::to_string(i), {}};
    for (const auto& input : graph.inputs) {
      if (input.kind == InputKind::kUser) continue;
      const auto type = concrete(graph.values[static_cast<std::size_t>(input.value)]);
      at::manual_seed(equal ? 1 : 1 + static_cast<std::uint64_t>(i));
      member.tensors[input.target] = at::randn(type.shape, type.dtype);
    }
    members.push_back(std::move(member));
  }
  return members;
}

}  // namespace wide::test
