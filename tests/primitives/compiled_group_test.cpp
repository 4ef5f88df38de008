// Groups of pointwise operators at random: what runs them tile by tile, C generated from them and ATen,
// operator by operator, agree; the first two to the last bit.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <string>

#include "core/native/code_cache.h"
#include "primitives/cases.h"
#include "primitives/group_steps.h"
#include "primitives/kernels/group_text.h"
#include "primitives/random_groups.h"
#include "temporary_folder.h"

namespace wide::kernels {
namespace {

using group_primitive::steps_of;
using test::RandomGroups;
using test::Tensors;

constexpr std::size_t kInOneText = 20;
constexpr const char* kKernel = "wide_kernel";

std::vector<std::string> levels_here() {
  const std::string best(instruction_set());
  if (best == "x86-64") return {best};
  if (best == "x86-64-v3") return {"x86-64", best};
  return {"x86-64", "x86-64-v3", best};
}

struct Group {
  Graph body;
  Tensors operands;
  GroupReads reads;

  explicit Group(RandomGroups& random) : body(random.body()), operands(random.operands()), reads(operands) {}
  TileProgram program(const std::string& level, std::size_t steps = std::string::npos) const {
    auto all = steps_of(body);
    all.resize(std::min(all.size(), steps));
    return {body.inputs.size(), all, level};
  }
  TileProgram::Compiled compiled(std::shared_ptr<void> function) const {
    return {std::move(function), reads.rows};
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
    auto text = group_text(steps_of(groups[i].body), groups[i].reads, level).text;
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
    if (!right.all().item<bool>() && node.op == "aten.gelu.default")
      right = right.logical_or(close(as_rests(local.node, operands, got)));
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
  int of_masks = 0, of_numbers = 0, of_short_rows = 0;
  for (int done = 0; done < wanted_groups(); done += static_cast<int>(kInOneText)) {
    native::CodeCache cache(folder / "kernels", compiler);
    std::vector<Group> groups;
    for (std::size_t i = 0; i < kInOneText; ++i) groups.emplace_back(random);
    for (const auto& level : levels_here()) {
      const auto text = text_of(groups, level);
      for (std::size_t i = 0; i < groups.size(); ++i) {
        SCOPED_TRACE("group " + std::to_string(done + static_cast<int>(i)) + ", " + level + "\n" +
                     group_text(steps_of(groups[i].body), groups[i].reads, level).text);
        const auto code = cache.find({text, level}, (kKernel + std::to_string(i)).c_str(), true);
        ASSERT_TRUE(code.function) << code.refusal;
        const auto compiled = groups[i].compiled(code.function);
        const auto program = groups[i].program(level);
        ASSERT_TRUE(same(program.run(groups[i].operands, &compiled), program.run(groups[i].operands)))
            << groups[i].operands;
        of_masks += static_cast<int>(std::ranges::count(groups[i].reads.masks, true));
        of_numbers += static_cast<int>(std::ranges::count(groups[i].reads.rows.numbers, true));
        of_short_rows += groups[i].reads.rows.columns != 0 ? 1 : 0;
      }
    }
    for (const auto& group : groups) {
      SCOPED_TRACE(group_text(steps_of(group.body), group.reads, "x86-64").text);
      expect_as_by_atens_operators(group);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(of_masks, 10);
  EXPECT_GT(of_numbers, 10);
  EXPECT_GT(of_short_rows, 10);
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
      const auto code =
          cache.find({group_text(steps, GroupReads(operands), level).text, level}, kKernel, true);
      ASSERT_TRUE(code.function) << code.refusal;
      const TileProgram::Compiled compiled{code.function, TileProgram::rows_of(operands)};
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
    auto text = group_text(steps_of(group.body), group.reads, level).text;
    const auto end = text.rfind(" = t");
    text.replace(end, 3, " = 1.0F + ");
    const auto code = cache.find({text, level}, kKernel, true);
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
