// One plan, many ways to run it: schedules, stored plans, memory, plans of measured costs, folded norms.
#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "core/ir/text.h"
#include "core/prove/prove.h"
#include "core/support.h"
#include "tests/fake_load.h"

namespace wide::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using zoo::ref;

constexpr std::int64_t kOddMembers = 5;

zoo::Architecture convnet() {
  zoo::Builder b("convnet");
  const auto x = b.input("x", normal({2, 4, 6, 5}));
  const auto y = b.batch_norm("norm", b.conv2d("first", x, 4, 8, 3, 1, 1), 8);
  b.output(b.conv2d("second", b.op("aten.relu.default", {ref(y)}), 8, 3, 3, 1, 1));
  return b.take();
}

BuildOptions measuring() {
  BuildOptions options;
  options.tuning.tuning = Tuning::kMeasure;
  options.tuning.load = std::make_shared<FakeLoad>();  // what is timed is kept, whatever else runs here
  return options;
}

TEST(Schedules, PlainIsFirstAndNoneIsTwice) {
  for (const std::int64_t members : {1, 2, 3, 7, 8, 32}) {
    for (const int threads : {1, 2, 6}) {
      const auto all = possible_schedules(members, threads);
      EXPECT_EQ(all[0], (Schedule{members, 1, 0}));
      for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_GE(all[i].chunk, 1);
        EXPECT_LE(all[i].chunk, members);
        EXPECT_EQ(std::count(all.begin(), all.end(), all[i]), 1) << describe(all[i], members);
      }
    }
  }
}

// What a program of `members` members is made of; a single member runs as it is.
std::vector<NodeChoice> choices_for(const std::string& name, std::int64_t members) {
  auto model = corpus_model(name, std::max<std::int64_t>(members, 2));
  const auto& built = model.build(corpus_inputs(name, model.members()));
  auto choices = choices_of(built.optimized, built.plan());
  for (auto& choice : choices) {
    if (members == 1) choice.strategy = kAloneStrategy;
  }
  return choices;
}

// Every schedule of every corpus model against the members' own runs, buffers included.
TEST(Schedules, AllGiveWhatMembersGiveAlone) {
  for (const auto& name : corpus_models()) {
    for (const auto& schedule : possible_schedules(3, 2)) {
      SCOPED_TRACE(name + ", " + describe(schedule, 3));
      auto measured = corpus_model(name, 3);
      const auto inputs = corpus_inputs(name, 3);
      const auto& built = measured.build(inputs);
      if (built.random) continue;
      auto options = BuildOptions();
      options.plan = store(built.optimized, 3, built.planned);
      options.plan->schedule = schedule;
      if (schedule.chunk < 3) {
        options.plan->nodes = choices_for(name, schedule.chunk);
        if (3 % schedule.chunk != 0) options.plan->rest = choices_for(name, 3 % schedule.chunk);
      }
      auto model = corpus_model(name, 3, options);
      EXPECT_EQ(model.build(inputs).planned.schedule, schedule);
      EXPECT_EQ(coverage(model.build(inputs)).schedule, describe(schedule, 3));
      const auto proof = prove(model, inputs);
      for (const auto& check : proof.checks) EXPECT_TRUE(check.passed) << check.what << ": " << check.text;
    }
  }
}

// Nothing tells the program of a member alone from a wide one here but the plan itself: there is no operation
// to run, or all that there are run at build.
TEST(Schedules, GiveWhatMembersGiveAloneWhereNothingIsLeftToRun) {
  for (const auto* text : {"graph \"g\"\ninput %x \"x\" : float32[3, 2]\noutput %x\n",
                           "graph \"g\"\ninput %x \"x\" : float32[3, 2]\nparameter %w \"w\" : float32[3, 2]\n"
                           "%t : float32[2, 3] = aten.permute.default(%w, [1, 0])\n"
                           "%y : float32[2, 2] = aten.mm.default(%t, %w)\noutput %y\n"}) {
    const auto graph = parse_graph(text);
    const ModelInput input{at::randn({3, 3, 2}), true};
    for (const auto& schedule : possible_schedules(3, 2)) {
      SCOPED_TRACE(std::string(text) + describe(schedule, 3));
      WideModel model(graph, made_up_members(graph, 3));
      const auto& built = model.build({&input, 1});
      BuildOptions options;
      options.plan = store(built.optimized, 3, built.planned);
      options.plan->schedule = schedule;
      const auto alone = choices_of(built.optimized, plan_alone(built.optimized, built.inputs));
      if (schedule.chunk == 1) options.plan->nodes = alone;
      if (schedule.chunk == 2) options.plan->rest = alone;
      WideModel divided(graph, made_up_members(graph, 3), options);
      for (const auto& check : prove(divided, {&input, 1}).checks)
        EXPECT_TRUE(check.passed) << check.what << ": " << check.text;
    }
  }
}

TEST(Schedules, LargeResultsComeInOneTensorWhereThatIsAsked) {
  const auto graph = parse_graph(
      "graph \"g\"\ninput %x \"x\" : float32[300, 200]\nparameter %w \"w\" : float32[200]\n"
      "%y : float32[300, 200] = aten.mul.Tensor(%x, %w)\n%t : float32[200, 300] = aten.permute.default(%y, "
      "[1, "
      "0])\n%s : float32[] = aten.sum.default(%y, none)\noutput %y\noutput %t\noutput %s\noutput %y\n");
  // Always the same: where the numbers cancel, a sum says nothing of its parts.
  at::manual_seed(1);
  const ModelInput input{at::randn({300, 200}), false};
  WideModel plain(graph, made_up_members(graph, 5));
  const auto expected = plain.forward({&input, 1});
  for (const auto& schedule : possible_schedules(5, 2)) {
    SCOPED_TRACE(describe(schedule, 5));
    const auto& built = plain.build({&input, 1});
    BuildOptions options;
    options.stacked = true;
    options.plan = store(built.optimized, 5, built.planned);
    options.plan->schedule = schedule;
    const auto alone = choices_of(built.optimized, plan_alone(built.optimized, built.inputs));
    if (schedule.chunk == 1) options.plan->nodes = alone;
    if (5 % schedule.chunk == 1) options.plan->rest = alone;
    if (5 % schedule.chunk > 1) options.plan->rest = options.plan->nodes;
    WideModel divided(graph, made_up_members(graph, 5), options);
    const auto first = divided.forward({&input, 1}), second = divided.forward({&input, 1});
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(at::allclose(first[i].stacked(), expected[i].stacked()));
      EXPECT_TRUE(at::equal(first[i].stacked(), second[i].stacked()));
    }
    EXPECT_EQ(first[0].parts.size(), 1u);
    EXPECT_EQ(first[1].parts.size(), 1u);
    EXPECT_FALSE(first[0].parts[0].is_alias_of(second[0].parts[0]));
  }
}

TEST(Measuring, ChoosesAPlanThatIsRightAndRemembersIt) {
  const TemporaryFolder folder;
  const auto architecture = convnet();
  const auto inputs = wide_inputs(architecture, kOddMembers);
  auto options = measuring();
  options.costs = std::make_shared<CostBook>(folder / "costs.tsv");
  int asked = 0;
  options.tuning.progress = [&](const std::string&) { ++asked; };
  auto model = wide_model(architecture, kOddMembers, options);
  const auto& built = model.build(inputs);
  EXPECT_GT(asked, 0);
  EXPECT_GT(built.planned.options.size(), 2u);
  for (const auto& check : prove(model, inputs).checks) EXPECT_TRUE(check.passed) << check.text;

  asked = 0;
  options.costs = std::make_shared<CostBook>(folder / "costs.tsv");
  auto again = wide_model(architecture, kOddMembers, options);
  EXPECT_EQ(again.build(inputs).planned.schedule, built.planned.schedule);
  EXPECT_EQ(asked, 0) << "all costs are known";
}

// The lines of a cost file, changed: `change` gives the cost of a key, as text, or no more of it.
void rewrite(const std::filesystem::path& file,
             const std::function<std::string(const std::string& key, const std::string& cost)>& change) {
  std::ifstream in(file);
  std::string line, text;
  while (std::getline(in, line)) {
    const auto tab = line.rfind('\t');
    const bool is_cost = tab != std::string::npos;  // the first line is the format
    const auto key = line.substr(0, tab);
    const auto cost = is_cost ? change(key, line.substr(tab + 1)) : "";
    if (is_cost && cost.empty()) continue;
    text.append(key).append(is_cost ? "\t" : "").append(cost).append("\n");
  }
  in.close();
  std::ofstream(file) << text;
}

TEST(Measuring, APlanThatByCostsIsOnlyNearTheBestCanWin) {
  const TemporaryFolder folder;
  const auto file = folder / "costs.tsv";
  const auto architecture = convnet();
  const auto inputs = wide_inputs(architecture, kOddMembers);
  auto options = measuring();
  const auto plan = [&] {
    options.costs = std::make_shared<CostBook>(file);
    auto model = wide_model(architecture, kOddMembers, options);
    const auto& built = model.build(inputs);
    for (const auto& check : prove(model, inputs).checks) EXPECT_TRUE(check.passed) << check.text;
    return store(built.optimized, kOddMembers, built.planned);
  };
  // By the costs of operators all candidates are equal, so that whole passes decide.
  (void)plan();
  rewrite(file, [](const std::string& key, const std::string&) {
    if (key.starts_with("schedule ")) return "";
    return key.starts_with("convert ") ? "10" : "5000";
  });
  (void)plan();
  // As if the one plan had won, then the other.
  std::string first, near;
  rewrite(file, [&](const std::string& key, const std::string& cost) {
    if (key.find(" as ") != std::string::npos) near = key, first = key.substr(0, key.find(" as "));
    return cost;
  });
  ASSERT_FALSE(near.empty()) << "no plan near another was raced";
  const auto winner = [&](const std::string& wins) {
    const auto give = [&](const std::string& time) {
      rewrite(file,
              [&](const std::string& key, const std::string& cost) { return key == wins ? time : cost; });
    };
    give("0.5");
    auto won = plan();
    give("1e9");
    return won;
  };
  const auto a = winner(first), b = winner(near);
  EXPECT_EQ(a.schedule, b.schedule);
  EXPECT_NE(a.nodes, b.nodes);
}

// What an earlier race left in the book, of a schedule that this one does not build, too.
TEST(Measuring, APlanMadeAnewLeavesNothingOfTheOldOne) {
  const TemporaryFolder folder;
  const auto file = folder / "costs.tsv";
  const auto architecture = convnet();
  const auto inputs = wide_inputs(architecture, kOddMembers);
  const auto plan = [&](Tuning tuning) {
    auto options = measuring();
    options.tuning.tuning = tuning;
    options.costs = std::make_shared<CostBook>(file);
    wide_model(architecture, kOddMembers, options).build(inputs);
  };
  plan(Tuning::kMeasure);
  int poisoned = 0;
  rewrite(file, [&](const std::string& key, const std::string& cost) -> std::string {
    if (!key.starts_with("schedule ") || key.ends_with("near") || key.ends_with("done")) return cost;
    ++poisoned;
    return "7";
  });
  EXPECT_GT(poisoned, 4);
  plan(Tuning::kAnew);
  std::map<std::string, std::string> left;
  rewrite(file, [&](const std::string& key, const std::string& cost) { return left[key] = cost; });
  for (const auto& [key, cost] : left) {
    if (key.starts_with("schedule ") && key.find(" as ") == std::string::npos) {
      EXPECT_NE(cost, "7") << key;
    }
  }
}

TEST(StoredPlan, OfAnotherModelIsRefused) {
  const auto architecture = convnet();
  const auto inputs = wide_inputs(architecture, kOddMembers);
  auto model = wide_model(architecture, kOddMembers);
  const auto& built = model.build(inputs);
  BuildOptions options;
  options.plan = store(built.optimized, kOddMembers, built.planned);
  auto same = wide_model(architecture, kOddMembers, options);
  EXPECT_EQ(print(built.optimized, built.plan()).size() > 0, true);
  EXPECT_EQ(choices_of(built.optimized, same.build(inputs).plan()),
            choices_of(built.optimized, built.plan()));

  auto fewer = wide_model(architecture, kOddMembers - 1, options);
  expect_error([&] { fewer.build(wide_inputs(architecture, kOddMembers - 1)); }, "plan", {"5 members", "4"});
  const auto schedule = std::exchange(options.plan->schedule, {kOddMembers + 1, 1, 0});
  auto more_at_once = wide_model(architecture, kOddMembers, options);
  expect_error([&] { more_at_once.build(inputs); }, "plan", {"6 members at once", "of 5", "make a new plan"});
  options.plan->schedule = schedule;
  options.plan->nodes[0].strategy = "nonsense";
  auto changed = wide_model(architecture, kOddMembers, options);
  expect_error([&] { changed.build(inputs); }, "plan", {"'nonsense'", "make a new plan"});
  options.plan->nodes.pop_back();
  auto shorter = wide_model(architecture, kOddMembers, options);
  expect_error([&] { shorter.build(inputs); }, "plan", {"operations", "another model's"});
}

TEST(Folding, ABatchNormGoesIntoTheConvolutionBeforeIt) {
  const auto architecture = convnet();
  const auto inputs = wide_inputs(architecture, kOddMembers);
  auto model = wide_model(architecture, kOddMembers);
  const auto& built = model.build(inputs);
  EXPECT_THAT(ops(built.canonical), Contains("aten.batch_norm.default"));
  EXPECT_THAT(ops(built.optimized), Not(Contains("aten.batch_norm.default")));
  for (const auto& check : prove(model, inputs).checks) EXPECT_TRUE(check.passed) << check.text;
}

// weight * gamma overflows; x * weight and its norm do not.
TEST(Folding, IsNotDoneWhereTheProductOfWeightsOverflowsOrVanishes) {
  for (const auto& [weight, gamma, input] :
       {std::tuple{1e25, 1e25, 1e-27}, std::tuple{1e-25, 1e-25, 1e27}, std::tuple{1.0, std::nan(""), 1.0}}) {
    const auto architecture = convnet();
    auto members = zoo::make_members(architecture, kOddMembers, 1, at::kFloat);
    for (std::size_t i = weight < 1 ? 0 : 1; i < members.size(); ++i) {
      members[i].tensors.at("first.weight").mul_(weight);
      members[i].tensors.at("norm.weight").mul_(gamma);
    }
    auto inputs = wide_inputs(architecture, kOddMembers);
    for (auto& one : inputs) one.tensor = one.tensor * input;
    WideModel model(architecture.graph, members, {});
    BuildOptions alone;
    alone.strategies.all = "sequential";
    WideModel reference(architecture.graph, members, alone);
    EXPECT_THAT(ops(model.build(inputs).optimized), Contains("aten.batch_norm.default"));
    const auto given = model.forward(inputs)[0].member(1), wanted = reference.forward(inputs)[0].member(1);
    EXPECT_TRUE(at::allclose(given, wanted, 1e-4, 1e-5, true)) << weight;
  }
}

TEST(Folding, WorkOnWeightsAloneIsNoCostOfAPass) {
  const auto architecture = convnet();
  auto model = wide_model(architecture, kOddMembers);
  const auto& built = model.build(wide_inputs(architecture, kOddMembers));
  const auto& plan = built.plan();
  double once = 0, each_pass = 0;
  for (std::size_t i = 0; i < plan.nodes.size(); ++i)
    (plan.at_build(built.optimized.nodes[i]) ? once : each_pass) += plan.nodes[i].offer.cost;
  for (const auto& one : plan.conversions) each_pass += one.cost;
  ASSERT_GT(once, 0);
  EXPECT_NEAR(plan.cost, each_pass, once * 1e-3);
}

TEST(Folding, IsNotDoneWhereTheUserNamesAStrategyForTheNorm) {
  const auto architecture = convnet();
  for (const auto* text : {"batch_norm=wide", "sequential"}) {
    BuildOptions options;
    add_choice(options.strategies, text);
    auto model = wide_model(architecture, kOddMembers, options);
    EXPECT_THAT(ops(model.build(wide_inputs(architecture, kOddMembers)).optimized),
                Contains("aten.batch_norm.default"))
        << text;
  }
}

TEST(Folding, AStrategyThatNoNormHasIsForTheLayerThatHasItsName) {
  const auto architecture = convnet();
  const auto inputs = wide_inputs(architecture, kOddMembers);
  auto plain = wide_model(architecture, kOddMembers);
  const auto& before = plain.build(inputs);
  const auto conv = std::ranges::find(before.optimized.nodes, "aten.conv2d.default", &Node::op);
  ASSERT_NE(conv, before.optimized.nodes.end());
  const auto name = before.optimized.values[static_cast<std::size_t>(conv->results[0])].name;
  for (const std::string strategy : {"im2col", "sequential"}) {
    BuildOptions options;
    add_choice(options.strategies, "%" + name + "=" + strategy);
    auto model = wide_model(architecture, kOddMembers, options);
    const auto& built = model.build(inputs);
    EXPECT_EQ(ops(built.optimized), ops(before.optimized)) << strategy;
    const auto at = static_cast<std::size_t>(conv - before.optimized.nodes.begin());
    EXPECT_EQ(built.plan().nodes[at].strategy, strategy);
  }
}

TEST(Choice, SeveralStandInOneText) {
  StrategyChoice choice;
  add_choice(choice, "wide+conv2d=grouped+%conv2d_1=sequential");
  EXPECT_EQ(choice.all, "wide");
  EXPECT_EQ(choice.by_kind.at("conv2d"), "grouped");
  EXPECT_EQ(choice.by_value.at("%conv2d_1"), "sequential");
}

TEST(Choice, ByValueNamesOneNode) {
  const auto architecture = convnet();
  const auto inputs = wide_inputs(architecture, kOddMembers);
  auto plain = wide_model(architecture, kOddMembers);
  const auto& graph = plain.build(inputs).optimized;
  std::string last;
  for (const auto& node : graph.nodes) {
    if (node.op == "aten.conv2d.default") last = graph.values[static_cast<std::size_t>(node.results[0])].name;
  }
  BuildOptions options;
  add_choice(options.strategies, "%" + last + "=sequential");
  auto model = wide_model(architecture, kOddMembers, options);
  EXPECT_EQ(coverage(model.build(inputs)).sequential, 1);
  add_choice(options.strategies, "%nothing=sequential");
  auto unknown = wide_model(architecture, kOddMembers, options);
  expect_error([&] { unknown.build(inputs); }, "plan", {"%nothing"});
}

}  // namespace
}  // namespace wide::test
