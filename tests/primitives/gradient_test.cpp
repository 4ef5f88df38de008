// Gradients of every differentiable strategy against those of one member at a time in float64. Knows no
// primitive.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include <iostream>
#include <optional>
#include <set>
#include <string>

#include "core/aten/torch_bridge.h"
#include "core/eager/operators.h"
#include "core/ir/compare.h"
#include "core/strategy/sequential.h"
#include "primitives/cases.h"

namespace wide {
namespace {

using namespace test;

// A gradient is a sum over a batch or an image, of products of sums.
constexpr std::int64_t kDepth = 16;

bool has_gradient(at::ScalarType dtype) {
  return at::isFloatingType(dtype) || at::isComplexType(dtype);
}

// Running statistics of a norm, which have no derivative by ATen's own rule.
bool is_statistic(const Call& call, std::size_t operand) {
  const auto op = find_operator(call.node.op);
  for (std::size_t i = 0; i < call.node.arguments.size(); ++i) {
    if (call.operand_of(i) == operand && op->schema().arguments()[i].name().starts_with("running_"))
      return true;
  }
  return false;
}

// Leaves that record: every floating operand.
Tensors leaves(const Call& call, const Tensors& operands, at::ScalarType dtype) {
  Tensors own;
  for (const auto& operand : operands) {
    auto leaf = operand.is_floating_point() ? operand.to(dtype).clone() : operand.clone();
    if (has_gradient(leaf.scalar_type()) && !is_statistic(call, own.size())) leaf.set_requires_grad(true);
    own.push_back(std::move(leaf));
  }
  return own;
}

// The fixed cotangent of result `k` of a member.
at::Tensor cotangent(const ConcreteType& type, std::size_t k, std::int64_t member) {
  const auto seed = 1000 + 100 * k + static_cast<std::uint64_t>(member);
  return at::randn(type.shape, at::detail::createCPUGenerator(seed), at::TensorOptions().dtype(at::kDouble));
}

// One member's part of the number whose gradient is taken; undefined where nothing depends on a leaf.
at::Tensor loss(const Call& call, const Tensors& results, std::int64_t member) {
  at::Tensor total;
  for (std::size_t k = 0; k < call.results.size(); ++k) {
    if (call.node.results[k] < 0 || !results[k].defined() || !results[k].requires_grad()) continue;
    const auto real =
        at::isComplexType(results[k].scalar_type()) ? at::view_as_real(results[k]).sum(-1) : results[k];
    const auto part = (real.to(at::kDouble) * cotangent(call.results[k], k, member)).sum();
    total = total.defined() ? total + part : part;
  }
  return total;
}

Tensors gradients(const Tensors& operands) {
  Tensors all;
  for (const auto& operand : operands) all.push_back(operand.requires_grad() ? operand.grad() : at::Tensor());
  return all;
}

// In float64, one member at a time: [N, …], or summed over the members where the operand is shared. Nothing
// where the operator has no derivative.
std::optional<Tensors> reference(const Case& made) {
  const auto operands = leaves(made.call, made.operands, at::kDouble);
  try {
    at::Tensor total;
    for (std::int64_t i = 0; i < made.call.members; ++i) {
      const auto part = loss(made.call, run_member(made.call, operands, i), i);
      if (!part.defined()) return std::nullopt;
      total = total.defined() ? total + part : part;
    }
    total.backward();
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return gradients(operands);
}

Tensors wide_gradients(const Case& made, const Strategy& strategy, const Offer& offer, at::ScalarType dtype) {
  const auto operands = leaves(made.call, made.operands, dtype);
  const auto& call = made.call;
  const auto results = run_kernel(call, operands, strategy, offer);
  at::Tensor total;
  for (std::int64_t i = 0; i < call.members; ++i) {
    Tensors own;
    for (std::size_t k = 0; k < results.size(); ++k)
      own.push_back(results[k].defined()
                        ? member_view(results[k], offer.results[k], call.results[k], i, call.members)
                        : results[k]);
    const auto part = loss(call, own, i);
    if (part.defined()) total = total.defined() ? total + part : part;
  }
  if (!total.defined()) return {};
  total.backward();
  return gradients(operands);
}

void expect_gradients(const Case& made, const Strategy& strategy, const Offer& offer, const Tensors& expected,
                      at::ScalarType dtype) {
  SCOPED_TRACE(std::string(strategy.name) + ", " + layouts_of(offer));
  Tensors got;
  try {
    got = wide_gradients(made, strategy, offer, dtype);
  } catch (const std::exception& error) {
    ADD_FAILURE() << std::string_view(error.what()).substr(0, std::string_view(error.what()).find('\n'));
    return;
  }
  ASSERT_FALSE(got.empty()) << "no result depends on an operand";
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i].defined()) continue;
    ASSERT_TRUE(got[i].defined()) << "operand " << i << " has no gradient";
    const auto bound = tolerance(dtype, kDepth, magnitude(expected[i]));
    const auto difference = compare(got[i].to(expected[i].scalar_type()), expected[i], bound);
    EXPECT_TRUE(difference.agrees) << "operand " << i << ", " << difference.text;
  }
}

class Gradients : public testing::TestWithParam<at::ScalarType> {};

TEST_P(Gradients, AgreeWithOneMemberAtATime) {
  const auto dtype = GetParam();
  std::set<std::string> opaque, without;
  int checked = 0;
  for (const auto& primitive : primitives()) {
    auto strategies = primitive.strategies;
    strategies.push_back(kSequential);
    for (const auto& sample : primitive.samples(kMembers)) {
      SCOPED_TRACE(std::string(primitive.name) + ": " + sample.name);
      const auto made = make_case(sample, dtype, kMembers);
      const auto expected = reference(made);
      if (!expected) {
        without.insert(sample.op);
        continue;
      }
      for (const auto& strategy : strategies) {
        if (strategy.on_request || (draws_random(made.call.node) && !strategy.random)) continue;
        const auto answer = strategy.ask(made.call);
        if (!strategy.differentiable) {
          if (!answer.offers.empty())
            opaque.insert(std::string(primitive.name) + " " + std::string(strategy.name));
          continue;
        }
        for (const auto& offer : answer.offers) {
          expect_gradients(made, strategy, offer, *expected, dtype);
          ++checked;
        }
      }
    }
  }
  std::cout << checked << " gradients checked in " << dtype_name(dtype)
            << "\nnot differentiable, by strategy:";
  for (const auto& name : opaque) std::cout << " [" << name << "]";
  std::cout << "\nwithout a derivative, by operator:";
  for (const auto& name : without) std::cout << " " << name;
  std::cout << "\n";
  EXPECT_GT(checked, 500);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Gradients, testing::Values(at::kDouble, at::kFloat),
                         [](const auto& parameter) { return dtype_name(parameter.param); });

}  // namespace
}  // namespace wide
