// Operators of large weights: how many packed copies of them measuring holds. And what bad moments of the
// machine do to it.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "core/tune/tuner.h"
#include "tests/fake_load.h"

namespace wide::test {
namespace {

constexpr std::int64_t kMembers = 4, kWidth = 768;  // 9 MB of weights
constexpr int kWays = 5;

int living = 0, most_living = 0;
std::vector<int> made(kWays);

void spin(double milliseconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double, std::milli>(milliseconds);
  while (std::chrono::steady_clock::now() < end) {
  }
}

Answer ask(const Call& call) {
  return offer({std::vector(call.operands.size(), Layout::kFront), {Layout::kFront}, 1});
}

// As a kernel that packs: something of its own lives as long as it does.
Kernel packed(int way, double milliseconds) {
  ++made[static_cast<std::size_t>(way)];
  most_living = std::max(most_living, ++living);
  const std::shared_ptr<void> copy(nullptr, [](void*) { --living; });
  return [copy, milliseconds](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    spin(milliseconds);
    out[0] = in[0];
  };
}

// The first time that it is made, the machine does something else.
Kernel disturbed_at_first(const Call&, const Offer&) {
  return packed(3, made[3] == 0 ? 8 : 0.3);
}

template <int kWay, int kMicroseconds>
Kernel steady(const Call&, const Offer&) {
  return packed(kWay, kMicroseconds / 1e3);
}

NodeCandidates between(const std::vector<const Strategy*>& strategies) {
  living = most_living = 0;
  std::fill(made.begin(), made.end(), 0);
  NodeCandidates node;
  const ConcreteType input{at::kFloat, {2, kWidth}}, weight{at::kFloat, {kWidth, kWidth}};
  node.call = {{"aten.linear.default", {{ValueRef{0}}, {ValueRef{1}}, {}}, {2}, {}},
               kMembers,
               {{input, true, {}}, {weight, true, {}}},
               {input}};
  node.operands = {0, 1};
  for (const auto* strategy : strategies)
    node.candidates.push_back({strategy, ask(node.call).offers[0], false});
  return node;
}

const std::vector<ValueState> kStates = {
    {true, false, Layout::kFront}, {true, true, Layout::kFront}, {true, false, Layout::kFront}};

std::string_view fastest(const NodeCandidates& node) {
  return std::min_element(node.candidates.begin(), node.candidates.end(),
                          [](const Candidate& a, const Candidate& b) { return a.offer.cost < b.offer.cost; })
      ->strategy->name;
}

TEST(Tuner, HoldsTwoPackedCopiesOfLargeWeightsAtMost) {
  const Strategy slow{.name = "slow", .ask = ask, .prepare = steady<0, 6000>},
      middle{.name = "middle", .ask = ask, .prepare = steady<1, 1400>},
      best{.name = "best", .ask = ask, .prepare = steady<2, 1000>},
      far{.name = "far", .ask = ask, .prepare = steady<4, 9000>};
  CostBook book;
  Tuner tuner(book, {Tuning::kMeasure, 20, {}});
  auto node = between({&slow, &middle, &best, &far});
  tuner.settle(node, kStates);
  EXPECT_EQ(most_living, 2);
  EXPECT_EQ(living, 0);
  ASSERT_EQ(node.candidates.size(), 4U);
  for (const auto& one : node.candidates) EXPECT_TRUE(one.measured) << one.strategy->name;
  EXPECT_EQ(fastest(node), "best");
}

TEST(Tuner, HoldsOneWhereTwoAreMoreThanAllowed) {
  const Strategy slow{.name = "slow", .ask = ask, .prepare = steady<0, 3000>},
      best{.name = "best", .ask = ask, .prepare = steady<1, 1000>};
  CostBook book;
  Tuner tuner(book, {.tuning = Tuning::kMeasure, .memory = kMembers * kWidth * kWidth * 4});
  auto node = between({&slow, &best});
  tuner.settle(node, kStates);
  EXPECT_EQ(most_living, 1);
  EXPECT_EQ(living, 0);
  EXPECT_EQ(fastest(node), "best");
}

TEST(Tuner, ABadMomentDoesNotLoseTheFastest) {
  const Strategy disturbed{.name = "disturbed", .ask = ask, .prepare = disturbed_at_first},
      other{.name = "other", .ask = ask, .prepare = steady<1, 2000>},
      third{.name = "third", .ask = ask, .prepare = steady<2, 3000>};
  for (const auto& strategies : std::vector<std::vector<const Strategy*>>{
           {&disturbed, &other, &third}, {&other, &disturbed, &third}, {&other, &third, &disturbed}}) {
    CostBook book;
    Tuner tuner(book, {Tuning::kMeasure, 20, {}});
    auto node = between(strategies);
    tuner.settle(node, kStates);
    EXPECT_EQ(fastest(node), "disturbed");
  }
}

TEST(Tuner, WhatWasTimedBesideOtherWorkIsTimedAgain) {
  const Strategy some{.name = "some", .ask = ask, .prepare = steady<0, 300>},
      other{.name = "other", .ask = ask, .prepare = steady<1, 600>};
  CostBook book;
  const auto load = std::make_shared<FakeLoad>(1);
  const auto measured = [&](Tuning tuning) {
    Tuner tuner(book, {.tuning = tuning, .load = load});
    auto node = between({&some, &other});
    tuner.settle(node, kStates);
    tuner.keep(true);
    EXPECT_TRUE(node.candidates[0].measured);
    return std::pair(tuner.measured(), tuner.doubt());
  };
  const std::string busy = "other processes kept 1.0 CPUs busy while it was measured";
  EXPECT_EQ(measured(Tuning::kMeasure), std::pair(std::int64_t{1}, busy));
  EXPECT_EQ(measured(Tuning::kMeasure), std::pair(std::int64_t{1}, busy));
  EXPECT_EQ(measured(Tuning::kCached), std::pair(std::int64_t{0}, std::string()))
      << "better than an estimate";
  load->others = 0;
  EXPECT_EQ(measured(Tuning::kMeasure), std::pair(std::int64_t{1}, std::string()));
  EXPECT_EQ(measured(Tuning::kMeasure), std::pair(std::int64_t{0}, std::string()));
  EXPECT_EQ(measured(Tuning::kAnew), std::pair(std::int64_t{1}, std::string()));
  load->others = 1;
  EXPECT_EQ(measured(Tuning::kMeasure), std::pair(std::int64_t{0}, std::string())) << "it is known";
  EXPECT_EQ(measured(Tuning::kAnew), std::pair(std::int64_t{1}, busy));
  load->others = 0;
  EXPECT_EQ(measured(Tuning::kMeasure), std::pair(std::int64_t{1}, std::string())) << "it was doubted";
}

TEST(Tuner, BesideOtherWorkNothingIsTimedTwice) {
  const Strategy some{.name = "some", .ask = ask, .prepare = steady<0, 300>},
      other{.name = "other", .ask = ask, .prepare = steady<1, 600>};
  CostBook book;
  for (const auto times : {2, 1}) {  // one, to see that the other work is still there
    Tuner tuner(book, {.tuning = Tuning::kMeasure, .load = std::make_shared<FakeLoad>(1)});
    for (const auto* strategy : {&some, &other}) {
      auto node = between({strategy});
      tuner.settle(node, kStates);
    }
    tuner.keep(true);
    EXPECT_EQ(tuner.measured(), times);
    EXPECT_NE(tuner.doubt(), "");
  }
}

TEST(Tuner, TriesAgainWhenOtherWorkIsOver) {
  const Strategy some{.name = "some", .ask = ask, .prepare = steady<0, 300>},
      other{.name = "other", .ask = ask, .prepare = steady<1, 600>};
  CostBook book;
  const auto load = std::make_shared<FakeLoad>(1);
  Tuner tuner(book, {.tuning = Tuning::kMeasure, .load = load});
  tuner.begin();
  auto node = between({&some, &other});
  tuner.settle(node, kStates);
  EXPECT_FALSE(tuner.try_again()) << "the machine is still busy";
  load->others = 0;
  tuner.learn("a whole pass", 1);
  tuner.keep(true);
  EXPECT_FALSE(book.find("a whole pass").value().quiet) << "its plan was made by bad times";
  EXPECT_TRUE(tuner.try_again());
  EXPECT_FALSE(tuner.known("a whole pass"));
  node = between({&some, &other});
  tuner.settle(node, kStates);
  EXPECT_EQ(tuner.measured(), 2);
  EXPECT_FALSE(tuner.try_again());
  EXPECT_EQ(tuner.doubt(), "");
}

// A device whose work takes another time than to launch it: kernels say how long while they are recorded.
double recorded_ms = -1;

template <int kLaunch, int kWork>
Kernel launched(const Call&, const Offer&) {
  return [](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    if (recorded_ms >= 0) {
      recorded_ms += kWork / 1e3;
    } else {
      spin(kLaunch / 1e3);
    }
    out[0] = in[0];
  };
}

Kernel waiting(const Call&, const Offer&) {
  return [](std::span<const at::Tensor> in, std::span<at::Tensor> out) {
    TORCH_CHECK(recorded_ms < 0, "it waits");
    out[0] = in[0];
  };
}

ComputeDevice recorder() {
  struct Replay final : Recording {
    explicit Replay(double time) : ms(time) {}
    void replay() override { spin(ms); }
    double ms;
  };
  ComputeDevice device{.device = at::kCPU, .name = "recorder"};
  device.record = [](c10::function_ref<void()> work) -> std::unique_ptr<Recording> {
    recorded_ms = 0;
    try {
      work();
    } catch (...) {
      recorded_ms = -1;
      throw;
    }
    return std::make_unique<Replay>(std::exchange(recorded_ms, -1));
  };
  return device;
}

TEST(Tuner, CostsOfRecordedPassesAreThoseOfTheDevice) {
  const Strategy slow_to_launch{.name = "slow to launch", .ask = ask, .prepare = launched<900, 100>},
      slow{.name = "slow", .ask = ask, .prepare = launched<200, 400>},
      waits{.name = "waits", .ask = ask, .prepare = waiting};
  CostBook book;
  for (const bool records : {false, true}) {
    auto device = recorder();
    if (!records) device.record = nullptr;
    Tuner tuner(book, {Tuning::kMeasure, 20, {}}, device);
    auto node = between({&slow_to_launch, &slow, &waits});
    tuner.settle(node, kStates);
    EXPECT_EQ(tuner.measured(), 1) << "each has times of its own";
    EXPECT_EQ(fastest(node), records ? "slow to launch" : "waits");
    EXPECT_EQ(node.candidates.size(), records ? 2U : 3U) << "what cannot be recorded is none";
    const auto& first = node.candidates.front();
    EXPECT_EQ(first.strategy->name, "slow to launch");
    EXPECT_GT(first.offer.cost, records ? 90'000 : 800'000);
    EXPECT_LT(first.offer.cost, records ? 300'000 : 3'000'000);
  }
}

}  // namespace
}  // namespace wide::test
