// Every strategy of every primitive on numbers from denormals to near the largest, and on NaN and Inf in one
// element, against ATen on one member at a time in the same dtype: the same NaN, Inf, zeros and overflow.
// Knows no primitive.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/eager/operators.h"
#include "core/strategy/sequential.h"
#include "primitives/cases.h"

namespace wide {
namespace {

using namespace test;

// Powers of two that operands are multiplied by: results then lie far from the limit on either side of it, so
// that the order of a sum does not decide whether it overflows.
constexpr std::array kExponents = {-149, -126, -64, -20, 20, 60, 64, 90, 110};
constexpr double kRelative = 1e-3;

// What each member gives alone; nothing where ATen refuses one.
std::optional<std::vector<Tensors>> alone(const Case& made) {
  std::vector<Tensors> all;
  try {
    for (std::int64_t i = 0; i < made.call.members; ++i)
      all.push_back(run_member(made.call, made.operands, i));
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return all;
}

// "" where they are NaN, Inf and zero at the same places, and near each other elsewhere.
std::string difference(const at::Tensor& got, const at::Tensor& expected) {
  const auto a = got.to(at::kDouble), b = expected.to(at::kDouble);
  const auto differ = [&](const char* what, const at::Tensor& x, const at::Tensor& y) {
    const auto count = x.ne(y).sum().item<std::int64_t>();
    return count ? std::to_string(count) + " of " + std::to_string(x.numel()) + " differ in " + what : "";
  };
  if (auto text = differ("NaN", a.isnan(), b.isnan()); !text.empty()) return text;
  if (auto text = differ("Inf", a.isposinf(), b.isposinf()); !text.empty()) return text;
  if (auto text = differ("-Inf", a.isneginf(), b.isneginf()); !text.empty()) return text;
  const auto zeros = a.eq(0).logical_and(b.eq(0));
  if (auto text = differ("the sign of 0", a.signbit().logical_and(zeros), b.signbit().logical_and(zeros));
      !text.empty())
    return text;
  const auto finite = b.isfinite();
  const auto x = a.masked_select(finite), y = b.masked_select(finite);
  if (x.numel() == 0) return "";
  const auto scale = y.abs().max().item<double>();
  const auto worst = (x - y).abs().max().item<double>();
  const auto bound = kRelative * scale + static_cast<double>(std::numeric_limits<float>::min());
  return worst <= bound ? ""
                        : "finite numbers differ by " + std::to_string(worst / scale) + " of the largest";
}

void expect_as_alone(const Primitive& primitive, const Case& made) {
  const auto expected = alone(made);
  if (!expected) return;  // refused as alone: bounds_test.cpp
  for (const auto& strategy : primitive.strategies) {
    if (strategy.on_request) continue;
    for (const auto& offer : strategy.ask(made.call).offers) {
      SCOPED_TRACE(std::string(strategy.name) + ", " + layouts_of(offer));
      Tensors results;
      try {
        results = run_kernel(made.call, made.operands, strategy, offer);
      } catch (const std::exception& error) {
        ADD_FAILURE() << std::string_view(error.what()).substr(0, std::string_view(error.what()).find('\n'));
        continue;
      }
      for (std::size_t k = 0; k < results.size(); ++k) {
        const auto& type = made.call.results[k];
        if (made.call.node.results[k] < 0 || !at::isFloatingType(type.dtype)) continue;
        for (std::int64_t i = 0; i < made.call.members; ++i) {
          const auto own = member_view(results[k], offer.results[k], type, i, made.call.members);
          const auto text = difference(own, (*expected)[static_cast<std::size_t>(i)][k]);
          EXPECT_TRUE(text.empty()) << "member " << i << ", result " << k << ": " << text;
        }
      }
    }
  }
}

// The element that is odd: the first of the second member, or of the shared tensor.
at::Tensor with_odd(const at::Tensor& operand, bool mapped, double value) {
  auto changed = operand.clone();
  (mapped ? changed.select(0, 1) : changed).view(-1)[0].fill_(value);
  return changed;
}

template <typename Each>
void for_cases(const Each& each) {
  const c10::InferenceMode guard;
  for (const auto& primitive : primitives()) {
    for (const auto& sample : primitive.samples(kMembers)) {
      auto made = make_case(sample, at::kFloat, kMembers);
      if (draws_random(made.call.node)) continue;
      // All positive: what sums to NaN by one order and to Inf by another is no one's fault.
      for (auto& operand : made.operands) {
        if (operand.scalar_type() == at::kFloat) operand = operand.abs() + 0.25;
      }
      for (std::size_t k = 0; k < made.operands.size(); ++k) {
        if (made.operands[k].scalar_type() != at::kFloat || made.operands[k].numel() == 0) continue;
        SCOPED_TRACE(std::string(primitive.name) + ": " + sample.name + ", operand " + std::to_string(k));
        each(primitive, made, k);
      }
    }
  }
}

TEST(Range, FromDenormalsToNearTheLargestAsAlone) {
  for_cases([](const Primitive& primitive, const Case& made, std::size_t k) {
    for (const int exponent : kExponents) {
      SCOPED_TRACE("times 2^" + std::to_string(exponent));
      auto scaled = made;
      scaled.operands[k] = (made.operands[k].to(at::kDouble) * std::ldexp(1.0, exponent)).to(at::kFloat);
      expect_as_alone(primitive, scaled);
    }
  });
}

TEST(Range, NaNAndInfAsAlone) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for_cases([](const Primitive& primitive, const Case& made, std::size_t k) {
    // ATen's own algorithms differ in whether the padding of an image multiplies a weight.
    const bool convolves = primitive.name == "conv" || primitive.name == "conv_transpose";
    if (convolves && made.call.operand_of(1) == k) return;
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity}) {
      SCOPED_TRACE(value);
      auto odd = made;
      odd.operands[k] = with_odd(made.operands[k], made.call.operands[k].mapped, value);
      expect_as_alone(primitive, odd);
    }
  });
}

// With one member's operand all `value`, the others' results are what they were, to the bit.
void expect_others_unchanged(const Primitive& primitive, const Case& made, std::size_t k, double value) {
  auto odd = made;
  odd.operands[k] = made.operands[k].clone();
  odd.operands[k].select(0, 1).fill_(value);
  for (const auto& strategy : primitive.strategies) {
    if (strategy.on_request) continue;
    for (const auto& offer : strategy.ask(made.call).offers) {
      SCOPED_TRACE(std::string(strategy.name) + ", " + layouts_of(offer));
      Tensors before, after;
      try {
        before = run_kernel(made.call, made.operands, strategy, offer);
        after = run_kernel(odd.call, odd.operands, strategy, offer);
      } catch (const std::exception&) {
        continue;  // refused as alone: bounds_test.cpp
      }
      for (std::size_t r = 0; r < before.size(); ++r) {
        if (made.call.node.results[r] < 0) continue;
        for (const std::int64_t i : {0, 2}) {
          const auto of = [&](const Tensors& all) {
            return member_view(all[r], offer.results[r], made.call.results[r], i, made.call.members);
          };
          EXPECT_TRUE(at::equal(of(before), of(after))) << "member " << i << ", result " << r;
        }
      }
    }
  }
}

TEST(Range, OneMembersNumbersChangeNoBitOfAnothers) {
  for_cases([](const Primitive& primitive, const Case& made, std::size_t k) {
    if (!made.call.operands[k].mapped) return;
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), 3e38}) {
      SCOPED_TRACE(value);
      expect_others_unchanged(primitive, made, k, value);
    }
  });
}

// Every second number of each operand in turn is 0 or -0, in turns, and the others have both signs.
TEST(Range, SignsOfZeroAsAlone) {
  for_cases([](const Primitive& primitive, const Case& made, std::size_t k) {
    auto zeros = made;
    for (std::size_t j = 0; j < made.operands.size(); ++j) {
      if (made.operands[j].scalar_type() != at::kFloat) continue;
      auto& operand = zeros.operands[j];
      const auto place = at::arange(operand.numel()).view(operand.sizes());
      operand = operand * (1 - 2 * place.div(2, "floor").remainder(2));
      if (j == k) operand = operand * place.remainder(2);
    }
    expect_as_alone(primitive, zeros);
  });
}

}  // namespace
}  // namespace wide
