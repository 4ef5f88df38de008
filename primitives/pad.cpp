// Wide padding: the padded axes are counted from the last, so the model axis stays wherever it is before
// them.
//   constant: front [N, …], packed or folded; other modes want exactly batch and channels before the padded
//   axes
#include <algorithm>

#include "primitives/support.h"

namespace wide::pad_primitive {
namespace {

enum { kX, kPad, kMode };

bool is_constant(const Call& call) {
  if (call.node.op == "aten.constant_pad_nd.default") return true;
  return call.node.op == "aten.pad.default" &&
         std::get<std::string>(call.node.arguments[kMode].value) == "constant";
}

Answer ask(const Call& call) {
  if (!call.operand_of(kX)) return refuse("the input is a constant");
  const auto padded = static_cast<std::int64_t>(call.integers(kPad).size() / 2);
  const auto before = call.operand_at(kX)->type.rank() - padded;
  Answer answer;
  const auto add = [&](Layout layout) { answer.offers.push_back(uniform_offer(call, layout)); };
  if (is_constant(call)) add(Layout::kFront);
  if (!is_constant(call) && before == 1) add(Layout::kFront);  // [C, …]: N takes the place of the batch
  if (is_constant(call) ? before >= 2 : before == 2) add(Layout::kPacked);
  if (is_constant(call) ? before >= 1 : before == 2) add(Layout::kFolded);
  return answer.offers.empty() ? refuse("the mode pads only what follows batch and channels") : answer;
}

Kernel prepare(const Call& call, const Offer&) {
  return boxed(call, call.node);
}

std::vector<Sample> samples(std::int64_t members) {
  const auto i = ints_argument;
  const Argument x{ValueRef{0}};
  const auto mode = [](const char* name) { return Argument{std::string(name)}; };
  return {
      {"constant", "aten.constant_pad_nd.default", {x, i({1, 2, 0, 1}), {0.5}}, {{{5, 3, 4, 6}}}},
      {"constant, every axis", "aten.constant_pad_nd.default", {x, i({1, 2, 0, 1}), {0.5}}, {{{4, 6}}}},
      {"cropped", "aten.constant_pad_nd.default", {x, i({-1, -1}), {0.0}}, {{{5, 3, 6}}}},
      {"pad", "aten.pad.default", {x, i({1, 2}), mode("constant"), {-1.0}}, {{{5, 3, 6}}}},
      {"pad, reflect", "aten.pad.default", {x, i({1, 2, 0, 1}), mode("reflect"), {}}, {{{5, 3, 4, 6}}}},
      {"pad, replicate", "aten.pad.default", {x, i({1, 2}), mode("replicate"), {}}, {{{5, 3, 6}}}},
      {"pad, circular", "aten.pad.default", {x, i({1, 2, 1, 0}), mode("circular"), {}}, {{{5, 3, 4, 6}}}},
      {"reflect, no batch axis", "aten.reflection_pad2d.default", {x, i({1, 2, 0, 1})}, {{{3, 4, 6}}}},
      {"reflect 1d", "aten.reflection_pad1d.default", {x, i({1, 2})}, {{{5, 3, 6}}}},
      {"replicate 3d", "aten.replication_pad3d.default", {x, i({1, 2, 0, 1, 1, 1})}, {{{2, 3, 4, 5, 6}}}},
      {"B equals N", "aten.pad.default", {x, i({1, 2}), mode("reflect"), {}}, {{{members, members, 6}}}},
  };
}

}  // namespace

Primitive pad() {
  return {"pad",
          {"aten.pad.default", "aten.constant_pad_nd.default", "aten.reflection_pad1d.default",
           "aten.reflection_pad2d.default", "aten.reflection_pad3d.default", "aten.replication_pad1d.default",
           "aten.replication_pad2d.default", "aten.replication_pad3d.default"},
          nullptr,
          {{"batched", ask, prepare}},
          nullptr,
          samples};
}

}  // namespace wide::pad_primitive
