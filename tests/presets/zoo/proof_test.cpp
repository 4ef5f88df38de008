// Every built-in subject in small sizes: proved, reproducible from its seed, and different by seed and
// member.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "core/model/wide_model.h"
#include "core/passes/verify.h"
#include "core/prove/prove.h"
#include "presets/zoo/zoo.h"

namespace wide::zoo {
namespace {

constexpr std::uint64_t kSeed = 11;

using Values = std::map<std::string, std::int64_t>;

// Small values by the name of a size, pairwise distinct as far as the subjects allow; others keep their
// defaults.
Values small(const Subject& subject) {
  static const Values kSmall = {{"batch", 3},     {"length", 6},      {"channels", 8}, {"depth", 5},
                                {"height", 8},    {"width", 12},      {"d_model", 16}, {"heads", 2},
                                {"features", 10}, {"hidden", 7},      {"outputs", 4},  {"classes", 9},
                                {"text", 5},      {"image", 8},       {"patch", 4},    {"context", 9},
                                {"vector", 11},   {"groups", 4},      {"latent", 6},   {"in_features", 14},
                                {"rows", 5},      {"inner", 9},       {"columns", 4},  {"vocabulary", 13},
                                {"picks", 5},     {"out_features", 7}};
  Values values;
  for (const auto& [name, size] : subject.sizes) {
    if (const auto found = kSmall.find(name); found != kSmall.end() && size.least > 0) {
      values.insert(*found);
    }
  }
  if (values.contains("kernel") || subject.sizes.contains("kernel")) values.erase("groups");
  return values;
}

// As it is, and with each flag turned.
std::vector<Values> variants(const Subject& subject) {
  std::vector<Values> all{small(subject)};
  for (const auto& [name, size] : subject.sizes) {
    if (size.least != 0) continue;
    all.push_back(all.front());
    all.back()[name] = 1 - size.value;
  }
  return all;
}

std::string text(const Values& values) {
  std::string line;
  for (const auto& [name, value] : values)
    line.append(name).append("=").append(std::to_string(value)).append(" ");
  return line;
}

void expect_proof(const Subject& subject, const Values& values, std::int64_t members, at::ScalarType dtype) {
  SCOPED_TRACE(text(values).append("N=").append(std::to_string(members)).append(" ").append(toString(dtype)));
  const auto architecture = build(subject.name, values);
  WideModel model(architecture.graph, make_members(architecture, members, kSeed, dtype));
  const auto proof = prove(model, make_inputs(architecture, members, kSeed, dtype));
  for (const auto& check : proof.checks) EXPECT_TRUE(check.passed) << check.what << ": " << check.text;
  EXPECT_TRUE(proof.passed());
}

class EverySubject : public testing::TestWithParam<std::string> {
 protected:
  const Subject& subject() const { return find_subject(GetParam()); }
};

TEST_P(EverySubject, IsProved) {
  for (const auto& values : variants(subject())) {
    for (const auto dtype : {at::kFloat, at::kDouble}) {
      for (const std::int64_t members : {1, 2, 5}) expect_proof(subject(), values, members, dtype);
    }
    expect_proof(subject(), values, 2, at::kBFloat16);
  }
}

TEST_P(EverySubject, HasAGraphThatVerifies) {
  for (const auto& values : variants(subject())) {
    SCOPED_TRACE(text(values));
    const auto architecture = build(subject().name, values);
    EXPECT_NO_THROW(verify(architecture.graph, "zoo"));
    EXPECT_FALSE(architecture.graph.outputs.empty());
  }
}

using Drawn = std::vector<at::Tensor>;

// Weights and inputs of one member.
Drawn drawn(const Architecture& architecture, std::int64_t member, std::uint64_t seed, bool shared_too) {
  constexpr std::int64_t kMembers = 3;
  Drawn all;
  const auto members = make_members(architecture, kMembers, seed, at::kFloat);
  for (const auto& [fqn, tensor] : members[static_cast<std::size_t>(member)].tensors) {
    if (shared_too || !architecture.weights.at(fqn).shared) all.push_back(tensor);
  }
  for (const auto& input : make_inputs(architecture, kMembers, seed, at::kFloat)) {
    if (input.mapped || shared_too) all.push_back(input.member(member));
  }
  return all;
}

TEST_P(EverySubject, IsDrawnFromItsSeed) {
  const auto architecture = build(subject().name, small(subject()));
  const auto own = drawn(architecture, 0, kSeed, true), again = drawn(architecture, 0, kSeed, true),
             other = drawn(architecture, 0, kSeed + 1, true);
  ASSERT_FALSE(own.empty());
  for (std::size_t i = 0; i < own.size(); ++i) {
    EXPECT_TRUE(own[i].equal(again[i])) << i;
    EXPECT_FALSE(own[i].equal(other[i])) << i;
  }
  const auto first = drawn(architecture, 0, kSeed, false), second = drawn(architecture, 1, kSeed, false);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_FALSE(first[i].equal(second[i])) << i;
}

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const auto& subject : subjects()) list.push_back(subject.name);
  return list;
}

INSTANTIATE_TEST_SUITE_P(Zoo, EverySubject, testing::ValuesIn(names()),
                         [](const auto& one) { return one.param; });

}  // namespace
}  // namespace wide::zoo
