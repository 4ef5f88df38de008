#include "app/made_up_inputs.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <map>

#include "app/tensor_files.h"
#include "core/passes/specialize.h"
#include "core/prove/prove.h"
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

at::Generator generator_for(std::uint64_t seed, std::int64_t member, std::size_t input) {
  return at::detail::createCPUGenerator(seed * 1'000'003 + static_cast<std::uint64_t>(member) + 7919 * input);
}

// Whether the exporter's own example is there for every input, and one that the graph takes.
bool has_samples(const WideModel& model) {
  try {
    for (const auto& input : model.user_inputs()) {
      if (!input.sample.defined()) return false;
      check_input(model.graph(), input, input.sample, "the example input");
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Rows in another order for each member, as far as there are orders; of equally many rows in the same, so
// that rows that belong together stay together. Elements keep their columns, where they are known to be
// valid.
at::Tensor with_moved_rows(const at::Tensor& sample, std::int64_t member, std::uint64_t seed) {
  if (sample.dim() == 0 || sample.numel() == 0) return sample;
  const auto rows = sample.size(0);
  auto generator = generator_for(seed, member / rows, static_cast<std::size_t>(rows));
  const auto order =
      at::randperm(rows, generator, at::TensorOptions().dtype(at::kLong)).roll(member % rows, 0);
  std::vector<at::Tensor> moved;
  for (std::int64_t i = 0; i < rows; ++i) moved.push_back(sample.select(0, order[i].item<std::int64_t>()));
  return at::stack(moved);
}

// Other real numbers that are as legal as those of `sample`: within their range, and where that is [0, 1], as
// of targets and probabilities, with the same sum along the last axis. Zeros and ones alone, and what is not
// finite, mask something and stay.
at::Tensor with_other_values(const at::Tensor& sample, at::Generator& generator) {
  const auto values = sample.to(at::kDouble);
  const auto finite = at::isfinite(values);
  const auto known = values.masked_select(finite);
  if (known.numel() == 0) return sample;
  const auto least = known.min().item<double>(), most = known.max().item<double>();
  if (least == most || at::logical_or(known == 0, known == 1).all().item<bool>()) return sample;
  at::Tensor others;
  if (least >= 0 && most <= 1) {
    const auto share = 0.05 + 0.4 * at::rand({}, generator, at::TensorOptions().dtype(at::kDouble));
    const auto swapped = values.dim() == 0 ? values : values.flip(-1);
    others = at::where(at::isfinite(swapped), values * (1 - share) + swapped * share, values);
  } else {
    constexpr double kNoise = 0.5;
    const auto drawn = at::rand(values.sizes(), generator, at::TensorOptions().dtype(at::kDouble));
    others = (1 - kNoise) * values + kNoise * (least + (most - least) * drawn);
  }
  return at::where(finite, others, values).to(sample.scalar_type());
}

std::vector<ModelInput> inputs_like_samples(const WideModel& model, std::uint64_t seed) {
  std::vector<ModelInput> inputs;
  for (std::size_t k = 0; k < model.user_inputs().size(); ++k) {
    const auto& sample = model.user_inputs()[k].sample;
    std::vector<at::Tensor> tensors;
    for (std::int64_t i = 0; i < model.members(); ++i) {
      auto generator = generator_for(seed, i, k);
      const auto moved = with_moved_rows(sample, i, seed);
      if (sample.is_complex()) {
        tensors.push_back(
            at::view_as_complex(with_other_values(at::view_as_real(moved), generator).contiguous()));
      } else {
        tensors.push_back(sample.is_floating_point() ? with_other_values(moved, generator) : moved);
      }
    }
    inputs.push_back(ModelInput::per_member(tensors, "input " + model.user_inputs()[k].target));
  }
  return inputs;
}

}  // namespace

std::vector<ModelInput> made_up_inputs(const WideModel& model, std::uint64_t seed) {
  if (has_samples(model)) return inputs_like_samples(model, seed);
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
      auto generator = generator_for(seed, i, k);
      const bool real = at::isFloatingType(type->dtype) || at::isComplexType(type->dtype);
      const auto drawn = real ? at::randn(shape, generator, at::TensorOptions().dtype(at::kDouble))
                              : at::randint(0, 2, shape, generator, at::TensorOptions().dtype(at::kLong));
      tensors.push_back(drawn.to(type->dtype));
    }
    inputs.push_back(ModelInput::per_member(tensors, "input." + std::to_string(k)));
  }
  return inputs;
}

void blame_made_up_inputs(const WideModel& model, std::span<const ModelInput> inputs) {
  const auto refused = refused_alone(model, inputs);
  if (refused.empty()) return;
  throw Error(std::string(kRefusedInputs),
              "the model alone refuses the inputs that were made up for it (" + refused + "); give --inputs");
}

std::vector<ModelInput> on_device(std::vector<ModelInput> inputs, at::Device device) {
  for (auto& input : inputs) input.tensor = input.tensor.to(device);
  return inputs;
}

std::vector<ModelInput> inputs_for(const WideModel& model, const std::string& file, std::uint64_t seed) {
  return file.empty() ? made_up_inputs(model, seed) : read_inputs(file, model);
}

}  // namespace wide::app
