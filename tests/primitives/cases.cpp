#include "primitives/cases.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include "core/aten/torch_bridge.h"
#include "core/eager/operators.h"
#include "core/strategy/sequential.h"

namespace wide::test {
namespace {

constexpr std::uint64_t kSeed = 100;  // of the first member's random numbers

// Seeded by sample and operand, so that members and operands differ and every run sees the same numbers.
at::Tensor draw(const SampleOperand& operand, std::vector<std::int64_t> shape, at::ScalarType dtype,
                std::uint64_t seed) {
  const auto generator = at::detail::createCPUGenerator(seed);
  if (at::isIntegralType(operand.dtype, true)) {
    return at::randint(0, operand.bound, shape, generator, at::TensorOptions().dtype(at::kLong))
        .to(operand.dtype);
  }
  const auto options = at::TensorOptions().dtype(at::kDouble);
  const auto values =
      operand.positive ? at::rand(shape, generator, options) + 0.5 : at::randn(shape, generator, options);
  return values.to(operand.dtype == at::kFloat ? dtype : operand.dtype);
}

std::shared_ptr<const Graph> in_dtype(const Graph& body, at::ScalarType dtype) {
  auto copy = std::make_shared<Graph>(body);
  for (auto& value : copy->values) {
    if (value.type->dtype == at::kFloat) value.type->dtype = dtype;
  }
  return copy;
}

}  // namespace

Tensors of_member(const Call& call, const Tensors& operands, std::int64_t member) {
  Tensors own;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    own.push_back(call.operands[i].mapped ? operands[i].select(0, member) : operands[i]);
  }
  return own;
}

Tensors run_once(const Node& node, const Tensors& operands) {
  const PreparedCall run(node);
  const std::vector<c10::IValue> inputs(operands.begin(), operands.end());
  std::vector<c10::IValue> outputs;
  run.run(inputs, outputs);
  Tensors results;
  for (const auto& output : outputs) results.push_back(output.isTensor() ? output.toTensor() : at::Tensor());
  return results;
}

Case make_case(const Sample& sample, at::ScalarType dtype, std::int64_t members) {
  Case made{{{sample.op, sample.arguments, {}, {}}, members, {}, {}}, {}};
  auto& [call, operands] = made;
  for (const auto& body : sample.bodies) call.node.bodies.push_back(in_dtype(*body, dtype));
  if (sample.bodies.empty()) {
    const auto& schema = find_operator(sample.op).value().schema().arguments();
    for (auto i = sample.arguments.size(); i < schema.size(); ++i) {
      call.node.arguments.push_back(to_argument(schema[i].default_value().value()));
    }
  }
  for (std::size_t i = 0; i < sample.operands.size(); ++i) {
    const auto& wanted = sample.operands[i];
    auto shape = wanted.shape;
    if (wanted.mapped) shape.insert(shape.begin(), members);
    operands.push_back(draw(wanted, shape, dtype, 17 * i + 1));
    call.operands.push_back({{operands[i].scalar_type(), wanted.shape}, wanted.mapped, {}});
  }
  for (const auto& result : run_once(call.node, of_member(call, operands, 0))) {
    const bool used = call.results.size() < sample.results;
    call.node.results.push_back(used ? static_cast<ValueId>(call.results.size()) : -1);
    call.results.push_back({result.scalar_type(), result.sizes().vec()});
  }
  return made;
}

Tensors run_member(const Call& call, const Tensors& operands, std::int64_t member) {
  if (draws_random(call.node)) {
    auto generator = at::detail::getDefaultCPUGenerator();
    generator.set_current_seed(kSeed + static_cast<std::uint64_t>(member));
  }
  return run_once(call.node, of_member(call, operands, member));
}

Tensors run_kernel(const Call& call, const Tensors& operands, const Strategy& strategy, const Offer& offer) {
  Tensors given;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto layout = call.operands[i].mapped ? Layout::kFront : Layout::kShared;
    given.push_back(convert(operands[i], layout, offer.operands[i], call.operands[i].type, call.members));
  }
  std::vector<std::uint64_t> seeds;
  for (std::int64_t i = 0; i < call.members; ++i) seeds.push_back(kSeed + static_cast<std::uint64_t>(i));
  MemberStreams streams(seeds);
  const MemberStreams::Active active(&streams);
  Tensors results(call.results.size());
  strategy.prepare(call, offer)(given, results);
  return results;
}

std::string layouts_of(const Offer& offer) {
  std::string text("operands");
  for (const auto layout : offer.operands) text.append(" ").append(name(layout));
  text.append(", results");
  for (const auto layout : offer.results) text.append(" ").append(name(layout));
  return text;
}

}  // namespace wide::test
