// Groups of pointwise operators at random: what runs them tile by tile, C generated from them and ATen,
// operator by operator, agree; the first two to the last bit.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <random>
#include <string>

#include "core/native/code_cache.h"
#include "primitives/cases.h"
#include "primitives/group_steps.h"
#include "primitives/kernels/group_text.h"
#include "temporary_folder.h"

namespace wide::kernels {
namespace {

using group_primitive::steps_of;
using test::Tensors;

constexpr std::size_t kInOneText = 20;
constexpr const char* kKernel = "wide_kernel";

std::vector<std::string> levels_here() {
  const std::string best(instruction_set());
  if (best == "x86-64") return {best};
  if (best == "x86-64-v3") return {"x86-64", best};
  return {"x86-64", "x86-64-v3", best};
}

class RandomGroups {
 public:
  explicit RandomGroups(std::uint32_t seed) : random_(seed) {}

  Graph body() {
    Graph made;
    body_ = &made;
    floats_.clear(), masks_.clear();
    shape_ = {below(4) + 1, below(3) == 0 ? 1 : below(3) + 1,
              below(8) == 0 ? 600 + below(900) : below(33) + 1};
    for (auto left = below(3) + 1; left > 0; --left) floats_.push_back(input(at::kFloat));
    for (auto left = below(3); left > 0; --left) masks_.push_back(input(at::kBool));
    for (auto left = below(9) + 1; left > 0; --left) step();
    ValueId last = floats_.back();  // the last step gives numbers
    if (made.nodes.empty() || made.nodes.back().results[0] != last) last = node("aten.neg.default", {x()});
    made.outputs.push_back({{ValueRef{last}}});
    return made;
  }

  // In the shape of the group, or one that broadcasts with it; some with gaps between their numbers.
  Tensors operands() {
    Tensors all;
    for (const auto& one : body_->inputs) {
      const auto dtype = concrete(body_->values[static_cast<std::size_t>(one.value)]).dtype;
      auto shape = shape_;
      for (auto& size : shape) {
        if (!all.empty() && below(3) == 0) size = 1;
      }
      const bool gaps = below(6) == 0;
      if (gaps) shape.back() *= 2;
      auto tensor = numbers(shape);
      if (dtype == at::kBool) tensor = tensor > 0;
      all.push_back(gaps ? tensor.slice(-1, 0, shape.back(), 2) : tensor);
    }
    return all;
  }

 private:
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(bound));
  }
  Argument pick(const std::vector<ValueId>& from) {
    return {ValueRef{from[static_cast<std::size_t>(below(std::ssize(from)))]}};
  }
  Argument x() { return pick(floats_); }
  Argument number() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    constexpr std::array kSpecial = {0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0x1p-140, kInfinity, -kInfinity};
    if (below(5) == 0) return {kSpecial[static_cast<std::size_t>(below(std::ssize(kSpecial)))]};
    return {static_cast<double>(static_cast<float>(below(2001) - 1000) / 256.0F)};
  }
  Argument x_or_number() { return below(3) == 0 ? number() : x(); }

  ValueId value(at::ScalarType dtype) {
    return body_->add_value("v" + std::to_string(body_->values.size()), true, as_type({dtype, shape_}));
  }
  ValueId input(at::ScalarType dtype) {
    const auto id = value(dtype);
    body_->inputs.push_back({id, InputKind::kUser, body_->values.back().name});
    return id;
  }
  ValueId node(const std::string& op, std::vector<Argument> arguments) {
    const bool mask =
        op.starts_with("aten.g") || op.starts_with("aten.l")
            ? !op.starts_with("aten.gelu") && !op.starts_with("aten.leaky") && !op.starts_with("aten.log.")
            : false;
    const auto id = value(mask ? at::kBool : at::kFloat);
    body_->nodes.push_back({op, std::move(arguments), {id}, ""});
    (mask ? masks_ : floats_).push_back(id);
    return id;
  }

  void step() {
    static const std::vector<std::string> kOfOne = {
        "neg", "abs", "square", "sqrt",    "rsqrt", "reciprocal", "exp",       "log",
        "sin", "cos", "relu",   "sigmoid", "silu",  "tanh",       "hardswish", "hardsigmoid"};
    static const std::vector<std::string> kOfTwo = {"maximum.default", "minimum.default", "mul.Tensor",
                                                    "div.Tensor",      "gt.Tensor",       "ge.Tensor",
                                                    "lt.Tensor",       "le.Tensor"};
    const Argument one{std::int64_t{1}}, none{};
    switch (below(12)) {
      case 0:
        node("aten.add.Tensor", {x(), x_or_number(), below(2) == 0 ? one : number()});
        break;
      case 1:
        node("aten.sub.Tensor", {x(), x_or_number(), below(2) == 0 ? one : number()});
        break;
      case 2:
        node("aten.rsub.Scalar", {x(), number(), one});
        break;
      case 3:
        node("aten.gelu.default", {x(), {std::string(below(2) == 0 ? "none" : "tanh")}});
        break;
      case 4:
        node("aten.pow.Tensor_Scalar", {x(), {std::int64_t{below(2) + 2}}});
        break;
      case 5:
        node("aten.clamp.default", {x(), number(), below(2) == 0 ? none : number()});
        break;
      case 6:
        node("aten.leaky_relu.default", {x(), number()});
        break;
      case 7:
        if (!masks_.empty()) node("aten.where.self", {pick(masks_), x(), x()});
        break;
      case 8:
        if (!masks_.empty()) node("aten.logical_not.default", {pick(masks_)});
        break;
      case 9:
      case 10: {
        const auto op = kOfTwo[static_cast<std::size_t>(below(std::ssize(kOfTwo)))];
        const bool takes_number = op.starts_with("mul") || op.starts_with("div");
        node("aten." + op, {x(), takes_number ? x_or_number() : x()});
        break;
      }
      default:
        node("aten." + kOfOne[static_cast<std::size_t>(below(std::ssize(kOfOne)))] + ".default", {x()});
    }
  }

  at::Tensor numbers(const std::vector<std::int64_t>& shape) {
    using Limits = std::numeric_limits<float>;
    static const std::vector<float> kSpecial = {0.0F,
                                                -0.0F,
                                                1.0F,
                                                -1.0F,
                                                Limits::quiet_NaN(),
                                                Limits::infinity(),
                                                -Limits::infinity(),
                                                Limits::denorm_min(),
                                                -1e-40F,
                                                Limits::min(),
                                                Limits::max(),
                                                -Limits::max(),
                                                88.8F,
                                                -87.5F,
                                                -104.0F,
                                                9000.0F,
                                                -1e6F,
                                                8192.0F,
                                                1e20F,
                                                -1e20F};
    auto tensor = at::empty(shape, at::kFloat);
    std::normal_distribution<float> usual(0.0F, 2.0F);
    const auto specials = below(3);  // in a third of all tensors none, in a third few
    for (std::int64_t i = 0; i < tensor.numel(); ++i) {
      const bool special = specials == 2 ? below(3) == 0 : specials == 1 && below(40) == 0;
      tensor.mutable_data_ptr<float>()[i] =
          special ? kSpecial[static_cast<std::size_t>(below(std::ssize(kSpecial)))] : usual(random_);
    }
    return tensor;
  }

  std::mt19937 random_;
  Graph* body_ = nullptr;
  std::vector<ValueId> floats_, masks_;
  std::vector<std::int64_t> shape_;
};

struct Group {
  Graph body;
  Tensors operands;
  std::vector<GroupInput> inputs;

  explicit Group(RandomGroups& random) : body(random.body()), operands(random.operands()) {
    const auto numbers = TileProgram::numbers_in(operands);
    for (std::size_t i = 0; i < operands.size(); ++i)
      inputs.push_back({operands[i].scalar_type() == at::kBool, numbers[i]});
  }
  TileProgram program(const std::string& level, std::size_t steps = std::string::npos) const {
    auto all = steps_of(body);
    all.resize(std::min(all.size(), steps));
    return {body.inputs.size(), all, level};
  }
  TileProgram::Compiled compiled(std::shared_ptr<void> function) const {
    TileProgram::Compiled made{std::move(function), {}};
    for (const auto& input : inputs) made.numbers.push_back(input.number);
    return made;
  }
};

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// All groups in one file: a compiler that is started takes as long as the code of one group.
std::string text_of(const std::vector<Group>& groups, const std::string& level) {
  std::string all;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    auto text = group_text(steps_of(groups[i].body), groups[i].inputs, level).text;
    const auto own = text.find("WIDE_FUNCTION float k_");
    if (i == 0) all = text.substr(0, own);
    text.erase(0, own);
    replace_all(text, "k_", "k" + std::to_string(i) + "_");
    replace_all(text, kKernel, kKernel + std::to_string(i));
    all += text;
  }
  return all;
}

// The same bits, where NaN is NaN.
testing::AssertionResult same(const at::Tensor& got, const at::Tensor& expected) {
  if (got.sizes() != expected.sizes()) return testing::AssertionFailure() << "another shape";
  const auto differs = (got.view(at::kInt) != expected.view(at::kInt))
                           .logical_and(got.isnan().logical_and(expected.isnan()).logical_not());
  if (!differs.any().item<bool>()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << differs.sum().item<std::int64_t>() << " of " << got.numel()
                                     << " differ, first " << got.masked_select(differs)[0].item<float>()
                                     << " for " << expected.masked_select(differs)[0].item<float>();
}

// ATen rounds a sum with a factor once where it has whole vectors, and twice in what is left of a row, where
// the product may also overflow: either is right.
at::Tensor as_whole_vectors(const Node& node, const Tensors& operands, const at::Tensor& like) {
  constexpr std::int64_t kVector = 64;
  const auto count = like.numel(), padded = (count + kVector - 1) / kVector * kVector;
  Tensors rows;
  for (const auto& operand : operands)
    rows.push_back(
        at::constant_pad_nd(operand.expand_as(like).reshape({-1}).to(at::kFloat), {0, padded - count}, 1)
            .to(operand.scalar_type()));
  return test::run_once(node, rows)[0].slice(0, 0, count).reshape(like.sizes()).to(at::kFloat);
}

// What is left of a row, ATen computes number by number: its gelu of the largest numbers overflows in whole
// vectors of AVX-512, and not there.
at::Tensor as_rests(const Node& node, const Tensors& operands, const at::Tensor& like) {
  Tensors rows, results;
  for (const auto& operand : operands) rows.push_back(operand.expand_as(like).reshape({-1}));
  for (std::int64_t i = 0; i < like.numel(); ++i) {
    Tensors one;
    for (const auto& row : rows) one.push_back(row.slice(0, i, i + 1));
    results.push_back(test::run_once(node, one)[0]);
  }
  return at::cat(results).reshape(like.sizes()).to(at::kFloat);
}

// Each step on what the steps before it gave: errors do not add up.
void expect_as_by_atens_operators(const Group& group) {
  const auto best = std::string(instruction_set());
  std::vector<at::Tensor> values(group.body.values.size());
  at::Tensor whole = group.program(best).run(group.operands);
  for (std::size_t i = 0; i < group.operands.size(); ++i)
    values[static_cast<std::size_t>(group.body.inputs[i].value)] = group.operands[i].expand_as(whole);
  for (std::size_t i = 0; i < group.body.nodes.size(); ++i) {
    const auto& node = group.body.nodes[i];
    const auto got = group.program(best, i + 1).run(group.operands);
    const auto local = localize(node);
    Tensors operands;
    for (const auto id : local.operands) operands.push_back(values[static_cast<std::size_t>(id)]);
    const auto atens = test::run_once(local.node, operands)[0];
    const auto close = [&](const at::Tensor& to) { return at::isclose(got, to, 1e-5, 2e-6, true); };
    auto right = close(atens.to(at::kFloat));
    if (!right.all().item<bool>())
      right = right.logical_or(close(as_whole_vectors(local.node, operands, got)));
    if (!right.all().item<bool>()) right = right.logical_or(close(as_rests(local.node, operands, got)));
    EXPECT_TRUE(right.all().item<bool>()) << node.op << ", step " << i << "\n" << operands;
    values[static_cast<std::size_t>(node.results[0])] = atens.scalar_type() == at::kBool ? got != 0 : got;
  }
}

int wanted_groups() {
  const char* given = std::getenv("WIDEBENCH_GROUPS");
  return given != nullptr ? std::atoi(given) : 200;
}

// WIDEBENCH_GROUPS=10000 for as many.
TEST(CompiledGroup, RandomGroupsAreTheSameInEveryWay) {
  const c10::InferenceMode guard;
  const auto& compiler = native::Compiler::of_this_machine();
  ASSERT_FALSE(compiler.program.empty()) << compiler.refusal;
  const test::TemporaryFolder folder;
  RandomGroups random(20261124);
  int of_masks = 0, of_numbers = 0;
  for (int done = 0; done < wanted_groups(); done += static_cast<int>(kInOneText)) {
    native::CodeCache cache(folder / "kernels", compiler);
    std::vector<Group> groups;
    for (std::size_t i = 0; i < kInOneText; ++i) groups.emplace_back(random);
    for (const auto& level : levels_here()) {
      const auto text = text_of(groups, level);
      for (std::size_t i = 0; i < groups.size(); ++i) {
        SCOPED_TRACE("group " + std::to_string(done + static_cast<int>(i)) + ", " + level + "\n" +
                     group_text(steps_of(groups[i].body), groups[i].inputs, level).text);
        const auto code = cache.find(text, level, (kKernel + std::to_string(i)).c_str(), true);
        ASSERT_TRUE(code.function) << code.refusal;
        const auto compiled = groups[i].compiled(code.function);
        const auto program = groups[i].program(level);
        ASSERT_TRUE(same(program.run(groups[i].operands, &compiled), program.run(groups[i].operands)))
            << groups[i].operands;
        for (const auto& input : groups[i].inputs) of_masks += input.mask, of_numbers += input.number;
      }
    }
    for (const auto& group : groups) {
      SCOPED_TRACE(group_text(steps_of(group.body), group.inputs, "x86-64").text);
      expect_as_by_atens_operators(group);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(of_masks, 10);
  EXPECT_GT(of_numbers, 10);
}

// As at::relu() and at::clamp() have it, which also hand on NaN.
TEST(CompiledGroup, BoundsKeepTheSignOfAZero) {
  const c10::InferenceMode guard;
  using Input = TileProgram::Input;
  const auto x = at::tensor({0.0F, -0.0F, std::nanf(""), -1.0F, 1.0F}).repeat({9});
  const std::vector<std::pair<TileProgram::Step, at::Tensor>> all = {
      {{"relu", {Input{0}}}, at::relu(x)},
      {{"clamp", {Input{0}, 0.0F, 0.5F}}, at::clamp(x, 0.0, 0.5)},
      {{"clamp", {Input{0}, -0.0F, 0.0F}}, at::clamp(x, -0.0, 0.0)},
      {{"clamp", {Input{0}, -0.5F, -0.0F}}, at::clamp(x, -0.5, -0.0)}};
  for (const auto& level : levels_here()) {
    for (const auto& [step, wanted] : all) {
      const auto got = TileProgram(1, {step}, level).run(std::vector<at::Tensor>{x});
      EXPECT_TRUE(same(got, wanted)) << step.function << ", " << level << "\n" << got << wanted;
      EXPECT_TRUE(at::equal(at::signbit(got), at::signbit(wanted))) << step.function << ", " << level;
    }
  }
}

// GCC makes -(a * b + c) one operation, whose zero has another sign than the negation of the sum.
TEST(CompiledGroup, ZerosKeepTheirSigns) {
  const c10::InferenceMode guard;
  const test::TemporaryFolder folder;
  native::CodeCache cache(folder / "kernels", native::Compiler::of_this_machine());
  using Input = TileProgram::Input;
  using Result = TileProgram::Result;
  const TileProgram::Step sum{"add_scaled", {Input{0}, Input{1}, 2.0F}};
  const std::vector<TileProgram::Step> negations = {{"neg", {Result{0}}},
                                                    {"mul", {Result{0}, -1.0F}},
                                                    {"div", {Result{0}, -1.0F}},
                                                    {"sub", {-0.0F, Result{0}}},
                                                    {"sub_scaled", {-0.0F, Result{0}, 1.0F}}};
  const std::vector<at::Tensor> operands = {at::full({40}, 2.0F), at::full({40}, -1.0F)};
  for (const auto& level : levels_here()) {
    for (const auto& negation : negations) {
      SCOPED_TRACE(std::string(negation.function) + ", " + level);
      const std::vector<TileProgram::Step> steps = {sum, negation};
      const auto code = cache.find(group_text(steps, {{}, {}}, level).text, level, kKernel, true);
      ASSERT_TRUE(code.function) << code.refusal;
      const TileProgram::Compiled compiled{code.function, {false, false}};
      const TileProgram program(2, steps, level);
      const auto got = program.run(operands, &compiled);
      EXPECT_TRUE(same(got, program.run(operands)));
      EXPECT_TRUE(std::signbit(got[7].item<float>()));
    }
  }
}

// What the test above compares is the compiled code: a fault in it shows.
TEST(CompiledGroup, AFaultInTheCodeShows) {
  const c10::InferenceMode guard;
  const test::TemporaryFolder folder;
  native::CodeCache cache(folder / "kernels", native::Compiler::of_this_machine());
  const std::string level(instruction_set());
  RandomGroups random(7);
  int shown = 0;
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    const Group group(random);
    auto text = group_text(steps_of(group.body), group.inputs, level).text;
    const auto end = text.rfind("y[i] = ");
    text.replace(end, 7, "y[i] = 1.0F + ");
    const auto code = cache.find(text, level, kKernel, true);
    ASSERT_TRUE(code.function) << code.refusal;
    const auto compiled = group.compiled(code.function);
    shown +=
        same(group.program(level).run(group.operands, &compiled), group.program(level).run(group.operands))
            ? 0
            : 1;
  }
  EXPECT_GE(shown,
            kTries / 2);  // the others have gaps between their numbers, angles too far, or are not finite
}

}  // namespace
}  // namespace wide::kernels
