// The proof that a wide model computes what its members compute alone: what it catches, and what it allows
// for.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <gmock/gmock.h>
#include <torch/library.h>

#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/prove/conditioning.h"
#include "core/prove/prove.h"
#include "tests/core/fake_device.h"
#include "tests/core/support.h"

namespace wide::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using zoo::ref;

std::string failures(const Proof& proof) {
  std::string text;
  for (const auto& check : proof.checks) {
    if (!check.passed) text += check.what + ": " + check.text + "\n";
  }
  return text;
}

TEST(Prove, ModelsOfTheCorpusPass) {
  for (const auto& name : corpus_models()) {
    SCOPED_TRACE(name);
    auto model = corpus_model(name, kMembers);
    const auto proof = prove(model, corpus_inputs(name, kMembers));
    EXPECT_TRUE(proof.passed()) << failures(proof);
    EXPECT_GE(proof.checks.size(), 3u);
    EXPECT_GE(proof.max_abs_err(), 0);
  }
}

TEST(Prove, RandomModelsPass) {
  zoo::Builder b("dropout");
  b.output(b.op("aten.dropout.default", {ref(b.input("x", positive({8, 16}))), {0.5}, {true}}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  const auto proof = prove(model, wide_inputs(architecture, kMembers));
  EXPECT_TRUE(proof.passed()) << failures(proof);
}

// An operator that copies, and goes wrong where it is run for a member of a wide model: there its operand is
// a view into the tensor of all members.
at::Tensor faulty(const at::Tensor& x, std::string_view fault) {
  auto result = x.clone();
  if (x.storage().nbytes() == x.nbytes()) return result;
  const auto member = x.storage_offset() / x.numel();
  if (fault == "swap" && member < 2)
    return x.as_strided(x.sizes(), x.strides(), (1 - member) * x.numel()).clone();
  if (member != 2) return result;
  if (fault == "zero") return at::zeros_like(x);
  if (fault == "scaled") return result * 1.001;
  if (fault == "nan") result[3] = std::numeric_limits<double>::quiet_NaN();
  if (fault == "infinite") result[3] = std::numeric_limits<double>::infinity();
  return result;
}

struct Fault {
  std::string name, member, place;
};

TEST(Prove, CatchesWrongMembers) {
  for (const auto& [name, member, place] : std::vector<Fault>{{"none", "", ""},
                                                              {"swap", "seed", "output 0"},
                                                              {"zero", "seed2", "output 0"},
                                                              {"scaled", "seed2", "output 0"},
                                                              {"nan", "seed2", "output 0, at [3]"},
                                                              {"infinite", "seed2", "output 0, at [3]"}}) {
    SCOPED_TRACE(name);
    zoo::Builder b("faulty");
    const auto x = b.input("x", normal({5}));
    const auto weight = b.parameter("weight", normal({5}));
    b.output(b.op("widetest.faulty.default", {ref(b.op("aten.mul.Tensor", {ref(x), ref(weight)})), {name}}));
    const auto architecture = b.take();
    auto model = wide_model(architecture, kMembers);
    const auto proof = prove(model, wide_inputs(architecture, kMembers));
    EXPECT_EQ(proof.passed(), name == "none") << failures(proof);
    if (name == "none") continue;
    EXPECT_THAT(failures(proof), HasSubstr("member against its own run: member " + member));
    EXPECT_THAT(failures(proof), HasSubstr("float64 reference: member " + member));
    EXPECT_THAT(failures(proof), HasSubstr(place));
  }
}

// What masks is a thousand million times as large as what is wrong.
TEST(Prove, CatchesWrongMembersBesideWhatMasks) {
  zoo::Builder b("masked");
  const auto x = b.input("x", normal({40}));
  const auto weight = b.parameter("weight", normal({40}));
  const auto wrong =
      b.op("widetest.faulty.default", {ref(b.op("aten.mul.Tensor", {ref(x), ref(weight)})), {"scaled"}});
  b.output(
      b.op("aten.masked_fill.Scalar", {ref(wrong), ref(b.op("aten.gt.Scalar", {ref(x), {0.3}})), {-1e9}}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  const auto proof = prove(model, wide_inputs(architecture, kMembers));
  EXPECT_THAT(failures(proof), HasSubstr("member against its own run: member seed2"));
  EXPECT_THAT(failures(proof), HasSubstr("float64 reference: member seed2"));
}

TEST(Prove, NotesOutputsWithoutAFiniteNumber) {
  zoo::Builder b("odd");
  const auto weight = b.parameter("weight", normal({5}));
  b.output(b.op("aten.mul.Tensor", {ref(b.input("x", normal({5}))), ref(weight)}));
  const auto architecture = b.take();
  auto members = zoo::make_members(architecture, kMembers, 0, at::kFloat);
  for (auto& member : members) member.tensors["weight"].fill_(std::numeric_limits<float>::quiet_NaN());
  WideModel model(architecture.graph, members);
  const auto proof = prove(model, wide_inputs(architecture, kMembers));
  EXPECT_TRUE(proof.passed()) << failures(proof);
  ASSERT_EQ(proof.notes.size(), 1u);
  EXPECT_THAT(proof.notes[0], HasSubstr("of every output is NaN or infinite"));
  for (const auto i : {0U, 2U}) members[i].tensors["weight"] = at::ones({5});
  WideModel others(architecture.graph, members);
  const auto some = prove(others, wide_inputs(architecture, kMembers)).notes;
  ASSERT_EQ(some.size(), 1u);
  EXPECT_THAT(some[0], AllOf(HasSubstr(" seed1"), Not(HasSubstr("seed0")), Not(HasSubstr("seed2"))));
}

// An operator that mixes what it saw last into its result, so that members are not apart.
at::Tensor leak(const at::Tensor& x) {
  static at::Tensor last;
  const bool fits = last.defined() && last.sizes() == x.sizes() && last.scalar_type() == x.scalar_type();
  auto result = fits ? x + last : x.clone();
  last = x.clone();
  return result;
}

// An operator that gives each member of a wide model its very first result again and again.
at::Tensor stale(const at::Tensor& x) {
  static std::map<std::int64_t, at::Tensor> first;
  if (x.storage().nbytes() == x.nbytes()) return x.clone();
  return first.try_emplace(x.storage_offset() / x.numel(), x.clone()).first->second.clone();
}

// An operator whose results change by themselves, by up to `far` of themselves, as sums of atomic additions
// do.
at::Tensor unsteady(const at::Tensor& x, double far) {
  static auto generator = at::detail::createCPUGenerator(1);
  return x * (at::rand(x.sizes(), generator, at::kDouble) * far + 1).to(x.device(), x.scalar_type());
}

TORCH_LIBRARY(widetest, library) {
  library.def("unsteady(Tensor x, float far) -> Tensor", &unsteady);
  library.def("stale(Tensor x) -> Tensor", &stale);
  library.def("leak(Tensor x) -> Tensor", &leak);
  library.def("faulty(Tensor x, str fault) -> Tensor", &faulty);
}

TEST(Prove, CatchesOutputsKeptFromBefore) {
  zoo::Builder b("stale");
  const auto x = b.input("x", normal({5}));
  const auto weight = b.parameter("weight", normal({5}));
  b.output(b.op("widetest.stale.default", {ref(b.op("aten.mul.Tensor", {ref(x), ref(weight)}))}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  const auto proof = prove(model, wide_inputs(architecture, kMembers));
  EXPECT_FALSE(proof.passed());
  EXPECT_THAT(failures(proof), HasSubstr("changed inputs: member seed1"));
}

// See Note [Bits that change by themselves].
TEST(Prove, AllowsForRoundingWhereBitsChangeByThemselvesOnAGpuAlone) {
  for (const double far : {2e-7, 1e-2}) {
    zoo::Builder b("unsteady");
    const auto x = b.input("x", normal({5}));
    const auto weight = b.parameter("weight", normal({5}));
    b.output(b.op("widetest.unsteady.default", {ref(b.op("aten.mul.Tensor", {ref(x), ref(weight)})), {far}}));
    const auto architecture = b.take();
    for (const bool gpu : {false, true}) {
      BuildOptions options;
      if (gpu) options.device = fake_device();
      auto model = wide_model(architecture, kMembers, options);
      const auto proof = prove(model, wide_inputs(architecture, kMembers));
      EXPECT_EQ(proof.passed(), gpu && far < 1e-6) << far << failures(proof);
      EXPECT_EQ(failures(proof).find("cross-talk over inputs") == std::string::npos, proof.passed());
    }
  }
}

TEST(Prove, CatchesCrossTalk) {
  zoo::Builder b("leak");
  const auto x = b.input("x", normal({5}));
  const auto weight = b.parameter("weight", normal({5}));
  b.output(b.op("widetest.leak.default", {ref(b.op("aten.mul.Tensor", {ref(x), ref(weight)}))}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  const auto inputs = wide_inputs(architecture, kMembers);
  EXPECT_EQ(coverage(model.build(inputs)).sequential, 1) << "no primitive knows the operator";
  const auto proof = prove(model, inputs);
  EXPECT_FALSE(proof.passed());
  EXPECT_THAT(failures(proof), HasSubstr("cross-talk over inputs"));
  EXPECT_THAT(failures(proof), HasSubstr("cross-talk over weights"));
}

// A small difference of large numbers: rounding otherwise is no fault, another number is.
TEST(Prove, AllowsForRoundingThatTheModelItselfAmplifies) {
  const auto moved = [](double large, at::ScalarType dtype) {
    zoo::Builder b("difference");
    const auto x = b.input("x", normal({50}));
    const auto y = b.op("aten.to.dtype", {ref(x), {dtype}, {false}, {false}, {}});
    const auto sum = b.op("aten.add.Scalar", {ref(y), {large}, {1.0}});
    b.output(b.op("aten.sub.Scalar", {ref(sum), {large}, {1.0}}));
    const auto architecture = b.take();
    auto model = wide_model(architecture, kMembers);
    const auto inputs = wide_inputs(architecture, kMembers);
    return conditioning(model, 1, inputs).outputs.at(0).max().item<double>();
  };
  EXPECT_LT(moved(0, at::kFloat), 1e-4);
  EXPECT_GT(moved(1e4, at::kFloat), 1e-3);
  EXPECT_LT(moved(1e4, at::kFloat), 0.2);
  EXPECT_GT(moved(1e12, at::kDouble), 1e-4);
}

TEST(Prove, AllowsForItInWrittenBuffersToo) {
  const auto moved = [](double large) {
    zoo::Builder b("mean");
    const auto x = b.input("x", normal({50}));
    const auto kept = b.buffer("kept", normal({}));
    const auto mean = b.op("aten.mean.default", {ref(b.op("aten.add.Scalar", {ref(x), {large}, {1.0}})), {}});
    b.output(b.op("aten.copy_.default",
                  {ref(kept), ref(b.op("aten.sub.Scalar", {ref(mean), {large}, {1.0}})), {false}}));
    const auto architecture = b.take();
    auto model = wide_model(architecture, kMembers);
    return conditioning(model, 1, wide_inputs(architecture, kMembers)).buffers.at("kept").item<double>();
  };
  EXPECT_LT(moved(0), 1e-4);
  EXPECT_GT(moved(1e5), 1e-3);
  EXPECT_LT(moved(1e5), 1);
}

// A complex quotient rounds in the size of the number: z / z may leave a little in its imaginary part.
TEST(Prove, AllowsForTheRoundingOfComplexProducts) {
  zoo::Builder b("turned");
  const auto x = b.input("x", normal({50}));
  const auto z = b.op("aten.complex.default", {ref(x), ref(b.op("aten.exp.default", {ref(x)}))});
  b.output(b.op("aten.imag.default", {ref(b.op("aten.div.Tensor", {ref(z), ref(z)}))}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  const auto moved = conditioning(model, 1, wide_inputs(architecture, kMembers)).outputs.at(0);
  EXPECT_GT(moved.max().item<double>(), 1e-7);
  EXPECT_LT(moved.max().item<double>(), 1e-4);
}

// Of equal numbers rounding decides which is the largest, and with it what is taken.
TEST(Prove, AllowsEitherOfTwoEqualNumbers) {
  zoo::Builder b("tie");
  const auto x = b.input("x", normal({20}));
  const auto three = b.op("aten.mul.Scalar", {ref(x), {3.0}}),
             other = b.op("aten.mul.Scalar", {ref(x), {3.0}});
  const auto both = b.op("aten.stack.default", {{Argument::List{ref(three), ref(other)}}, {std::int64_t{0}}});
  const auto which = b.op("aten.argmax.default", {ref(both), {std::int64_t{0}}, {false}});
  const auto first = b.op("aten.eq.Scalar", {ref(which), {std::int64_t{0}}});
  b.output(b.op("aten.where.self", {ref(first), ref(x), ref(b.op("aten.neg.default", {ref(x)}))}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  const auto inputs = wide_inputs(architecture, kMembers);
  const auto expected = model.run_alone(1, inputs).outputs.at(0).toTensor();
  ConditionedCompare compared(model, 1, inputs);
  EXPECT_TRUE(compared.output(0, -expected, expected, Tolerance{}).agrees);
  EXPECT_FALSE(compared.output(0, 40 * expected, expected, Tolerance{}).agrees);
}

// What hangs on random numbers has no reference in float64, which draws others; all else has.
TEST(Prove, OutputsBesideDrawsHaveAReference) {
  const auto checks = [](bool beside) {
    zoo::Builder b("drawn");
    const auto x = b.input("x", normal({20}));
    b.output(b.op("aten.mul.Tensor", {ref(b.op("aten.dropout.default", {ref(x), {0.5}, {true}})), ref(x)}));
    if (beside) b.output(b.op("aten.exp.default", {ref(x)}));
    const auto architecture = b.take();
    auto model = wide_model(architecture, kMembers);
    std::vector<std::string> names;
    for (const auto& check : prove(model, wide_inputs(architecture, kMembers)).checks) {
      EXPECT_TRUE(check.passed) << check.text;
      names.push_back(check.what);
    }
    return names;
  };
  EXPECT_THAT(checks(true), testing::Contains("float64 reference"));
  EXPECT_THAT(checks(false), testing::Not(testing::Contains("float64 reference")));
}

TEST(Prove, TakesNoChanceResultForRounding) {
  zoo::Builder b("leak");
  const auto x = b.input("x", normal({5}));
  b.output(b.op("widetest.leak.default", {ref(x)}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  auto inputs = wide_inputs(architecture, kMembers);
  model.run_alone(0, inputs);
  EXPECT_FALSE(conditioning(model, 1, inputs).outputs.at(0).defined());
}

// Targets within [0, 1]: binary_cross_entropy refuses others.
TEST(Prove, ChangesInputsIntoLegalOnes) {
  zoo::Builder b("targets");
  const auto x = b.op("aten.sigmoid.default", {ref(b.input("x", normal({5})))});
  const auto target = b.input("target", normal({5}));
  b.output(b.op("aten.binary_cross_entropy.default", {ref(x), ref(target)}));
  const auto architecture = b.take();
  auto model = wide_model(architecture, kMembers);
  auto inputs = wide_inputs(architecture, kMembers);
  inputs[1].tensor = at::sigmoid(inputs[1].tensor);
  const auto proof = prove(model, inputs);
  EXPECT_TRUE(proof.passed()) << failures(proof);
  EXPECT_TRUE(proof.notes.empty());
  inputs[1].tensor = inputs[1].tensor + 2;
  EXPECT_THAT(refused_alone(model, inputs), HasSubstr("between 0 and 1"));
}

// The same with targets that are weights: the changed ones are out of range, for each member alone too.
TEST(Prove, NotesValuesThatAMemberAloneRefuses) {
  zoo::Builder b("fixed_targets");
  const auto x = b.op("aten.sigmoid.default", {ref(b.input("x", normal({5})))});
  const auto target = b.parameter("target", normal({5}));
  b.output(b.op("aten.binary_cross_entropy.default", {ref(x), ref(target)}));
  const auto architecture = b.take();
  auto members = zoo::make_members(architecture, kMembers, 0, at::kFloat);
  for (std::size_t i = 0; i < members.size(); ++i)
    members[i].tensors["target"] = at::full({5}, 1 - 0.01 * static_cast<double>(i));
  WideModel model(architecture.graph, members);
  const auto proof = prove(model, wide_inputs(architecture, kMembers));
  EXPECT_TRUE(proof.passed()) << failures(proof);
  ASSERT_EQ(proof.notes.size(), 1u);
  EXPECT_THAT(proof.notes[0], HasSubstr("cross-talk over weights: skipped"));
  EXPECT_THAT(proof.notes[0], HasSubstr("between 0 and 1"));
}

}  // namespace
}  // namespace wide::test
