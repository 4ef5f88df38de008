// Calls whose arguments contradict each other, which libtorch itself would read or write beyond its tensors
// for.
#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/eager/argument_checks.h"
#include "core/eager/operators.h"
#include "core/support.h"
#include "formats/error.h"

namespace wide::test {
namespace {

using Stack = std::vector<c10::IValue>;

std::vector<at::Tensor> zeros(std::initializer_list<std::vector<std::int64_t>> sizes) {
  std::vector<at::Tensor> all;
  for (const auto& size : sizes) all.push_back(at::zeros(size));
  return all;
}

// Five features, batch 3, two layers, one way, four hidden.
Stack recurrence(std::int64_t gates, std::int64_t projected = 4) {
  const auto states = gates == 4 ? zeros({{2, 3, projected}, {2, 3, 4}}) : zeros({{2, 3, 4}});
  const auto g = 4 * gates;
  auto weights = projected == 4 ? zeros({{g, 5}, {g, 4}, {g}, {g}, {g, 4}, {g, 4}, {g}, {g}})
                                : zeros({{g, 5}, {g, 2}, {g}, {g}, {2, 4}, {g, 2}, {g, 2}, {g}, {g}, {2, 4}});
  const c10::IValue hx = gates == 4 ? c10::IValue(states) : c10::IValue(states[0]);
  return {at::zeros({7, 3, 5}), hx, weights, true, 2, 0.0, false, false, false};
}

// A call that is right, and what makes it wrong.
struct Faulty {
  std::string op;
  Stack right;
  std::function<void(Stack&)> spoil;
};

std::vector<Faulty> faulty() {
  const auto state = [](std::size_t which, std::vector<std::int64_t> sizes) {
    return [=](Stack& in) {
      auto all = in[1].toTensorVector();
      all[which] = at::zeros(sizes);
      in[1] = all;
    };
  };
  const auto weight = [](std::size_t which, std::vector<std::int64_t> sizes) {
    return [=](Stack& in) {
      auto all = in[2].toTensorVector();
      all[which] = at::zeros(sizes);
      in[2] = all;
    };
  };
  const auto set = [](std::size_t which, c10::IValue value) { return [=](Stack& in) { in[which] = value; }; };
  const std::string lstm = "aten.lstm.input";
  const auto x = at::randn({2, 6, 3}), six = at::ones({6}), one = at::ones({1});
  const auto packed = Stack{at::zeros({5, 5}),
                            at::tensor({3, 2}, at::kLong),
                            c10::IValue(zeros({{1, 3, 4}, {1, 3, 4}})),
                            c10::IValue(zeros({{16, 5}, {16, 4}, {16}, {16}})),
                            true,
                            1,
                            0.0,
                            false,
                            false};
  const auto q = at::zeros({2, 4, 3, 8});
  return {
      {lstm, recurrence(4), state(0, {1, 3, 4})},
      {lstm, recurrence(4), state(0, {2, 0, 4})},
      {lstm, recurrence(4), state(1, {2, 2, 4})},
      {lstm, recurrence(4), state(1, {2, 3, 9})},
      {lstm, recurrence(4), weight(0, {16, 4})},
      {lstm, recurrence(4), weight(5, {15, 4})},
      {lstm, recurrence(4), weight(7, {1})},
      {lstm, recurrence(4), set(3, false)},
      {lstm, recurrence(4), set(4, -1)},
      {lstm, recurrence(4), set(4, 1)},
      {lstm, recurrence(4), set(7, true)},
      {lstm, recurrence(4), set(8, true)},
      {lstm, recurrence(4), set(0, at::zeros({7, 3, 5}, at::kDouble))},
      {lstm, recurrence(4, 2), weight(4, {2, 3})},
      {"aten.gru.input", recurrence(3), weight(1, {12, 5})},
      {"aten.rnn_tanh.input", recurrence(1), set(1, at::zeros({2, 3, 5}))},
      {"aten.rnn_relu.input", recurrence(1), set(1, at::zeros({2, 1, 4}))},
      {"aten.lstm.data", packed, set(1, at::tensor({3, 3}, at::kLong))},
      {"aten.lstm.data", packed, set(1, at::tensor({2, 3}, at::kLong))},
      {"aten.lstm.data", packed, set(0, at::zeros({5, 6}))},
      {"aten._native_batch_norm_legit_functional.default",
       {x, six, six, six, six, true, 0.1, 1e-5},
       set(3, one)},
      {"aten.native_batch_norm.default", {x, six, six, six, six, false, 0.1, 1e-5}, set(1, one)},
      {"aten.embedding_bag.default",
       {at::ones({5, 3}), at::tensor({0, 1, 2}, at::kLong), at::tensor({0, 1}, at::kLong), false, 0, false,
        c10::IValue(), false},
       set(2, at::tensor({0, -900, 1}, at::kLong))},
      {"aten._pack_padded_sequence.default",
       {at::zeros({4, 2, 3}), at::tensor({4, 1}, at::kLong), false},
       set(1, at::tensor({4000, 1}, at::kLong))},
      {"aten._weight_norm.default", {at::ones({6, 3}), at::ones({6, 1}), 0}, set(1, at::ones({1, 1}))},
      {"aten._scaled_dot_product_flash_attention_for_cpu.default",
       {q, q, q, 0.0, false, c10::IValue(), c10::IValue()},
       set(1, at::zeros({1, 4, 3, 8}))},
      {"aten._scaled_dot_product_flash_attention_for_cpu.default",
       {q, q, q, 0.0, false, at::zeros({3, 3}), c10::IValue()},
       set(5, at::zeros({2, 2}))},
  };
}

TEST(ArgumentChecks, RefuseWhatContradictsItself) {
  for (const auto& one : faulty()) {
    SCOPED_TRACE(one.op);
    const auto check = argument_check(one.op);
    ASSERT_NE(check, nullptr);
    ASSERT_TRUE(find_operator(one.op).has_value());
    EXPECT_NO_THROW(check(one.right));
    auto right = one.right;
    EXPECT_NO_THROW(find_operator(one.op)->callBoxed(&right));  // libtorch takes it, too
    auto wrong = one.right;
    one.spoil(wrong);
    EXPECT_THROW(check(wrong), c10::Error);
  }
}

TEST(ArgumentChecks, EachNamesAnOperator) {
  for (const auto* op : {"aten.mkldnn_rnn_layer.default", "aten._reshape_alias.default"})
    EXPECT_NE(argument_check(op), nullptr) << op;
  EXPECT_EQ(argument_check("aten.linear.default"), nullptr);
}

// Before anything is planned: the model is run for one member at first.
TEST(ArgumentChecks, AModelThatLiesIsRefused) {
  using zoo::ref;
  zoo::Builder b("lstm");
  const auto x = b.input("x", normal({7, 3, 5})), h = b.input("h", normal({2, 3, 4})),
             w = b.input("w", normal({16, 5})), u = b.input("u", normal({16, 4}));
  const auto list = [](std::initializer_list<ValueId> ids) {
    Argument::List all;
    for (const auto id : ids) all.push_back(ref(id));
    return Argument{all};
  };
  b.output(b.op(
      "aten.lstm.input",
      {ref(x), list({h, h}), list({w, u}), {false}, {std::int64_t{1}}, {0.0}, {false}, {false}, {false}}));
  const auto architecture = b.take();
  try {
    wide_model(architecture, kMembers).forward(wide_inputs(architecture, kMembers));
    FAIL();
  } catch (const Error& fault) {
    EXPECT_THAT(fault.what(), testing::HasSubstr("the hidden state has the sizes"));
  }
}

// Numbers that do not fit their type are no c10::Error.
TEST(ArgumentChecks, WhatLibtorchThrowsOtherwiseIsAnErrorToo) {
  zoo::Builder b("overflow");
  const auto x = b.input("x", normal({4}));
  const auto full = b.op("aten.full_like.default", {zoo::ref(x), {300.0}, {}, {}, {}, {}, {}});
  b.output(full);
  auto architecture = b.take();
  for (auto& node : architecture.graph.nodes)
    node.arguments = {zoo::ref(x), {300.0}, {at::kChar}, {}, {}, {}, {}};
  try {
    wide_model(architecture, kMembers).forward(wide_inputs(architecture, kMembers));
    FAIL();
  } catch (const Error& fault) {
    EXPECT_THAT(fault.what(), testing::HasSubstr("full_like"));
    EXPECT_THAT(fault.what(), testing::HasSubstr("without overflow"));
  }
}

}  // namespace
}  // namespace wide::test
