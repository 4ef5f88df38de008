#include "app/made_up_inputs.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <map>

#include "app/tensor_files.h"
#include "formats/error.h"
#include "formats/expression.h"

namespace wide::app {
namespace {

constexpr std::int64_t kAnySize = 5;

// One size for every symbol of the graph, within what the exporter promised.
std::map<std::string, std::int64_t> symbol_sizes(const Graph& graph) {
  std::map<std::string, std::int64_t> sizes;
  for (const auto& [symbol, range] : graph.ranges) {
    sizes[symbol] = std::clamp(kAnySize, range.min.value_or(1),
                               std::max(range.max.value_or(kAnySize), range.min.value_or(1)));
  }
  return sizes;
}

std::vector<std::int64_t> shape_of(const TensorType& type, const std::map<std::string, std::int64_t>& symbols,
                                   const std::string& input) {
  std::vector<std::int64_t> shape;
  for (const auto& size : type.sizes) {
    if (const auto* number = std::get_if<std::int64_t>(&size)) {
      shape.push_back(*number);
      continue;
    }
    const auto value = formats::evaluate(std::get<formats::Expression>(size), symbols);
    if (!value || *value < 0)
      throw Error("run", "no size can be made up for input '" + input + "'; give --inputs");
    shape.push_back(*value);
  }
  return shape;
}

}  // namespace

std::vector<ModelInput> made_up_inputs(const WideModel& model, std::uint64_t seed) {
  const auto symbols = symbol_sizes(model.graph());
  std::vector<ModelInput> inputs;
  for (std::size_t k = 0; k < model.user_inputs().size(); ++k) {
    const auto& input = model.user_inputs()[k];
    const auto& type = model.graph().values[static_cast<std::size_t>(input.value)].type;
    if (!type)
      throw Error("run", "the model does not say the shape of input '" + input.target + "'; give --inputs");
    const auto shape = shape_of(*type, symbols, input.target);
    std::vector<at::Tensor> tensors;
    for (std::int64_t i = 0; i < model.members(); ++i) {
      auto generator =
          at::detail::createCPUGenerator(seed * 1'000'003 + static_cast<std::uint64_t>(i) + 7919 * k);
      const bool real = at::isFloatingType(type->dtype) || at::isComplexType(type->dtype);
      const auto drawn = real ? at::randn(shape, generator, at::TensorOptions().dtype(at::kDouble))
                              : at::randint(0, 2, shape, generator, at::TensorOptions().dtype(at::kLong));
      tensors.push_back(drawn.to(type->dtype));
    }
    inputs.push_back(ModelInput::per_member(tensors, "input." + std::to_string(k)));
  }
  return inputs;
}

std::vector<ModelInput> inputs_for(const WideModel& model, const std::string& file, std::uint64_t seed) {
  return file.empty() ? made_up_inputs(model, seed) : read_inputs(file, model);
}

}  // namespace wide::app
