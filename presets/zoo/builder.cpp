#include "presets/zoo/builder.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "core/eager/operators.h"

namespace wide::zoo {
namespace {

at::Tensor draw(const TensorRecipe& recipe, at::ScalarType dtype, at::Generator& generator) {
  if (recipe.kind == TensorRecipe::Kind::kInteger) {
    return at::randint(0, recipe.bound, recipe.shape, generator, at::TensorOptions().dtype(at::kLong));
  }
  // Drawn in float64 and rounded: every dtype sees the same model.
  auto tensor =
      recipe.kind == TensorRecipe::Kind::kPositive
          ? at::rand(recipe.shape, generator, at::TensorOptions().dtype(at::kDouble)) + 0.5
          : at::randn(recipe.shape, generator, at::TensorOptions().dtype(at::kDouble)) * recipe.scale;
  return tensor.to(dtype);
}

}  // namespace

ValueId Builder::declare(const std::string& fqn, InputKind kind, TensorRecipe recipe) {
  auto& graph = architecture_.graph;
  std::string name = fqn;
  for (auto& c : name) c = c == '.' ? '_' : c;
  const auto id = graph.add_value(graph.unique_name(name), true);
  graph.inputs.push_back({id, kind, fqn, true});
  if (kind == InputKind::kUser) {
    architecture_.inputs.push_back(std::move(recipe));
  } else {
    architecture_.weights.emplace(fqn, std::move(recipe));
  }
  return id;
}

ValueId Builder::input(const std::string& name, TensorRecipe recipe) {
  return declare(name, InputKind::kUser, std::move(recipe));
}

ValueId Builder::weight(const std::string& fqn, std::vector<std::int64_t> shape) {
  double fan_in = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) fan_in *= static_cast<double>(shape[i]);
  return parameter(fqn, {std::move(shape), TensorRecipe::Kind::kNormal, 1 / std::sqrt(fan_in), 0});
}

ValueId Builder::parameter(const std::string& fqn, TensorRecipe recipe) {
  return declare(fqn, InputKind::kParameter, std::move(recipe));
}

ValueId Builder::buffer(const std::string& fqn, TensorRecipe recipe) {
  return declare(fqn, InputKind::kBuffer, std::move(recipe));
}

ValueId Builder::op(const std::string& op, std::vector<Argument> arguments) {
  return ops(op, std::move(arguments), 1)[0];
}

std::vector<ValueId> Builder::ops(const std::string& op, std::vector<Argument> arguments, int results) {
  auto& graph = architecture_.graph;
  Node node{op, std::move(arguments), {}, {}};
  const auto& schema = require_operator(graph, node).schema().arguments();
  for (std::size_t i = node.arguments.size(); i < schema.size(); ++i) {
    node.arguments.push_back(to_argument(schema[i].default_value().value()));
  }
  const auto stem = op.substr(5, op.rfind('.') - 5);
  for (int i = 0; i < results; ++i) node.results.push_back(graph.add_value(graph.unique_name(stem), true));
  graph.nodes.push_back(node);
  return node.results;
}

ValueId Builder::linear(const std::string& fqn, ValueId x, std::int64_t in, std::int64_t out) {
  const auto w = weight(fqn + ".weight", {out, in});
  const auto b = parameter(fqn + ".bias", {{out}, TensorRecipe::Kind::kNormal, 0.1, 0});
  return op("aten.linear.default", {ref(x), ref(w), ref(b)});
}

ValueId Builder::conv2d(const std::string& fqn, ValueId x, std::int64_t in, std::int64_t out,
                        std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  const auto w = weight(fqn + ".weight", {out, in, kernel, kernel});
  const auto b = parameter(fqn + ".bias", {{out}, TensorRecipe::Kind::kNormal, 0.1, 0});
  return op("aten.conv2d.default", {ref(x),
                                    ref(w),
                                    ref(b),
                                    ints({stride, stride}),
                                    ints({padding, padding}),
                                    ints({1, 1}),
                                    {std::int64_t{1}}});
}

ValueId Builder::batch_norm(const std::string& fqn, ValueId x, std::int64_t channels, bool train) {
  const auto weight = parameter(fqn + ".weight", {{channels}, TensorRecipe::Kind::kPositive});
  const auto bias = parameter(fqn + ".bias", {{channels}, TensorRecipe::Kind::kNormal, 0.1, 0});
  const auto mean = buffer(fqn + ".running_mean", {{channels}, TensorRecipe::Kind::kNormal, 0.1, 0});
  const auto variance = buffer(fqn + ".running_var", {{channels}, TensorRecipe::Kind::kPositive});
  return op("aten.batch_norm.default",
            {ref(x), ref(weight), ref(bias), ref(mean), ref(variance), {train}, {0.1}, {1e-5}, {false}});
}

ValueId Builder::layer_norm(const std::string& fqn, ValueId x, std::int64_t features) {
  const auto weight = parameter(fqn + ".weight", {{features}, TensorRecipe::Kind::kPositive});
  const auto bias = parameter(fqn + ".bias", {{features}, TensorRecipe::Kind::kNormal, 0.1, 0});
  return op("aten.layer_norm.default", {ref(x), ints({features}), ref(weight), ref(bias)});
}

void Builder::output(ValueId value) {
  architecture_.graph.outputs.push_back({ref(value), OutputKind::kUser, {}});
}

Architecture Builder::take() {
  return std::move(architecture_);
}

Argument ints(std::initializer_list<std::int64_t> values) {
  Argument::List items;
  for (const auto value : values) items.push_back({value});
  return {std::move(items)};
}

std::vector<Member> make_members(const Architecture& architecture, std::int64_t n, std::uint64_t seed,
                                 at::ScalarType dtype, const BeforeEach& before_each) {
  std::map<std::string, at::Tensor> shared;
  auto common = at::detail::createCPUGenerator(seed * 1'000'003 - 1);
  for (const auto& [fqn, recipe] : architecture.weights) {
    if (recipe.shared) shared.emplace(fqn, draw(recipe, dtype, common));
  }
  std::vector<Member> members;
  for (std::int64_t i = 0; i < n; ++i) {
    if (before_each) before_each();
    auto generator = at::detail::createCPUGenerator(seed * 1'000'003 + static_cast<std::uint64_t>(2 * i));
    Member member{"seed" + std::to_string(i), shared};
    for (const auto& [fqn, recipe] : architecture.weights) {
      if (!recipe.shared) member.tensors.emplace(fqn, draw(recipe, dtype, generator));
    }
    members.push_back(std::move(member));
  }
  return members;
}

std::vector<ModelInput> make_inputs(const Architecture& architecture, std::int64_t n, std::uint64_t seed,
                                    at::ScalarType dtype, const BeforeEach& before_each) {
  std::vector<ModelInput> inputs;
  for (std::size_t k = 0; k < architecture.inputs.size(); ++k) {
    std::vector<at::Tensor> tensors;
    const bool shared = architecture.inputs[k].shared;
    for (std::int64_t i = 0; i < (shared ? 1 : n); ++i) {
      if (before_each) before_each();
      auto generator =
          at::detail::createCPUGenerator(seed * 1'000'003 + static_cast<std::uint64_t>(2 * i + 1) + 7919 * k);
      tensors.push_back(draw(architecture.inputs[k], dtype, generator));
    }
    inputs.push_back(shared ? ModelInput::shared(tensors[0])
                            : ModelInput::per_member(tensors, "input." + std::to_string(k)));
  }
  return inputs;
}

}  // namespace wide::zoo
