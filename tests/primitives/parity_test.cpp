// Every strategy of every primitive, on every sample, in every layout it offers, against the operator run on
// one member at a time in float64. Knows no primitive.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/aten/torch_bridge.h"
#include "core/eager/operators.h"
#include "core/ir/compare.h"
#include "core/strategy/primitive.h"
#include "core/strategy/sequential.h"
#include "primitives/cases.h"

namespace wide {
namespace {

using namespace test;

// Roundings in a row inside one kernel; the tolerance leaves room for sums along an axis too.
constexpr std::int64_t kDepth = 4;

// What each member gets alone in float64; results keep the dtypes that the operator gives them in `call`.
std::vector<Tensors> references(const Case& made) {
  auto operands = made.operands;
  for (auto& operand : operands) {
    if (operand.is_floating_point()) operand = operand.to(at::kDouble);
  }
  std::vector<Tensors> all;
  for (std::int64_t i = 0; i < made.call.members; ++i) all.push_back(run_member(made.call, operands, i));
  return all;
}

void expect_member(const Case& made, const Offer& offer, const Tensors& results, const Tensors& reference,
                   std::int64_t member) {
  const auto& call = made.call;
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (call.node.results[k] < 0) continue;
    const auto got = member_view(results[k], offer.results[k], call.results[k], member, call.members);
    const auto dtype = call.results[k].dtype;
    const bool rounded = at::isFloatingType(dtype) || at::isComplexType(dtype);
    const auto bound = tolerance(dtype, kDepth, magnitude(reference[k]));
    const auto difference = compare(rounded ? got.to(reference[k].scalar_type()) : got, reference[k], bound);
    EXPECT_TRUE(difference.agrees) << "member " << member << ", result " << k << ", " << difference.text;
  }
}

void expect_promised(const Case& made, const Offer& offer, const Tensors& results) {
  const auto& call = made.call;
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (call.node.results[k] < 0) continue;
    ASSERT_TRUE(results[k].defined()) << "result " << k << " is not assigned";
    ASSERT_EQ(results[k].sizes(),
              at::IntArrayRef(physical_shape(call.results[k], offer.results[k], call.members)))
        << "result " << k;
    ASSERT_TRUE(!is_last(offer.results[k]) ||
                results[k].is_contiguous(memory_format(offer.results[k], call.results[k].rank())))
        << "result " << k << " has strides " << results[k].strides();
    ASSERT_EQ(results[k].scalar_type(), call.results[k].dtype) << "result " << k;
  }
}

// NaN in one member's operands must not be seen by another.
void expect_no_cross_talk(const Case& made, const Strategy& strategy, const Offer& offer,
                          const std::vector<Tensors>& reference) {
  constexpr std::int64_t kPoisoned = 1;
  if (made.call.members <= kPoisoned) return;
  auto operands = made.operands;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!made.call.operands[i].mapped || !operands[i].is_floating_point()) continue;
    operands[i] = operands[i].clone();
    operands[i].select(0, kPoisoned).fill_(std::numeric_limits<double>::quiet_NaN());
  }
  SCOPED_TRACE("NaN in member 1");
  const auto results = run_kernel(made.call, operands, strategy, offer);
  for (std::int64_t i = 0; i < made.call.members; ++i) {
    if (i != kPoisoned) expect_member(made, offer, results, reference[static_cast<std::size_t>(i)], i);
  }
}

void expect_parity(const Case& made, const Strategy& strategy, const Offer& offer,
                   const std::vector<Tensors>& reference) {
  SCOPED_TRACE(layouts_of(offer));
  ASSERT_EQ(offer.operands.size(), made.operands.size());
  ASSERT_EQ(offer.results.size(), made.call.results.size());
  Tensors before;
  for (const auto& operand : made.operands) before.push_back(operand.clone());
  const auto results = run_kernel(made.call, made.operands, strategy, offer);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(before[i].equal(made.operands[i])) << "operand " << i << " was written";
  ASSERT_NO_FATAL_FAILURE(expect_promised(made, offer, results));
  for (std::int64_t i = 0; i < made.call.members; ++i)
    expect_member(made, offer, results, reference[static_cast<std::size_t>(i)], i);
  expect_no_cross_talk(made, strategy, offer, reference);
}

// The names of the strategies that offered to run the sample.
std::set<std::string_view> check_strategies(const Primitive& primitive, const Case& made) {
  std::set<std::string_view> reached;
  const auto reference = references(made);
  auto strategies = primitive.strategies;
  strategies.push_back(kSequential);
  for (const auto& strategy : strategies) {
    SCOPED_TRACE(std::string(strategy.name));
    const auto answer = strategy.ask(made.call);
    EXPECT_EQ(answer.offers.empty(), !answer.refusal.empty())
        << "an answer has offers, or the reason why not";
    for (const auto& offer : answer.offers) {
      reached.insert(strategy.name);
      EXPECT_TRUE(std::isfinite(offer.cost) && offer.cost > 0) << offer.cost;
      if (strategy.on_request) continue;  // computes something else; its own test says what
      if (draws_random(made.call.node) && !strategy.random) continue;
      try {
        expect_parity(made, strategy, offer, reference);
      } catch (const std::exception& error) {
        ADD_FAILURE() << std::string_view(error.what()).substr(0, std::string_view(error.what()).find('\n'));
      }
    }
  }
  return reached;
}

class Parity : public testing::TestWithParam<at::ScalarType> {};

TEST_P(Parity, StrategiesAgreeWithOneMemberAtATime) {
  const c10::InferenceMode guard;
  const auto dtype = GetParam();
  int ran = 0, skipped = 0;
  for (const auto& primitive : primitives()) {
    for (const auto members : {kMembers, std::int64_t{1}}) {
      for (const auto& sample : primitive.samples(members)) {
        SCOPED_TRACE(std::string(primitive.name) + ": " + sample.name + ", " + std::to_string(members) +
                     " members");
        std::optional<Case> made;
        try {
          made = make_case(sample, dtype, members);
        } catch (const c10::Error& error) {
          // Half types have fewer kernels; the two others must run everything.
          if (dtype != at::kBFloat16) ADD_FAILURE() << error.what_without_backtrace();
          std::cout << "skipped " << primitive.name << ", " << sample.name << ": " << sample.op << " has no "
                    << dtype_name(dtype) << " kernel\n";
          ++skipped;
          continue;
        }
        check_strategies(primitive, *made);
        ++ran;
      }
    }
  }
  std::cout << ran << " samples ran in " << dtype_name(dtype) << ", " << skipped << " skipped\n";
  EXPECT_GT(ran, 20 * skipped) << "most samples must run";
}

INSTANTIATE_TEST_SUITE_P(Dtypes, Parity, testing::Values(at::kDouble, at::kFloat, at::kBFloat16),
                         [](const auto& parameter) { return dtype_name(parameter.param); });

TEST(Registry, EveryStrategyIsReachedByASample) {
  const c10::InferenceMode guard;
  for (const auto& primitive : primitives()) {
    std::set<std::string_view> reached;
    for (const auto& sample : primitive.samples(kMembers)) {
      for (const auto dtype : {at::kDouble, at::kFloat}) {
        const auto made = make_case(sample, dtype, kMembers);
        for (const auto& strategy : primitive.strategies) {
          if (!strategy.ask(made.call).offers.empty()) reached.insert(strategy.name);
        }
      }
    }
    for (const auto& strategy : primitive.strategies) {
      EXPECT_TRUE(reached.contains(strategy.name))
          << primitive.name << ": no sample reaches " << strategy.name;
    }
  }
}

TEST(Registry, NamesAreUnique) {
  std::set<std::string_view> names, ops;
  for (const auto& primitive : primitives()) {
    EXPECT_TRUE(names.insert(primitive.name).second) << primitive.name;
    EXPECT_FALSE(primitive.strategies.empty()) << primitive.name;
    for (const auto op : primitive.ops)
      EXPECT_TRUE(ops.insert(op).second) << op << " has two owners, one " << primitive.name;
    std::set<std::string_view> strategies{kSequential.name, "auto", "shared", "constant"};
    for (const auto& strategy : primitive.strategies) {
      EXPECT_TRUE(strategies.insert(strategy.name).second) << primitive.name << " " << strategy.name;
    }
  }
}

TEST(Registry, ListedOperatorsExist) {
  for (const auto& primitive : primitives()) {
    for (const auto op : primitive.ops)
      EXPECT_TRUE(find_operator(op)) << primitive.name << ": " << op << " is not in ATen";
  }
}

TEST(Registry, SamplesBelongToTheirPrimitive) {
  for (const auto& primitive : primitives()) {
    std::set<std::string> samples;
    ASSERT_TRUE(primitive.samples) << primitive.name;
    for (const auto& sample : primitive.samples(kMembers)) {
      EXPECT_TRUE(samples.insert(sample.name).second)
          << primitive.name << ": two samples are named " << sample.name;
      EXPECT_EQ(find_primitive(sample.op), &primitive) << sample.op;
      bool mapped = false;
      for (const auto& operand : sample.operands) mapped |= operand.mapped;
      EXPECT_TRUE(mapped) << primitive.name << ", " << sample.name << ": nothing differs per member";
    }
  }
}

}  // namespace
}  // namespace wide
