// What depends on data, control flow, and writes that ATen has no pure operator for: every member computes
// what it computes alone, pass after pass, by every way of running.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <gmock/gmock.h>

#include "core/ir/text.h"
#include "core/prove/prove.h"
#include "tests/core/by_member_cases.h"
#include "tests/core/support.h"

namespace wide::test {

// Readable names of parametrised tests.
std::ostream& operator<<(std::ostream& out, const ByMemberCase& one) {
  return out << one.name;
}

namespace {

class ByMember : public testing::TestWithParam<ByMemberCase> {};

void expect_as_alone(WideModel& model, std::span<const ModelInput> inputs) {
  const auto outputs = model.forward(inputs);
  for (std::int64_t i = 0; i < model.members(); ++i) {
    const auto alone = model.run_alone(i, inputs).outputs;
    ASSERT_EQ(alone.size(), outputs.size());
    for (std::size_t k = 0; k < alone.size(); ++k) {
      const auto expected =
          alone[k].isTensor() ? alone[k].toTensor() : at::scalar_tensor(alone[k].toScalar(), at::kLong);
      EXPECT_TRUE(agree(outputs[k].member(i), expected)) << "member " << i << ", output " << k;
    }
  }
}

TEST_P(ByMember, IsAsAloneInEveryPassAndPlan) {
  const auto graph = parse_graph("graph \"g\"\n" + std::string(GetParam().text));
  for (const auto* strategy : {"auto", "sequential", "wide"}) {
    for (const bool mapped : {true, false}) {
      SCOPED_TRACE(std::string(strategy) + (mapped ? ", inputs per member" : ", shared inputs"));
      BuildOptions options;
      options.strategies.all = strategy;
      WideModel model(graph, made_up_members(graph, kMembers), options);
      for (int pass = 0; pass < 3; ++pass) {
        at::manual_seed(100 + static_cast<std::uint64_t>(pass));
        const ModelInput input{mapped ? at::randn({kMembers, 4, 4}) : at::randn({4, 4}), mapped};
        expect_as_alone(model, {&input, 1});
      }
    }
  }
}

TEST_P(ByMember, RunsBySchedules) {
  const auto graph = parse_graph("graph \"g\"\n" + std::string(GetParam().text));
  at::manual_seed(3);
  const ModelInput input{at::randn({4, 4, 4}), true};
  WideModel planned(graph, made_up_members(graph, 4));
  const auto& built = planned.build({&input, 1});
  auto stored = store(built.optimized, 4, built.planned);
  for (const auto& schedule : {Schedule{2, 1, 0}, Schedule{2, 2, 0}, Schedule{4, 1, 1}}) {
    BuildOptions options;
    options.plan = stored;
    options.plan->schedule = schedule;
    WideModel model(graph, made_up_members(graph, 4), options);
    expect_as_alone(model, {&input, 1});
  }
}

TEST_P(ByMember, IsProvedAndCounted) {
  const auto graph = parse_graph("graph \"g\"\n" + std::string(GetParam().text));
  for (const bool equal : {false, true}) {
    WideModel model(graph, made_up_members(graph, kMembers, equal));
    at::manual_seed(5);
    const ModelInput input{at::randn({kMembers, 4, 4}), true};
    for (const auto& check : prove(model, {&input, 1}).checks)
      EXPECT_TRUE(check.passed) << check.what << ": " << check.text;
    const auto counted = coverage(model.build({&input, 1})).sequential_ops;
    if (GetParam().sequential.empty()) {
      EXPECT_TRUE(counted.empty()) << counted.begin()->first;
    } else {
      EXPECT_TRUE(counted.contains(std::string(GetParam().sequential)));
    }
  }
}

TEST_P(ByMember, PrintsAndParses) {
  const auto text = "graph \"g\"\n" + std::string(GetParam().text);
  EXPECT_EQ(print(parse_graph(text)), text);
}

std::string case_name(const testing::TestParamInfo<ByMemberCase>& one) {
  return std::string(one.param.name);
}
INSTANTIATE_TEST_SUITE_P(Data, ByMember, testing::ValuesIn(data_cases().begin(), data_cases().end()),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Writes, ByMember, testing::ValuesIn(write_cases().begin(), write_cases().end()),
                         case_name);

TEST(ByMember, ABodyThatIsNotClosedIsNamed) {
  expect_error([] { parse_graph("graph \"g\"\ninput %x \"x\"\n%y = wide.call([%x]) {\n  input %a \"a\"\n"); },
               "parse", {"not closed"});
  expect_error([] { parse_graph("graph \"g\"\n}\n"); }, "parse", {"line 2"});
}

TEST(ByMember, ChecksOfDataRefuseAsAlone) {
  const auto graph = parse_graph(R"(graph "g"
input %x "x" : float32[4, 4]
%s : float32[] = aten.sum.default(%x, none)
%n : scalar = aten.item.default(%s)
%p : scalar = sym.ge(%n, 0)
aten._assert_scalar.default(%p, "the sum is not negative")
%y : float32[4, 4] = aten.mul.Scalar(%x, 2)
output %y
)");
  for (const bool mapped : {true, false}) {
    WideModel model(graph, made_up_members(graph, 2, false));
    const ModelInput good{mapped ? at::ones({2, 4, 4}) : at::ones({4, 4}), mapped};
    expect_as_alone(model, {&good, 1});
    const ModelInput bad{mapped ? at::stack({at::ones({4, 4}), -at::ones({4, 4})}) : -at::ones({4, 4}),
                         mapped};
    expect_error([&] { model.forward({&bad, 1}); }, "run", {"the sum is not negative"});
  }
}

TEST(ByMember, OutputsOfDifferentShapesAreTakenMemberByMember) {
  const auto graph = parse_graph("graph \"g\"\n" + std::string(data_cases()[0].text));
  WideModel model(graph, made_up_members(graph, 2, false));
  const ModelInput input{at::stack({at::ones({4, 4}), -at::ones({4, 4})}), true};
  const auto outputs = model.forward({&input, 1});
  EXPECT_EQ(outputs[1].member(0).numel(), 16);
  EXPECT_EQ(outputs[1].member(1).numel(), 0);
  expect_error([&] { outputs[1].stacked(); }, "run", {"member by member"});
}

// Data that decide how many axes a result has; what the caller does to it changes no later pass.
TEST(ByMember, OutputsOfDifferentNumbersOfAxes) {
  const auto graph = parse_graph(R"(graph "g"
input %x "x" : float32[4]
parameter %w "w" : float32[4]
%m : bool[4] = aten.gt.Scalar(%x, 0)
%s : float32[u0] = aten.masked_select.default(%x, %m)
%q : float32[u0] = aten.squeeze.default(%s)
%n : bool[4] = aten.gt.Scalar(%w, 0.5)
%t : float32[u1] = aten.masked_select.default(%w, %n)
%r : float32[u1] = aten.squeeze.default(%t)
%e : float32[u1] = aten.exp.default(%r)
output %q
output %r
)");
  std::vector<Member> members(3);
  const auto rows = at::tensor({0, 0, 0, 0, 0, 3, 0, 0, 1, 0, 0, 1}, at::kFloat).reshape({3, 4});
  for (std::int64_t i = 0; i < 3; ++i)
    members[static_cast<std::size_t>(i)] = {"member" + std::to_string(i), {{"w", rows[i].clone()}}};
  WideModel model(graph, members);
  const ModelInput input{rows, true};
  for (int pass = 0; pass < 3; ++pass) {
    const auto outputs = model.forward({&input, 1});
    for (const auto& output : outputs) {
      EXPECT_TRUE(output.member(0).equal(at::empty({0})));
      EXPECT_TRUE(output.member(1).equal(at::scalar_tensor(3.0)));
      EXPECT_TRUE(output.member(2).equal(at::ones({2})));
      expect_error([&] { output.stacked(); }, "run", {"member by member"});
      const c10::InferenceMode guard;
      for (std::int64_t i = 0; i < 3; ++i) output.member(i).zero_();
    }
  }
  const ModelInput one{at::ones({3, 4}), true};  // the same axes for all again
  EXPECT_TRUE(model.forward({&one, 1})[0].stacked().equal(at::ones({3, 4})));
}

// What is detached in place is what it was, for the member alone and for all of them.
TEST(ByMember, ABufferDetachedInPlaceIsProved) {
  for (const std::string under_another_name :
       {"", "%c : float32[3] = aten.feature_dropout.default(%b, 0.5, false)\n"}) {
    const auto detached = under_another_name.empty() ? "%b" : "%c";
    const auto graph = parse_graph(R"(graph "g"
input %x "x" : float32[3]
buffer %b "b" : float32[3]
)" + under_another_name + "%d : float32[3] = aten.detach_.default(" +
                                   detached + R"()
%y : float32[3] = aten.add.Tensor(%x, %d, 1)
output %y
)");
    WideModel model(graph, made_up_members(graph, 2));
    const ModelInput input{at::randn({2, 3}), true};
    const auto proof = prove(model, {&input, 1});
    for (const auto& check : proof.checks) EXPECT_TRUE(check.passed) << check.what << ": " << check.text;
  }
}

// Where ATen draws in the order of memory, that is the same for all strategies: the order of the axes.
TEST(ByMember, DropoutsOfTurnedTensorsDrawInTheOrderOfTheAxes) {
  zoo::Builder b("turned");
  const auto turned = b.op("aten.permute.default",
                           {zoo::ref(b.input("x", normal({5, 7, 3}))),
                            {Argument::List{{std::int64_t{2}}, {std::int64_t{0}}, {std::int64_t{1}}}}});
  b.output(b.op("aten.dropout.default", {zoo::ref(turned), {0.5}, {true}}));
  const auto architecture = b.take();
  const auto inputs = wide_inputs(architecture, kMembers);
  auto wide = wide_model(architecture, kMembers);
  BuildOptions options;
  options.strategies.all = "sequential";
  auto sequential = wide_model(architecture, kMembers, options);
  const auto outputs = wide.forward(inputs), others = sequential.forward(inputs);
  for (std::int64_t i = 0; i < kMembers; ++i)
    EXPECT_TRUE(outputs[0].member(i).equal(others[0].member(i))) << i;
}

}  // namespace
}  // namespace wide::test
