// Wrong kernels, planted between the proof and the measurement: none passes, none leaves a speed-up.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include "app/exit_code.h"
#include "app/headline.h"
#include "app/least_time.h"
#include "app/measure_case.h"
#include "presets/sweep.h"
#include "presets/zoo/zoo.h"
#include "profiler/random.h"
#include "results/store.h"
#include "temporary_folder.h"

namespace wide::test {
namespace {

using app::Plant;
using app::WidePass;
using Inputs = std::span<const ModelInput>;
using Outputs = std::vector<ModelOutput>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

presets::CaseSpec small_case(const std::string& subject = "mlp") {
  presets::CaseSpec spec;
  spec.subject = subject;
  spec.kind = "zoo";
  spec.n = 4;
  spec.stopping = {.min_rounds = 12,
                   .max_rounds = 16,
                   .max_seconds = 0.2,
                   .relative_width = 0.05,
                   .min_sample_us = 50,
                   .warmup_seconds = 0.01};
  spec.threads = 1;
  return spec;
}

void stack(Outputs& outputs) {
  for (auto& output : outputs) output.parts = {output.stacked().clone()};
}

using Spoil = std::function<void(int call, Inputs inputs, Outputs& outputs)>;

/// The model's own pass, its outputs spoilt; calls count from 0.
Plant spoiling(Spoil spoil) {
  return [spoil](WideModel&, WidePass own) -> WidePass {
    return [spoil, own, call = std::make_shared<int>(0)](Inputs inputs) {
      const c10::InferenceMode guard;
      auto outputs = own(inputs);
      stack(outputs);
      spoil((*call)++, inputs, outputs);
      return outputs;
    };
  };
}

/// Spoils what there is one tensor of for all members.
Plant spoiling_values(
    std::function<at::Tensor(const at::Tensor&)> change,
    std::function<bool(int call)> when = [](int) { return true; }) {
  return spoiling([=](int call, Inputs, Outputs& outputs) {
    if (!when(call)) return;
    for (auto& output : outputs) output.parts = {change(output.parts[0])};
  });
}

at::Tensor with_last(at::Tensor all, double value) {
  all.view({-1}).select(0, all.numel() - 1).fill_(value);
  return all;
}

/// Outputs are computed once for a key and then handed out again.
Plant memoised(std::function<std::int64_t(Inputs)> key) {
  return [key](WideModel&, WidePass own) -> WidePass {
    return [key, own, kept = std::make_shared<std::map<std::int64_t, Outputs>>()](Inputs inputs) {
      const auto [found, is_new] = kept->try_emplace(key(inputs));
      if (is_new) found->second = own(inputs);
      return found->second;
    };
  };
}

Plant on_other_inputs(std::function<at::Tensor(const at::Tensor&)> change) {
  return [change](WideModel&, WidePass own) -> WidePass {
    return [change, own](Inputs inputs) {
      const c10::InferenceMode guard;
      std::vector<ModelInput> others(inputs.begin(), inputs.end());
      for (auto& input : others) input.tensor = change(input.tensor);
      return own(others);
    };
  };
}

Plant every_second_call_does_nothing() {
  return [](WideModel&, WidePass own) -> WidePass {
    return [own, call = std::make_shared<int>(0), kept = std::make_shared<Outputs>()](Inputs inputs) {
      if ((*call)++ % 2 == 0) *kept = own(inputs);
      return *kept;
    };
  };
}

at::Tensor zeros(const at::Tensor& all) {
  return at::zeros_like(all);
}

at::Tensor swapped(const at::Tensor& all) {
  auto result = all.clone();
  result.select(0, 0).copy_(all.select(0, 1));
  result.select(0, 1).copy_(all.select(0, 0));
  return result;
}

std::vector<std::pair<std::string, Plant>> faults() {
  return {
      {"zeros", spoiling_values(zeros)},
      {"NaN", spoiling_values([](const at::Tensor& all) { return with_last(all, kNan); })},
      {"Inf", spoiling_values([](const at::Tensor& all) { return with_last(all, INFINITY); })},
      {"off-by-one tail", spoiling_values([](const at::Tensor& all) { return with_last(all, 0); })},
      {"a hundredth off", spoiling_values([](const at::Tensor& all) {
         auto result = all.clone();
         result.view({-1}).select(0, 3).mul_(1.01);
         return result;
       })},
      {"less precise",
       spoiling_values([](const at::Tensor& all) { return all.to(at::kBFloat16).to(all.scalar_type()); })},
      {"swapped members", spoiling_values(swapped)},
      {"copy of another member",
       spoiling_values([](const at::Tensor& all) { return all.select(0, 0).expand_as(all).clone(); })},
      {"members one on from call 100", spoiling_values([](const at::Tensor& all) { return all.roll(1, 0); },
                                                       [](int call) { return call >= 100; })},
      {"a row of the last member is another's", spoiling_values([](const at::Tensor& all) {
         auto result = all.clone();
         const auto last = result.select(0, -1);
         last.select(0, -1).copy_(last.select(0, 0).clone());
         return result;
       })},
      {"skipped last member",
       [](WideModel&, WidePass own) -> WidePass {
         return [own, first = std::make_shared<Outputs>()](Inputs inputs) {
           const c10::InferenceMode guard;
           auto outputs = own(inputs);
           stack(outputs);
           if (first->empty()) *first = outputs;
           outputs[0].parts[0] = outputs[0].parts[0].clone();
           outputs[0].parts[0].select(0, -1).copy_((*first)[0].parts[0].select(0, -1));
           return outputs;
         };
       }},
      {"last member not there", spoiling([](int, Inputs, Outputs& outputs) {
         outputs[0].parts[0] = outputs[0].parts[0].narrow(0, 0, outputs[0].parts[0].size(0) - 1);
       })},
      {"no output", spoiling([](int, Inputs, Outputs& outputs) { outputs.clear(); })},
      {"stale buffer",
       [](WideModel&, WidePass own) -> WidePass {
         return [own, before = std::make_shared<Outputs>()](Inputs inputs) {
           auto outputs = own(inputs);
           if (before->empty()) *before = outputs;
           std::swap(*before, outputs);
           return outputs;
         };
       }},
      {"every second call does nothing", every_second_call_does_nothing()},
      {"input overwritten",
       spoiling([](int, Inputs inputs, Outputs&) { inputs[0].tensor.view({-1}).select(0, 0).add_(1); })},
      {"inputs of another member", on_other_inputs([](const at::Tensor& all) { return all.roll(1, 0); })},
      {"NaN swallowed", on_other_inputs([](const at::Tensor& all) { return at::nan_to_num(all); })},
      {"memoised on address", memoised([](Inputs inputs) {
         return reinterpret_cast<std::int64_t>(inputs[0].tensor.const_data_ptr());
       })},
      {"memoised on a rounded value", memoised([](Inputs inputs) {
         return std::lround(inputs[0].tensor.view({-1})[0].item<double>() * 10);
       })},
      {"memoised for ever", memoised([](Inputs) { return 0; })},
      {"wrong from call 200", spoiling_values(zeros, [](int call) { return call >= 200; })},
      {"wrong in one call of fifty", spoiling_values(zeros, [](int call) { return call % 50 == 49; })},
      {"wrong in one call of fifty, at random",
       spoiling_values(
           zeros, [random = std::make_shared<profiler::Random>(5)](int) { return random->below(50) == 0; })},
      {"wrong while it is timed alone",
       spoiling_values(zeros, [](int call) { return call > 20 && call < 2000; })},
  };
}

results::CaseRecord measured(const Plant& plant, const presets::CaseSpec& spec) {
  auto record = presets::record_of(spec);
  app::measure_case(spec, {.plant = plant}, record);
  return record;
}

void expect_no_speedup(const results::CaseRecord& record) {
  EXPECT_NE(record.verdict, results::Verdict::kPass);
  EXPECT_FALSE(record.reason.empty());
  EXPECT_FALSE(record.speedup.known()) << record.speedup.value;
  EXPECT_FALSE(record.speedup_best_rival.known());
  for (const auto& rival : record.rivals) EXPECT_TRUE(std::isnan(rival.speedup.value)) << rival.name;
  EXPECT_EQ(results::objection(record), "");
  EXPECT_EQ(app::exit_code(app::headline({record})), app::kExitWrongNumbers);
}

// The machine's peaks take ten seconds: measured once for all tests, into a folder that goes with the last.
class Planted : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cache_ = std::make_unique<TemporaryFolder>();
    ::setenv("XDG_CACHE_HOME", cache_->path().c_str(), 1);
  }
  static void TearDownTestSuite() { cache_.reset(); }

 private:
  static inline std::unique_ptr<TemporaryFolder> cache_;
};

TEST_F(Planted, NoWrongKernelPassesOrLeavesASpeedUp) {
  const auto all = faults();
  EXPECT_GE(all.size(), 20U);
  for (const auto& [name, plant] : all) {
    SCOPED_TRACE(name);
    expect_no_speedup(measured(plant, small_case()));
  }
}

TEST_F(Planted, WhatIsRightPassesAndSaysWhatWasLookedAt) {
  for (const std::string subject : {"mlp", "resblock", "minigpt", "tabular"}) {
    SCOPED_TRACE(subject);
    const auto record = measured({}, small_case(subject));
    EXPECT_EQ(record.verdict, results::Verdict::kPass) << record.reason;
    std::vector<std::string> looked;
    for (const auto& check : record.checks) looked.push_back(check.what);
    EXPECT_THAT(looked, testing::IsSupersetOf({"passes while they were timed", "passes after they were timed",
                                               "inputs are left alone"}));
    EXPECT_EQ(record.speedup.known(), record.circumstances.disturbed.empty());
    EXPECT_EQ(record.circumstances.threads, 1);
    EXPECT_EQ(record.circumstances.regime, "hot");
    EXPECT_TRUE(record.circumstances.steady.has_value());
  }
}

TEST_F(Planted, MembersApartAreARivalWithTheSameKernels) {
  auto spec = small_case("resblock");
  spec.rivals = {"eager", "apart"};
  const auto record = measured({}, spec);
  EXPECT_EQ(record.verdict, results::Verdict::kPass) << record.reason;
  ASSERT_EQ(record.rivals.size(), 2U);
  EXPECT_EQ(record.rivals[1].name, "apart");
  EXPECT_GT(record.rivals[1].time.median_us, 0);
  const auto apart = [](const results::Check& check) {
    return check.what == "members apart, by the same kernels";
  };
  EXPECT_EQ(std::count_if(record.checks.begin(), record.checks.end(), apart), 1);
  expect_no_speedup(measured(spoiling_values(zeros), spec));
}

TEST_F(Planted, AModelThatDrawsOrKeepsStateIsLookedAtAfterwards) {
  auto dropout = small_case("dropout");
  dropout.kind = "primitive";
  dropout.shape = {{"train", 1}};
  auto tabular = small_case("tabular");
  tabular.shape = {{"train", 1}};
  for (const auto& spec : {dropout, tabular}) {
    SCOPED_TRACE(spec.subject);
    const auto record = measured({}, spec);
    EXPECT_EQ(record.verdict, results::Verdict::kPass) << record.reason;
    expect_no_speedup(measured(spoiling_values(zeros, [](int call) { return call % 50 == 49; }), spec));
  }
}

TEST_F(Planted, WrongFromTheThirdProcessOnIsSeenInTheThird) {
  int process = 0;
  const Plant plant = [&](WideModel& model, WidePass own) {
    return ++process < 3 ? own : spoiling_values(swapped)(model, own);
  };
  EXPECT_EQ(measured(plant, small_case()).verdict, results::Verdict::kPass);
  EXPECT_EQ(measured(plant, small_case()).verdict, results::Verdict::kPass);
  expect_no_speedup(measured(plant, small_case()));
}

TEST_F(Planted, TimeBelowWhatTheMachineCanDoIsNoWin) {
  const auto architecture = zoo::build("linear", {{"batch", 4}, {"in_features", 8}, {"out_features", 6}});
  WideModel model(architecture.graph, zoo::make_members(architecture, 3, 0, at::kFloat));
  const auto inputs = zoo::make_inputs(architecture, 3, 0, at::kFloat);
  const auto work = app::work_of(model.build(inputs), model.members());
  EXPECT_EQ(work.flops, 2.0 * 3 * 4 * 8 * 6);
  EXPECT_EQ(work.bytes, 4.0 * 3 * 4 * 6);
  profiler::Peaks peaks;
  EXPECT_EQ(app::least_microseconds(work, "float32", peaks), 0) << "nothing is known";
  peaks.flops["float32"] = 1e6;
  EXPECT_DOUBLE_EQ(app::least_microseconds(work, "float32", peaks), work.flops / 4);
  peaks.bandwidth = {{1 << 10, 1e3}, {1 << 20, 5e2}};
  EXPECT_DOUBLE_EQ(app::least_microseconds(work, "float32", peaks), work.bytes * 1e3 / 4)
      << "by the faster copy";
  EXPECT_TRUE(app::check_least_time(model.build(inputs), 3, "float32", 50).passed);
  const auto check = app::check_least_time(model.build(inputs), 3, "float32", 1e-9);
  EXPECT_FALSE(check.passed);
  EXPECT_THAT(check.text, testing::HasSubstr("is not possible"));
}

TEST_F(Planted, AWrongCaseIsStoredWithoutASpeedUp) {
  const TemporaryFolder folder;
  const auto record = measured(spoiling_values(zeros), small_case());
  auto store = results::Store::open(folder / "results.db", results::OpenMode::kReadWrite);
  const auto run = store.begin_run({});
  store.add_case(run, record);
  expect_no_speedup(store.cases(run).at(0));
}

}  // namespace
}  // namespace wide::test
