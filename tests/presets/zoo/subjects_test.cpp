// What must be there by name, sizes and their errors, strategies, and what the presets ask for.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/model/wide_model.h"
#include "core/strategy/primitive.h"
#include "core/strategy/sequential.h"
#include "formats/error.h"
#include "presets/preset.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSubsetOf;

using Names = std::set<std::string>;

const Names kPrimitives = {"linear",
                           "conv1d",
                           "conv2d",
                           "conv3d",
                           "convtranspose1d",
                           "convtranspose2d",
                           "convtranspose3d",
                           "batchnorm1d",
                           "batchnorm2d",
                           "batchnorm3d",
                           "layernorm",
                           "rmsnorm",
                           "groupnorm",
                           "instancenorm1d",
                           "instancenorm2d",
                           "instancenorm3d",
                           "embedding",
                           "embedding_bag",
                           "mlp_embedder",
                           "ada_layer_norm_zero_single",
                           "attention",
                           "multiheadcrossattention",
                           "scaled_dot_product_attention",
                           "rnn",
                           "gru",
                           "lstm",
                           "prelu",
                           "dropout",
                           "adaptiveavgpool2d"};
const Names kBlocks = {"mlp_block", "attention_block", "joint_attention", "double_stream_block",
                       "single_stream_block"};
const Names kModels = {"mlp",     "deep_mlp",        "resblock",  "convnet", "tiny_head",
                       "minigpt", "lstm_classifier", "flux_tiny", "vae",     "unet",
                       "vit",     "tabular",         "lora_gpt"};

Names of_kind(const std::string& kind) {
  Names names;
  for (const auto& subject : subjects()) {
    if (subject.kind == kind) names.insert(subject.name);
  }
  return names;
}

std::string message(const std::string& subject, const std::map<std::string, std::int64_t>& sizes) {
  try {
    build(subject, sizes);
  } catch (const Error& error) {
    EXPECT_EQ(error.stage(), "preset");
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Subjects, ComponentsAndModelsAreThereByName) {
  EXPECT_THAT(kPrimitives, IsSubsetOf(of_kind("primitive")));
  EXPECT_EQ(of_kind("block"), kBlocks);
  EXPECT_EQ(of_kind("zoo"), kModels);
  EXPECT_EQ(of_kind("primitive").size() + kBlocks.size() + kModels.size(), subjects().size())
      << "a name twice, or a kind that nobody knows";
}

TEST(Subjects, HaveASummaryOfOneLine) {
  constexpr std::size_t kLongest = 90;
  for (const auto& subject : subjects()) {
    EXPECT_FALSE(subject.summary.empty()) << subject.name;
    EXPECT_LE(subject.summary.size(), kLongest) << subject.name;
    EXPECT_EQ(subject.summary.find('\n'), std::string::npos) << subject.name;
  }
}

TEST(Subjects, RefuseSizesThatDoNotFitAndSayWhy) {
  EXPECT_THAT(message("linaer", {}), HasSubstr("there are ada_layer_norm_zero_single, "));
  EXPECT_THAT(message("mlp", {{"with", 3}}), HasSubstr("no size 'with'; it has batch, features"));
  EXPECT_THAT(message("mlp", {{"batch", 0}}), HasSubstr("'batch' must lie in 1…"));
  EXPECT_THAT(message("dropout", {{"train", 2}}), HasSubstr("'train' must lie in 0…1, is 2"));
  EXPECT_THAT(message("attention", {{"d_model", 10}, {"heads", 4}}),
              HasSubstr("'d_model' (10) must be a multiple of 'heads' (4)"));
  EXPECT_THAT(message("flux_tiny", {{"d_model", 8}, {"heads", 4}}), HasSubstr("multiple of 4 x 'heads' (4)"));
  EXPECT_THAT(message("unet", {{"height", 6}}), HasSubstr("'height' (6) must be a multiple of 4"));
}

TEST(Subjects, GiveMembersWhatIsSharedOnce) {
  const auto architecture = build("linear", {{"shared_input", 1}});
  const auto inputs = make_inputs(architecture, 3, 1, at::kFloat);
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_FALSE(inputs[0].mapped);
  EXPECT_THAT(inputs[0].tensor.sizes().vec(), ElementsAre(32, 256));
}

// Strategies of the primitives that own the nodes of a member's canonical graph.
std::set<std::vector<std::string>> owners_strategies(const Subject& subject) {
  constexpr std::int64_t kMembers = 2;
  const auto architecture = build(subject.name);
  WideModel model(architecture.graph, make_members(architecture, kMembers, 1, at::kFloat));
  const auto& built = model.build(make_inputs(architecture, kMembers, 1, at::kFloat));
  std::set<std::vector<std::string>> lists;
  for (const auto& node : built.canonical.nodes) {
    bool uses = false;
    for_each_use(node, [&](ValueId) { uses = true; });
    if (!uses || depends_on_shape_only(node.op)) continue;
    std::vector<std::string> names;
    if (const auto* owner = find_primitive(node.op)) {
      for (const auto& strategy : owner->strategies) names.emplace_back(strategy.name);
    }
    names.emplace_back(kSequential.name);
    lists.insert(names);
  }
  return lists;
}

TEST(Subjects, OfferTheStrategiesOfTheirOnePrimitiveOrWide) {
  const std::vector<std::string> composite{"wide", "sequential"};
  for (const auto& subject : subjects()) {
    const auto offered = strategies(subject);
    const auto owners = owners_strategies(subject);
    if (subject.kind == "primitive" && owners.size() == 1) {
      EXPECT_EQ(owners, std::set{offered}) << subject.name;
    } else {
      EXPECT_EQ(offered, composite) << subject.name;
    }
  }
  for (const auto* name : {"attention", "mlp_embedder", "ada_layer_norm_zero_single", "double_stream_block"})
    EXPECT_EQ(strategies(find_subject(name)), composite) << name;
  EXPECT_GT(strategies(find_subject("conv2d")).size(), 2u);
}

class EveryPreset : public testing::TestWithParam<const char*> {};

TEST_P(EveryPreset, AsksForSubjectsAndSizesThatExist) {
  const auto preset = presets::read_preset(presets::find_preset(GetParam()));
  for (const auto& spec : preset.cases) {
    EXPECT_EQ(find_subject(spec.subject).kind, spec.kind) << spec.key();
    EXPECT_NO_THROW(build(spec.subject, spec.shape)) << spec.key();
  }
}

TEST_P(EveryPreset, HasEveryComponentAndModel) {
  const auto preset = presets::read_preset(presets::find_preset(GetParam()));
  Names asked;
  for (const auto& spec : preset.cases) asked.insert(spec.subject);
  for (const auto& names : {kPrimitives, kBlocks, kModels}) EXPECT_THAT(names, IsSubsetOf(asked));
}

INSTANTIATE_TEST_SUITE_P(Zoo, EveryPreset, testing::Values("ci", "quick", "full"),
                         [](const auto& one) { return std::string(one.param); });

}  // namespace
}  // namespace wide::zoo
