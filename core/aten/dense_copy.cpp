#include "core/aten/dense_copy.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/aten/parallel.h"

namespace wide {
namespace {

constexpr std::int64_t kFew = 1024;   // numbers that ATen may copy
constexpr std::int64_t kLong = 64;    // of a tile, along the axis that lies dense in the source
constexpr std::int64_t kAcross = 16;  // of a tile, along the axis that lies dense in the copy
constexpr std::int64_t kShort = 8;    // loops over fewer numbers are not the inner ones

struct Axis {
  std::int64_t size, from, to;  ///< strides
};

// Axes of more than one element, outermost first in the copy; neighbours that are one in both are one.
std::vector<Axis> axes_of(const at::Tensor& view) {
  std::vector<Axis> axes;
  for (std::int64_t i = 0; i < view.dim(); ++i) {
    const auto size = view.size(i), stride = view.stride(i);
    if (size == 1) continue;
    if (!axes.empty() && axes.back().from == stride * size) {
      axes.back() = {axes.back().size * size, stride, 0};
    } else {
      axes.push_back({size, stride, 0});
    }
  }
  std::int64_t stride = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    axis->to = stride;
    stride *= axis->size;
  }
  return axes;
}

// `along` lies dense in the source, `across` in the copy.
struct Tile {
  std::int64_t along, across;
};
void copy_tile(const std::uint32_t* from, std::uint32_t* to, const Tile& tile, std::int64_t from_step,
               std::int64_t to_step) {
  if (tile.across < kShort) {
    for (std::int64_t j = 0; j < tile.across; ++j)
      for (std::int64_t i = 0; i < tile.along; ++i) to[i * to_step + j] = from[j * from_step + i];
  } else {
    for (std::int64_t i = 0; i < tile.along; ++i)
      for (std::int64_t j = 0; j < tile.across; ++j) to[i * to_step + j] = from[j * from_step + i];
  }
}

struct Transposition {
  Axis along, across;
  std::vector<Axis> others;
  std::int64_t outer = 1;  ///< elements of the others together
};

// Nothing where both have the same axis innermost.
std::optional<Transposition> transposition(const at::Tensor& view) {
  auto axes = axes_of(view);
  if (axes.size() < 2) return std::nullopt;
  Transposition found{{}, axes.back(), {}, 1};
  axes.pop_back();
  const auto along = std::ranges::find(axes, 1, &Axis::from);
  if (along == axes.end() || found.across.from == 1) return std::nullopt;
  found.along = *along;
  axes.erase(along);
  for (const auto& axis : axes) found.outer *= axis.size;
  found.others = std::move(axes);
  return found;
}

void run(const Transposition& work, const std::uint32_t* from, std::uint32_t* to) {
  const auto& [along, across, others, outer] = work;
  const auto parts = (along.size + kLong - 1) / kLong;
  const auto numbers = std::min(kLong, along.size) * across.size;
  kernels::parallel_ranges(
      parts * outer, std::max<std::int64_t>(1, kernels::kNumbersPerThread / numbers),
      [&](std::int64_t begin, std::int64_t end) {
        for (auto unit = begin; unit < end; ++unit) {
          const auto first = unit / outer * kLong;
          auto rest = unit % outer;
          const auto* source = from + first;
          auto* target = to + first * along.to;
          for (auto axis = others.rbegin(); axis != others.rend(); ++axis) {
            source += rest % axis->size * axis->from;
            target += rest % axis->size * axis->to;
            rest /= axis->size;
          }
          for (std::int64_t j = 0; j < across.size; j += kAcross) {
            copy_tile(source + j * across.from, target + j,
                      {std::min(kLong, along.size - first), std::min(kAcross, across.size - j)}, across.from,
                      along.to);
          }
        }
      });
}

}  // namespace

at::Tensor dense_copy(const at::Tensor& view) {
  if (!view.is_cpu() || view.element_size() != 4 || view.numel() < kFew || view.requires_grad() ||
      view.is_neg())
    return view.contiguous();
  const auto work = transposition(view);
  if (!work) return view.contiguous();
  auto copy = at::empty(view.sizes(), view.options());
  RECORD_FUNCTION("wide::dense_copy", std::vector<c10::IValue>());
  run(*work, static_cast<const std::uint32_t*>(view.const_data_ptr()),
      static_cast<std::uint32_t*>(copy.mutable_data_ptr()));
  return copy;
}

at::Tensor in_order(const at::Tensor& tensor) {
  return tensor.contiguous().view(-1).view(tensor.sizes());
}

}  // namespace wide
