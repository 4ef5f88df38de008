// The public interface: what it gives and what it refuses; api_threads_test.cpp has threads and processes.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <wide/model.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/api/values.h"
#include "core/api_bed.h"
#include "core/support.h"
#include "tests/fake_load.h"
#include "tests/temporary_folder.h"

namespace {

using widebench::Config;
using widebench::Error;
using widebench::Input;
using widebench::MemberWeights;
using widebench::Tensor;
using widebench::WideModel;
using widebench::test::corpus;
using widebench::test::inputs_for;
using widebench::test::members_of;
using widebench::test::opened;
using widebench::test::program;
using widebench::test::stage_of;

class Api : public testing::TestWithParam<const char*> {};

TEST_P(Api, FilesAndMemoryGiveWhatMembersGiveAlone) {
  auto model = opened(GetParam());
  for (const bool mapped : {false, true}) {
    const auto inputs = inputs_for(model, mapped);
    auto copy =
        WideModel::from_bytes(program(GetParam()), members_of(model), {.seconds = 0.2, .validate = true});
    const auto outputs = model.forward(inputs), same = copy.forward(inputs);
    ASSERT_EQ(outputs.size(), same.size());
    for (std::int64_t i = 0; i < model.size(); ++i) {
      const auto alone = model.run_alone(i, inputs);
      for (std::size_t k = 0; k < outputs.size(); ++k) {
        ASSERT_EQ(outputs[k].tensor.defined(), alone[k].defined());
        if (!alone[k].defined()) continue;
        for (const auto* output : {&outputs[k], &same[k]}) {
          const auto own = output->mapped ? output->tensor[i] : output->tensor;
          EXPECT_TRUE(at::allclose(own, alone[k], 1e-4, 1e-5)) << GetParam() << " " << i << " " << k;
          EXPECT_FALSE(own.torch().is_inference());
        }
      }
    }
    model.reset();
    EXPECT_TRUE(copy.prove(inputs).passed());
    EXPECT_EQ(copy.report(inputs).members, 4);
    EXPECT_FALSE(copy.plan(inputs).nodes.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Corpus, Api,
                         testing::Values("mlp", "resblock", "minigpt_dynamic", "tied_linears",
                                         "mutating_buffer", "dict_output"),
                         [](const auto& name) { return std::string(name.param); });

TEST(Api, ABundleGivesWhatTheModelGave) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("widebench-api-" + std::to_string(::getpid()));
  auto model = opened("minigpt_dynamic", {.mode = "reduce-overhead", .tuning = widebench::Tuning::kEstimate});
  const auto inputs = inputs_for(model);
  const auto expected = model.forward(inputs);
  model.write_bundle(folder, program("minigpt_dynamic"));
  EXPECT_EQ(stage_of([&] { model.write_bundle(folder, program("minigpt_dynamic")); }), "bundle");
  EXPECT_EQ(stage_of([&] { model.write_bundle(folder, program("mlp"), true); }), "bundle");
  auto again = WideModel::from_bundle(folder, true);
  EXPECT_EQ(again.names(), model.names());
  EXPECT_TRUE(at::equal(again.forward(inputs)[0].tensor, expected[0].tensor));
  EXPECT_TRUE(again.prove(inputs).passed());
  again.replace_members(members_of(model));
  EXPECT_TRUE(at::equal(again.forward(inputs)[0].tensor, expected[0].tensor));
  std::ofstream(folder / "bundle.json") << "{";
  EXPECT_EQ(stage_of([&] { WideModel::from_bundle(folder); }), "load");
  std::filesystem::remove_all(folder);
  EXPECT_EQ(stage_of([&] { WideModel::from_bundle(folder); }), "load");
}

TEST(Api, MembersThatAreNone) {
  auto members = members_of(opened("mlp"));
  auto freed = members, doubled = members;
  const at::Tensor& weight = freed[1].tensors.begin()->second;
  const auto none = weight.clone();
  freed[1].tensors.begin()->second = none;
  none.storage().set_data_ptr(at::DataPtr(nullptr, at::kCPU));
  none.storage().set_nbytes(0);
  doubled[1].same_as = 0;
  auto model = WideModel::from_bytes(program("mlp"), members, Config::fast());
  for (const auto& wrong : {freed, doubled}) {
    EXPECT_EQ(stage_of([&] { WideModel::from_bytes(program("mlp"), wrong, Config::fast()); }), "load");
    EXPECT_EQ(stage_of([&] { model.replace_members(wrong); }), "load");
  }
  EXPECT_EQ(stage_of([&] { model.forward(inputs_for(model)); }), "");
}

TEST(Api, ABundleOfAModelWhoseNameIsNoText) {
  const wide::test::TemporaryFolder folder;
  const auto file = folder / "\xff\xfe.pt2";
  std::filesystem::copy_file(corpus("mlp") / "model.pt2", file);
  auto model = WideModel::from_files({file}, {corpus("mlp") / "seed0.safetensors"}, Config::fast());
  const auto inputs = inputs_for(model);
  model.prepare(inputs);
  model.write_bundle(folder / "fleet.wide", program("mlp"));
  auto again = WideModel::from_bundle(folder / "fleet.wide", true);
  EXPECT_TRUE(at::equal(again.forward(inputs)[0].tensor, model.forward(inputs)[0].tensor));
}

TEST(Api, WeightsWrittenInPlaceAreNoticed) {
  auto members = members_of(opened("mlp"));
  auto model = WideModel::from_bytes(program("mlp"), members, Config::fast());
  const auto inputs = inputs_for(model);
  const auto before = model.forward(inputs).at(0).tensor.torch().clone();
  auto& [fqn, weight] = *members[2].tensors.begin();
  weight.torch().add_(1);
  EXPECT_NE(model.changed().find("'" + members[2].name + "', tensor '" + fqn + "'"), std::string::npos);
  EXPECT_EQ(stage_of([&] { model.forward(inputs); }), "stale");
  EXPECT_EQ(stage_of([&] { model.run_alone(0, inputs); }), "stale");
  EXPECT_EQ(stage_of([&] { model.prove(inputs); }), "stale");
  std::vector<MemberWeights> now;
  for (std::int64_t i = 0; i < model.size(); ++i) {
    now.push_back(i == 2 ? members[2] : MemberWeights{members[static_cast<std::size_t>(i)].name, {}, i});
  }
  model.replace_members(now);
  EXPECT_EQ(model.changed(), "");
  const auto after = model.forward(inputs).at(0).tensor;
  EXPECT_TRUE(at::equal(after.torch().select(0, 0), before.select(0, 0)));
  EXPECT_FALSE(at::equal(after.torch().select(0, 2), before.select(0, 2)));
  members[3].tensors.begin()->second.torch().mul_(2);  // kept, not brought again: still watched
  EXPECT_EQ(stage_of([&] { model.forward(inputs); }), "stale");
}

TEST(Api, WeightsWrittenBeforeAPlanIsMadeAreNoticed) {
  auto members = members_of(opened("mutating_buffer"));
  auto model = WideModel::from_bytes(program("mutating_buffer"), members, Config::fast());
  const auto inputs = inputs_for(model);
  const auto written = model.weights(1);
  model.forward(inputs);
  std::string buffer;  // that the model writes itself
  for (const auto& [fqn, tensor] : model.weights(1))
    if (!at::equal(tensor.torch(), written.at(fqn).torch())) buffer = fqn;
  ASSERT_NE(buffer, "");
  auto another = WideModel::from_bytes(program("mutating_buffer"), members, Config::fast());
  members[1].tensors.at(buffer).torch().add_(100);
  EXPECT_EQ(stage_of([&] { another.prepare(inputs); }), "stale");
  EXPECT_EQ(stage_of([&] { another.plan(inputs); }), "stale");
  EXPECT_EQ(stage_of([&] { another.report(inputs); }), "stale");
  EXPECT_EQ(stage_of([&] { another.forward(inputs); }), "stale");
  EXPECT_EQ(stage_of([&] { model.forward(inputs); }), "");  // it goes on from what it wrote
}

TEST(Api, WrittenBuffersAreWeightsAndBeginAnew) {
  auto model = opened("mutating_buffer");
  const auto inputs = inputs_for(model);
  const auto before = model.weights(1);
  model.forward(inputs);
  const auto written = model.weights(1);
  const auto differs = [&](const auto& a, const auto& b) {
    return std::ranges::any_of(
        a, [&](const auto& one) { return !at::equal(one.second.torch(), b.at(one.first).torch()); });
  };
  EXPECT_TRUE(differs(before, written));
  model.reset();
  EXPECT_FALSE(differs(before, model.weights(1)));
}

TEST(Api, RefusesWhatDoesNotFit) {
  auto model = opened("mlp");
  const auto load = [&](std::vector<MemberWeights> members) {
    return stage_of([&] { WideModel::from_bytes(program("mlp"), std::move(members), Config::fast()); });
  };
  EXPECT_EQ(load(members_of(model)), "");
  EXPECT_EQ(load({}), "");
  auto members = members_of(model);
  members[1].name = members[0].name;
  EXPECT_EQ(load(members), "load");
  for (const auto change : {0, 1, 2, 3, 4}) {
    members = members_of(model);
    auto& tensors = members[1].tensors;
    auto& first = tensors.begin()->second;
    if (change == 0) tensors.erase(tensors.begin());
    if (change == 1) tensors["no such"] = at::zeros({1});
    if (change == 2) first = Tensor();
    if (change == 3) first = at::zeros({1, 2, 3});
    if (change == 4) first = first.torch().to(at::kDouble);
    EXPECT_EQ(load(members), "load") << change;
    const auto names = model.names();
    EXPECT_EQ(stage_of([&] { model.replace_members(members); }), "load") << change;
    EXPECT_EQ(model.names(), names);
  }
  EXPECT_EQ(stage_of([&] { model.replace_members({}); }), "load");
  EXPECT_EQ(stage_of([&] { model.replace_members({{"a", {}, 17}}); }), "load");
  EXPECT_EQ(stage_of([&] { model.weights(4); }), "run");
  EXPECT_EQ(stage_of([&] { model.run_alone(-1, inputs_for(model)); }), "run");

  const auto good = inputs_for(model).at(0);
  EXPECT_EQ(stage_of([&] { model.forward({}); }), "run");
  EXPECT_EQ(stage_of([&] { model.forward(std::array{good, good}); }), "run");
  EXPECT_EQ(stage_of([&] { model.forward(std::array{Input{}}); }), "run");
  EXPECT_EQ(stage_of([&] { model.forward(std::array{Input{at::zeros({}), true}}); }), "run");
  EXPECT_EQ(stage_of([&] { model.forward(std::array{Input{at::zeros({0, 4}), true}}); }), "run");
  auto freed = good.tensor.torch().clone();
  freed.storage().set_nbytes(0);
  for (const auto& none : {freed, good.tensor.torch().to(at::kMeta)}) {
    EXPECT_EQ(stage_of([&] { model.forward(std::array{Input{none}}); }), "run");
    EXPECT_EQ(stage_of([&] { model.run_alone(0, std::array{Input{none}}); }), "run");
  }
  EXPECT_EQ(stage_of([&] {
              model.forward(std::array{Input{good.tensor.torch().expand({3, -1, -1}), true}});
            }),
            "run");
  EXPECT_EQ(stage_of([&] { model.forward(std::array{Input{good.tensor.torch().to(at::kDouble)}}); }), "run");
  EXPECT_EQ(stage_of([&] { model.forward(std::array{good}); }), "");
}

TEST(Api, HostileBytesAreOneError) {
  const auto whole = program("mlp");
  const auto load = [](std::vector<std::byte> bytes) {
    return stage_of([&] { WideModel::from_bytes(std::move(bytes), {}, Config::fast()); });
  };
  EXPECT_EQ(load({}), "load");
  EXPECT_EQ(load(std::vector<std::byte>(1000, std::byte{0x50})), "load");
  for (std::size_t size = 1; size < whole.size(); size += whole.size() / 17)
    EXPECT_EQ(load({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}), "load") << size;
  EXPECT_EQ(stage_of([] { WideModel::from_files({"/no/such.pt2"}); }), "load");
  EXPECT_NE(stage_of([] { opened("mlp", {.mode = "fastest"}); }), "");
  EXPECT_NE(stage_of([] { opened("mlp", {.strategy = "linear=no such"}); }), "");
  EXPECT_NE(stage_of([] { opened("mlp", {.strategy = ""}); }), "");
  EXPECT_EQ(widebench::architecture_difference(program("mlp"), program("mlp")), "");
  EXPECT_NE(widebench::architecture_difference(program("mlp"), program("resblock")), "");
}

TEST(Api, ExpandedAndTurnedInputsAndWeights) {
  auto members = members_of(opened("mlp"));
  for (auto& member : members) {
    for (auto& [fqn, tensor] : member.tensors) {
      if (tensor.torch().dim() == 2) tensor = tensor.torch().t().contiguous().t();
    }
  }
  auto model = WideModel::from_bytes(program("mlp"), members, Config::fast());
  const auto good = inputs_for(model).at(0).tensor.torch();
  const auto forward = [&](const at::Tensor& tensor) {
    const Input input{tensor};
    return model.forward({&input, 1});
  };
  for (const auto& turned : {good.t().contiguous().t(), good.slice(0, 0, 1).expand_as(good)}) {
    const Input input{turned};
    const auto outputs = model.forward({&input, 1});
    for (std::int64_t i = 0; i < model.size(); ++i)
      EXPECT_TRUE(at::allclose(outputs[0].tensor[i], model.run_alone(i, {&input, 1})[0], 1e-4, 1e-5));
  }
  const auto lazy = at::_neg_view(good.neg());  // its memory holds the other sign
  EXPECT_TRUE(lazy.is_neg());
  EXPECT_TRUE(at::equal(forward(lazy)[0].tensor.torch(), forward(good)[0].tensor.torch()));
  const Input nans{at::full_like(good, std::numeric_limits<double>::quiet_NaN())};
  EXPECT_TRUE(model.forward({&nans, 1})[0].tensor.torch().isnan().all().item<bool>());
}

// Once, however often it is built.
TEST(Api, WarnsOfAStrategyByWhichNothingRuns) {
  auto config = Config::fast();
  config.strategy = "winograd_2x2";
  auto model = opened("mlp", config);
  EXPECT_TRUE(model.warnings().empty());
  const auto inputs = inputs_for(model);
  for (int i = 0; i < 2; ++i) {
    model.prepare(inputs);
    ASSERT_EQ(model.warnings().size(), 1U);
    EXPECT_NE(model.warnings()[0].find("winograd_2x2"), std::string::npos);
  }
}

TEST(Api, NothingLeftToPrepare) {
  auto model = opened("mlp");
  const auto inputs = inputs_for(model);
  EXPECT_FALSE(model.forward_if_prepared(inputs));
  model.prepare(inputs);
  const auto outputs = model.forward_if_prepared(inputs);
  ASSERT_TRUE(outputs);
  EXPECT_EQ(outputs->at(0).tensor.sizes()[0], 4);
  auto other = std::move(model);
  EXPECT_EQ(other.size(), 4);
  EXPECT_TRUE(other.forward_if_prepared(inputs));
}

TEST(Api, LengthsOfTimeThatAreNone) {
  for (const auto seconds : {-1.0, std::numeric_limits<double>::quiet_NaN(), HUGE_VAL})
    EXPECT_EQ(stage_of([&] { opened("mlp", {.seconds = seconds}); }), "usage") << seconds;
}

TEST(Api, Tensors) {
  const std::vector<float> six = {1, 2, 3, 4, 5, 6};
  const auto made = Tensor::copy_of(six, {2, 3});
  EXPECT_EQ(made.sizes(), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(made.dtype(), widebench::Dtype::kFloat32);
  EXPECT_EQ(made.floats(), six);
  EXPECT_EQ(made[1].floats(), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(Tensor(made.torch().t()).floats(), (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(Tensor(at::ones({2}, at::kBFloat16)).floats(), (std::vector<float>{1, 1}));
  EXPECT_EQ(Tensor(at::ones({2}, at::kBFloat16)).bytes().size(), 4U);
  const auto copy = made;  // the same tensor
  copy.torch().fill_(0);
  EXPECT_EQ(made.floats(), std::vector<float>(6, 0));
  const auto stage = [](auto body) { return stage_of(body); };
  EXPECT_EQ(stage([&] { Tensor::copy_of(six, {2, 2}); }), "usage");
  EXPECT_EQ(stage([&] { Tensor::copy_of(six, {-2, -3}); }), "usage");
  EXPECT_EQ(stage([&] { Tensor::copy_of(std::as_bytes(std::span(six)), {6}, widebench::Dtype::kOther); }),
            "usage");
  EXPECT_EQ(stage([&] { std::ignore = made[2]; }), "usage");
  EXPECT_EQ(stage([&] { std::ignore = Tensor().floats(); }), "usage");
  EXPECT_TRUE(Tensor::copy_of(std::span<const float>(), {0, 3}).floats().empty());
  // No tensor of that size can be made: an error or memory that runs out, nothing else.
  for (const std::int64_t size : {std::int64_t{1} << 40, std::int64_t{1} << 62}) {
    try {
      Tensor::copy_of(six, {size, 4});
      ADD_FAILURE();
    } catch (const Error&) {
    } catch (const std::bad_alloc&) {
    }
  }
  EXPECT_FALSE(Tensor().defined());
  EXPECT_TRUE(Tensor().sizes().empty());
  EXPECT_EQ(Tensor().dtype(), widebench::Dtype::kOther);
}

TEST(Api, APlanSaysWhatElseWorkedWhenItsTimesWereTaken) {
  for (const double others : {1.0, 0.0}) {
    wide::BuildOptions options;
    options.tuning.tuning = wide::Tuning::kMeasure;
    options.tuning.load = std::make_shared<wide::test::FakeLoad>(others);
    auto model = wide::test::corpus_model("mlp", 3, options);
    const auto plan = widebench::plan_of(model.build(wide::test::corpus_inputs("mlp", 3)), 3);
    EXPECT_EQ(plan.disturbed.empty(), others == 0) << plan.disturbed;
    EXPECT_EQ(plan.text.ends_with("another plan may be faster\n"), others > 0) << plan.text;
  }
}

}  // namespace
