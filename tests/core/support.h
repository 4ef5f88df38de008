#pragma once
// What the tests of core/ share: corpus files, folders that vanish, stages on small graphs.

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ir/graph.h"
#include "core/model/wide_model.h"
#include "core/passes/specialize.h"
#include "presets/zoo/builder.h"
#include "tests/temporary_folder.h"

namespace wide::test {

inline constexpr std::int64_t kMembers = 3;  ///< members, where any number of them would do

/// Folder of a model in tests/corpus.
std::filesystem::path corpus(std::string_view model);
/// Names of the models in tests/corpus.
std::vector<std::string> corpus_models();
Graph captured(std::string_view model);
/// The model with its first `members` checkpoints, and the golden file's inputs.
WideModel corpus_model(std::string_view model, std::int64_t members, BuildOptions options = {});
std::vector<ModelInput> corpus_inputs(std::string_view model, std::int64_t members);

/// Runs `body`, which must throw wide::Error of `stage` whose message holds all of `words`.
void expect_error(const std::function<void()>& body, std::string_view stage,
                  const std::vector<std::string>& words);

/// The first member's values for the inputs of the graph, fresh copies.
std::vector<c10::IValue> member_values(const zoo::Architecture& architecture);
/// The architecture's graph with every shape known.
inline Graph specialized(const zoo::Architecture& architecture) {
  return specialize(architecture.graph, member_values(architecture)).graph;
}
/// A wide model of an architecture, members seed0, seed1, … with weights of their own.
WideModel wide_model(const zoo::Architecture& architecture, std::int64_t members, BuildOptions options = {});
/// Inputs that differ per member.
std::vector<ModelInput> wide_inputs(const zoo::Architecture& architecture, std::int64_t members);

/// Members seed0, seed1, … of a graph with made-up weights, each its own or all the same.
std::vector<Member> made_up_members(const Graph& graph, std::int64_t count, bool equal = false);

/// Operators of the nodes, in order.
std::vector<std::string> ops(const Graph& graph);
/// Strategies of the nodes, in order.
std::vector<std::string> strategies(const Build& build);

/// Each member's outputs are what it gives alone, NaN at the same places.
void expect_members_as_alone(WideModel& model, std::span<const ModelInput> inputs);

/// Agree within what rounding in float32 explains.
testing::AssertionResult agree(const at::Tensor& got, const at::Tensor& expected);

inline Argument integer(std::int64_t value) {
  return {value};
}

inline zoo::TensorRecipe normal(std::vector<std::int64_t> shape) {
  return {std::move(shape)};
}
inline zoo::TensorRecipe positive(std::vector<std::int64_t> shape) {
  return {std::move(shape), zoo::TensorRecipe::Kind::kPositive};
}

}  // namespace wide::test
