// What parity cannot know of dropout: streams go on from pass to pass, and one mask for all is one mask.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gtest/gtest.h>

#include "core/strategy/sequential.h"
#include "primitives/cases.h"

namespace wide {
namespace {

using namespace test;

constexpr double kProbability = 0.5;

const Primitive& dropout() {
  return *find_primitive("aten.dropout.default");
}

const Strategy& strategy(std::string_view name) {
  for (const auto& one : dropout().strategies) {
    if (one.name == name) return one;
  }
  throw std::logic_error("no such strategy");
}

Case half(std::int64_t members) {
  return make_case(dropout().samples(members)[0], at::kFloat, members);
}

TEST(Dropout, AStreamGoesOnFromPassToPassAsItDoesAlone) {
  const c10::InferenceMode guard;
  const auto made = half(kMembers);
  MemberStreams streams({7, 8, 9});
  const MemberStreams::Active active(&streams);
  const auto& independent = strategy("independent");
  const auto kernel = independent.prepare(made.call, independent.ask(made.call).offers[0]);
  Tensors passes;
  for (int pass = 0; pass < 2; ++pass) {
    Tensors results(1);
    kernel(made.operands, results);
    passes.push_back(results[0]);
  }
  for (std::int64_t i = 0; i < kMembers; ++i) {
    auto generator = at::detail::getDefaultCPUGenerator();
    generator.set_current_seed(7 + static_cast<std::uint64_t>(i));
    for (const auto& pass : passes)
      EXPECT_TRUE(pass[i].equal(at::dropout(made.operands[0][i], kProbability, true))) << "member " << i;
  }
  EXPECT_FALSE(passes[0].equal(passes[1]));
}

TEST(Dropout, OneMaskIsForAllAndOnlyOnRequest) {
  const c10::InferenceMode guard;
  const auto made = half(kMembers);
  const auto& shared = strategy("shared_mask");
  EXPECT_TRUE(shared.on_request);
  const auto results = run_kernel(made.call, made.operands, shared, shared.ask(made.call).offers[0]);
  const auto kept = results[0] != 0;
  for (std::int64_t i = 0; i < kMembers; ++i) EXPECT_TRUE(kept[i].equal(kept[0])) << "member " << i;
  EXPECT_TRUE(kept[0].any().item<bool>());
  EXPECT_FALSE(kept[0].all().item<bool>());
  EXPECT_TRUE(results[0].equal(at::where(kept, made.operands[0] / (1 - kProbability), 0.0)));
}

}  // namespace
}  // namespace wide
