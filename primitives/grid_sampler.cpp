// Wide grid_sampler: x sampled at the places of a grid; and the affine grids themselves.
//   folded    x [N·B, C, H, W], grid [N·B, H', W', 2]
//   channels  the grid is shared: x [B, N·C, H, W], places computed once for all members
#include "primitives/support.h"

namespace wide::grid_sampler_primitive {
namespace {

enum { kX, kGrid };

Offer all_folded(const Call& call) {
  auto one = uniform_offer(call, Layout::kFolded);
  for (auto& layout : one.operands) layout = Layout::kFolded;
  return one;
}

bool is_affine(const Call& call) {
  return call.node.op == "aten.affine_grid_generator.default";
}

Answer ask_folded(const Call& call) {
  if (!call.operand_of(kX)) return refuse("the input is a constant");
  if (!is_affine(call) && !call.operand_of(kGrid)) return refuse("the grid is a constant");
  auto one = all_folded(call);
  one.cost *= 3;  // computing the places costs more than the reads
  return offer(std::move(one));
}

Kernel prepare_folded(const Call& call, const Offer&) {
  auto wide = call.node;
  if (is_affine(call)) {
    auto size = call.integers(1);
    size[0] *= call.members;
    wide.arguments[1] = ints_argument(size);
  }
  return boxed(call, std::move(wide));
}

Answer ask_channels(const Call& call) {
  if (is_affine(call)) return refuse("there is no image");
  if (!is_mapped(call, kX)) return refuse("the image is shared");
  if (is_mapped(call, kGrid)) return refuse("the grid differs per member");
  auto one = uniform_offer(call, Layout::kPacked);
  one.cost *= 1.5;
  return offer(std::move(one));
}

Kernel prepare_channels(const Call& call, const Offer&) {
  return boxed(call, call.node);
}

std::vector<Sample> samples(std::int64_t members) {
  const Argument zero{std::int64_t{0}}, one{std::int64_t{1}};
  const std::vector<Argument> zeros{{ValueRef{0}}, {ValueRef{1}}, zero, zero, {false}};
  const std::string op = "aten.grid_sampler.default";
  return {
      {"all mapped", op, zeros, {{{2, 3, 5, 6}}, {{2, 4, 7, 2}}}},
      {"shared grid", op, zeros, {{{2, 3, 5, 6}}, {{2, 4, 7, 2}, false}}},
      {"shared image", op, zeros, {{{2, 3, 5, 6}, false}, {{2, 4, 7, 2}}}},
      {"border", op, {{ValueRef{0}}, {ValueRef{1}}, zero, one, {true}}, {{{2, 3, 5, 6}}, {{2, 4, 7, 2}}}},
      {"3d", op, zeros, {{{2, 3, 4, 5, 6}}, {{2, 4, 5, 7, 3}}}},
      {"affine",
       "aten.affine_grid_generator.default",
       {{ValueRef{0}}, ints_argument({2, 3, 5, 6}), {false}},
       {{{2, 2, 3}}}},
      {"B equals N", op, zeros, {{{members, 3, 5, 6}}, {{members, 4, 7, 2}}}},
  };
}

}  // namespace

Primitive grid_sampler() {
  return {"grid_sampler",
          {"aten.grid_sampler.default", "aten.grid_sampler_2d.default", "aten.grid_sampler_3d.default",
           "aten.affine_grid_generator.default"},
          nullptr,
          {{"channels", ask_channels, prepare_channels}, {"folded", ask_folded, prepare_folded}},
          nullptr,
          samples};
}

}  // namespace wide::grid_sampler_primitive
