// Which operation holds the speed-up back, of traces whose times are known.
#include "profiler/trace/limits.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profiler/trace/sample_traces.h"

namespace wide::profiler {
namespace {

Peaks peaks() {
  Peaks peaks{.machine = "m", .device = "cpu", .threads = 2};
  peaks.flops["float32"] = 1e10;
  peaks.bandwidth = {{1e3, 4e8}, {1e8, 1e8}};
  return peaks;
}

struct Seen {
  Trace wide = test::wide_trace(), eager = test::eager_trace();

  Limits limits() {
    const auto ours = structure(wide), theirs = structure(eager);
    const auto compared = compare(wide, ours, eager, theirs);
    const auto roof = roofline(wide, ours, peaks(), "float32");
    return profiler::limits(wide, ours, &compared, &roof);
  }
};

TEST(Limits, WhatLosesMostComesFirst) {
  Seen seen;
  const auto found = seen.limits();
  EXPECT_EQ(found.rival, "eager");
  EXPECT_NEAR(found.speedup(), 2, 1e-9);
  ASSERT_EQ(found.nodes.size(), 2U);
  for (std::size_t i = 1; i < found.nodes.size(); ++i)
    EXPECT_GE(found.nodes[i - 1].lost_us, found.nodes[i].lost_us);
  double share = 0;
  for (const auto& node : found.nodes) {
    share += node.share;
    EXPECT_NEAR(node.lost_us, node.wide_us - node.roof_us, 1e-9) << node.name;
    EXPECT_GT(node.rival_us, node.wide_us) << node.name;
  }
  EXPECT_NEAR(share, 1, 1e-9);
}

TEST(Limits, AFasterStrategyIsTheActionAndItsEffectIsForeseen) {
  Seen seen;
  seen.wide.facts[kOffersFact] = offers_text({{.node = seen.wide.nodes[0].name,
                                               .module = "body.0",
                                               .chosen = {"grouped", 2.0, true},
                                               .others = {{"im2col", 1.0, true}, {"dense", 3.0, true}}},
                                              {.node = seen.wide.nodes[1].name,
                                               .module = "body.1",
                                               .chosen = {"passthrough", 1.0, false},
                                               .others = {}}});
  const auto found = seen.limits();
  const auto node = std::find_if(found.nodes.begin(), found.nodes.end(),
                                 [&](const Limit& one) { return one.name == seen.wide.nodes[0].name; });
  ASSERT_NE(node, found.nodes.end());
  EXPECT_EQ(node->action.what, "strategy im2col");
  EXPECT_EQ(node->action.basis, "measured alone");
  EXPECT_NEAR(node->action.saved_us, node->wide_us / 2, 1e-9);
  EXPECT_NEAR(node->action.speedup, found.rival_us / (found.wide_us - node->wide_us / 2), 1e-9);
  ASSERT_EQ(found.modules.size(), 1U) << "a module of one node says no more than the node";
  EXPECT_EQ(found.modules[0].name, "body");
  EXPECT_EQ(found.modules[0].nodes, 2);
  EXPECT_NEAR(found.modules[0].share, 1, 1e-9);
  const auto document = to_json(found);
  EXPECT_EQ(document.at("nodes").size(), 2U);
  EXPECT_EQ(document.at("modules")[0].at("name"), "body");
}

TEST(Limits, WithoutRivalOrRoofSayWhatTheyKnow) {
  const auto wide = test::wide_trace();
  const auto found = limits(wide, structure(wide), nullptr, nullptr);
  EXPECT_TRUE(found.rival.empty());
  EXPECT_EQ(found.speedup(), 0);
  for (const auto& node : found.nodes) {
    EXPECT_EQ(node.roof_us, 0);
    EXPECT_EQ(node.bound, Bound::kNothing);
    EXPECT_EQ(node.action.speedup, 0);
  }
}

TEST(Limits, ADoubtfulGainIsDoubted) {
  EXPECT_EQ(doubt({.rival_us = 100, .wide_us = 50, .kernel_efficiency = 45, .residual = 5}), "");
  EXPECT_NE(doubt({.rival_us = 1010, .wide_us = 663, .kernel_efficiency = 6041, .residual = -5694}), "");
  Trace wide = test::wide_trace();
  wide.facts[kOffersFact] = "{not JSON";
  EXPECT_TRUE(offers_of(wide).empty());
}

}  // namespace
}  // namespace wide::profiler
