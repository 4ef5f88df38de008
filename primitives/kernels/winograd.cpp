#include "primitives/kernels/winograd.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "core/aten/pages.h"
#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"
#include "primitives/kernels/winograd_tiles.h"
#include "primitives/kernels/winograd_transforms.h"
#include "primitives/kernels/xsmm.h"

namespace wide::kernels {
namespace {

using winograd::Four;
using winograd::kLanes;
using winograd::Two;
using winograd::Window;

constexpr std::int64_t kPanel = 64;               // columns of a product
constexpr std::int64_t kDepth = 32;               // terms of one chain of additions, see Note [Depth]
constexpr std::int64_t kScratch = 1 << 17;        // numbers of a block of tiles: half of a second-level cache
constexpr std::int64_t kFewest = 16, kMost = 48;  // tiles of a block

// Note [Depth]
// The error of a sum grows with its length: what is not summed in one chain is more exact. libtorch's own
// convolutions have several chains; with one of our own, errors would be up to nine times theirs.

WIDE_CLONES void add_rows(const float* from, std::int64_t from_step, float* to, std::int64_t to_step,
                          std::int64_t rows, std::int64_t count) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < count; ++i) to[r * to_step + i] += from[r * from_step + i];
  }
}

std::int64_t whole_blocks(std::int64_t extent, std::int64_t size) {
  return (extent + size - 1) / size * size;
}

// Of `edge` numbers from `start`, those that lie in [0, extent).
std::pair<int, int> inside(std::int64_t start, std::int64_t edge, std::int64_t extent) {
  return {static_cast<int>(std::clamp<std::int64_t>(-start, 0, edge)),
          static_cast<int>(std::clamp<std::int64_t>(extent - start, 0, edge))};
}

}  // namespace

std::string Winograd::refusal(std::int64_t in, std::int64_t out) {
  if (in < kLanes || out < kLanes) return "there are too few channels";
  if (xsmm_target() < LIBXSMM_X86_AVX2) return "libxsmm generates no code for this processor";
  return {};
}

Winograd::Winograd(int tile, std::int64_t in, std::int64_t out, std::int64_t members)
    : tile_(tile),
      in_(in),
      out_(out),
      members_(members),
      inner_(whole_blocks(in, kLanes)),
      columns_(whole_blocks(out, kLanes)),
      block_(std::clamp(kScratch / (products() * (inner_ + columns_)), kFewest, kMost)) {
  function({1, std::min(columns_, kPanel), std::min(inner_, kDepth), columns_});
}

// libxsmm counts by columns: y [tiles, columns] = x [tiles, depth] · w [depth, columns].
Winograd::Function Winograd::function(const Size& size) const {
  const auto m = static_cast<libxsmm_blasint>(size.columns), n = static_cast<libxsmm_blasint>(size.tiles),
             k = static_cast<libxsmm_blasint>(size.depth), from = static_cast<libxsmm_blasint>(inner_),
             to = static_cast<libxsmm_blasint>(size.step);
  const float alpha = 1, beta = 0;
  const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  const auto made = xsmm_dispatch(m, n, k, &m, &from, &to, &alpha, &beta, &flags, &prefetch);
  if (!made) throw std::runtime_error("libxsmm generated no kernel for this product");
  return made;
}

// [G, places, panels of columns one after the other: inner, columns of the panel].
at::Tensor Winograd::pack(const at::Tensor& w) const {
  const auto weights = w.contiguous();
  auto packed = empty_in_pages({w.size(0), products(), inner_ * columns_}, w.options()).zero_();
  const auto* from = weights.const_data_ptr<float>();
  auto* const to = packed.mutable_data_ptr<float>();
  const auto step = inner_ * columns_;
  parallel_ranges(w.size(0) * in_, 1, [&](std::int64_t first, std::int64_t end) {
    for (auto item = first; item < end; ++item) {
      const auto g = item / in_, i = item % in_;
      for (std::int64_t o = 0; o < out_; ++o) {
        const auto panel = o / kPanel * kPanel, wide = std::min(kPanel, columns_ - panel);
        auto* target = to + g * products() * step + panel * inner_ + i * wide + o - panel;
        const auto* weight = from + ((g * out_ + o) * in_ + i) * 9;
        tile_ == 2 ? winograd::transform_weight<Two>(weight, target, step)
                   : winograd::transform_weight<Four>(weight, target, step);
      }
    }
  });
  return packed;
}

// Images as [G, B, H, W, C] with their channels innermost, or with whole planes that a block turns for
// itself.
struct Winograd::Images {
  explicit Images(const at::Tensor& t)
      : height(t.size(2)),
        width(t.size(3)),
        channels(t.size(4)),
        strides(t.strides()),
        turned(strides[4] != 1) {}
  std::int64_t at(std::int64_t group, std::int64_t image, std::int64_t row = 0) const {
    return group * strides[0] + image * strides[1] + row * strides[2];
  }
  std::int64_t row_step() const { return turned ? width * channels : strides[2]; }
  std::int64_t place_step() const { return turned ? channels : strides[3]; }

  std::int64_t height, width, channels;
  at::IntArrayRef strides;
  bool turned;
};

// Some tiles of a group; of one image and in whole rows where images are turned.
struct Winograd::Block {
  std::int64_t group, first, count;
};

class Winograd::Pass {
 public:
  Pass(const Winograd& kernel, const at::Tensor& x, const at::Tensor& packed, const at::Tensor& bias,
       std::array<std::int64_t, 2> padding, const at::Tensor& y, RowFunction after)
      : kernel_(kernel),
        after_(after),
        tile_(kernel.tile_),
        padding_(padding),
        x_(x),
        y_(y),
        from_(x.const_data_ptr<float>()),
        weights_(packed.const_data_ptr<float>()),
        biases_(bias.defined() ? bias.const_data_ptr<float>() : nullptr),
        to_(y.mutable_data_ptr<float>()),
        rows_((y_.height + tile_ - 1) / tile_),
        places_((y_.width + tile_ - 1) / tile_),
        images_(y.size(1)),
        by_rows_(x_.turned || y_.turned),
        unit_(by_rows_ ? places_ : 1),
        units_((by_rows_ ? 1 : images_) * rows_ * places_ / unit_),
        blocks_(whole_blocks(units_, most()) / most()),
        size_(whole_blocks(units_, blocks_) / blocks_),
        odd_(static_cast<std::size_t>(y.size(0) * images_)) {}

  // Whether what it gave of an image is not all finite, by [group, image].
  std::vector<std::atomic<bool>>& run(std::int64_t groups) {
    const auto per_group = (by_rows_ ? images_ : 1) * blocks_;
    parallel_ranges(groups * per_group, 1, [&](std::int64_t begin, std::int64_t end) {
      Scratch scratch(*this);
      for (auto item = begin; item < end; ++item) {
        const auto image = item % per_group / blocks_, start = item % blocks_ * size_;
        const Block block{item / per_group, (image * units_ + start) * unit_,
                          std::min(size_, units_ - start) * unit_};
        gather(block, scratch);
        multiply(block, scratch);
        scatter(block, scratch);
      }
    });
    return odd_;
  }

 private:
  struct Scratch {
    explicit Scratch(const Pass& pass) {
      const auto& kernel = pass.kernel_;
      const auto tiles = pass.size_ * pass.unit_, rows = pass.size_ * pass.tile_;
      const std::int64_t extents[] = {tiles * kernel.products() * kernel.inner_,
                                      tiles * kernel.products() * kernel.columns_, tiles * kPanel,
                                      pass.x_.turned ? (rows + 2) * pass.x_.row_step() : 0,
                                      pass.y_.turned ? rows * pass.y_.row_step() : 0};
      memory =
          at::empty({std::accumulate(std::begin(extents), std::end(extents), std::int64_t{0})}, at::kFloat);
      pixels = memory.mutable_data_ptr<float>();
      products = pixels + extents[0], part = products + extents[1];
      turned_x = part + extents[2], turned_y = turned_x + extents[3];
    }
    at::Tensor memory;
    float *pixels, *products, *part, *turned_x, *turned_y;
  };

  std::int64_t most() const { return std::max<std::int64_t>(kernel_.block_ / unit_, 1); }
  std::int64_t image_of(std::int64_t tile) const { return tile / (rows_ * places_); }
  std::int64_t row_of(std::int64_t tile) const { return tile / places_ % rows_ * tile_; }
  std::int64_t place_of(std::int64_t tile) const { return tile % places_ * tile_; }

  void gather(const Block& block, Scratch& scratch) const {
    const auto edge = tile_ + 2;
    const float* base = from_;
    std::int64_t top_row = 0;
    if (x_.turned) {
      const auto image = image_of(block.first);
      top_row = std::clamp<std::int64_t>(row_of(block.first) - padding_[0], 0, x_.height);
      const auto end =
          std::clamp(row_of(block.first + block.count - 1) - padding_[0] + edge, top_row, x_.height);
      turn(from_ + x_.at(block.group, image, top_row), (end - top_row) * x_.width, x_.strides[4],
           scratch.turned_x, x_.channels, x_.channels);
      base = scratch.turned_x;
    }
    for (std::int64_t t = 0; t < block.count; ++t) {
      const auto tile = block.first + t, row = row_of(tile) - padding_[0],
                 place = place_of(tile) - padding_[1];
      const auto [top, bottom] = inside(row, edge, x_.height);
      const auto [left, right] = inside(place, edge, x_.width);
      const Window window{x_.row_step(),
                          x_.place_step(),
                          top,
                          bottom,
                          left,
                          right,
                          top == 0 && left == 0 && bottom == edge && right == edge};
      const auto image = x_.turned ? 0 : x_.at(block.group, image_of(tile));
      (tile_ == 2 ? winograd::pixels_of_two : winograd::pixels_of_four)(
          base + image + (row - top_row) * x_.row_step() + place * x_.place_step(), window, kernel_.in_,
          scratch.pixels + t * kernel_.inner_, block.count * kernel_.inner_);
    }
  }

  void multiply(const Block& block, Scratch& scratch) const {
    const auto inner = kernel_.inner_, columns = kernel_.columns_, places = kernel_.products();
    const auto* weights = weights_ + block.group * places * inner * columns;
    for (std::int64_t column = 0; column < columns; column += kPanel) {
      const auto panel = std::min(kPanel, columns - column);
      for (std::int64_t depth = 0; depth < inner; depth += kDepth) {
        const auto run = kernel_.function(
            {block.count, panel, std::min(kDepth, inner - depth), depth == 0 ? columns : panel});
        for (std::int64_t p = 0; p < places; ++p) {
          auto* sums = scratch.products + p * block.count * columns + column;
          run(weights + (p * columns + column) * inner + depth * panel,
              scratch.pixels + p * block.count * inner + depth, depth == 0 ? sums : scratch.part);
          if (depth > 0) add_rows(scratch.part, panel, sums, columns, block.count, panel);
        }
      }
    }
  }

  void scatter(const Block& block, Scratch& scratch) {
    const auto first_row = row_of(block.first);
    for (std::int64_t t = 0; t < block.count; ++t) {
      const auto tile = block.first + t, image = image_of(tile), row = row_of(tile), place = place_of(tile);
      const Window window{y_.row_step(),
                          y_.place_step(),
                          0,
                          inside(row, tile_, y_.height).second,
                          0,
                          inside(place, tile_, y_.width).second,
                          false};
      auto* target = y_.turned ? scratch.turned_y + (row - first_row) * y_.row_step()
                               : to_ + y_.at(block.group, image, row);
      const bool finite = (tile_ == 2 ? winograd::results_of_two : winograd::results_of_four)(
          scratch.products + t * kernel_.columns_, block.count * kernel_.columns_, kernel_.out_,
          biases_ ? biases_ + block.group * kernel_.out_ : nullptr, target + place * y_.place_step(), window);
      if (!finite) odd_[static_cast<std::size_t>(block.group * images_ + image)] = true;
      if (after_ && !y_.turned) apply_after(target + place * y_.place_step(), window);
    }
    if (!y_.turned) return;
    const auto end = std::min(row_of(block.first + block.count - 1) + tile_, y_.height);
    if (after_) after_(scratch.turned_y, scratch.turned_y, (end - first_row) * y_.row_step());
    turn(scratch.turned_y, y_.channels, y_.channels,
         to_ + y_.at(block.group, image_of(block.first), first_row), (end - first_row) * y_.width,
         y_.strides[4]);
  }

  // To the results of a tile that lie within the image.
  void apply_after(float* tile, const Window& window) const {
    const bool dense = window.place_step == kernel_.out_;
    for (int i = 0; i < window.end_row; ++i) {
      float* row = tile + i * window.row_step;
      if (dense) {
        after_(row, row, window.end_place * kernel_.out_);
        continue;
      }
      for (int j = 0; j < window.end_place; ++j) {
        float* place = row + j * window.place_step;
        after_(place, place, kernel_.out_);
      }
    }
  }

  // to[i, j] = from[j, i] for i < `from_row`, the length of a row of `from`, and j < `to_row`, of one of
  // `to`.
  static void turn(const float* from, std::int64_t from_row, std::int64_t from_step, float* to,
                   std::int64_t to_row, std::int64_t to_step) {
    if (from_row == 0 || to_row == 0) return;
    const auto size = [](std::int64_t extent) { return static_cast<libxsmm_blasint>(extent); };
    xsmm_transpose(to, from, sizeof(float), size(from_row), size(to_row), size(from_step), size(to_step));
  }

  const Winograd& kernel_;
  RowFunction after_;
  std::int64_t tile_;
  std::array<std::int64_t, 2> padding_;
  Images x_, y_;
  const float *from_, *weights_, *biases_;
  float* to_;
  std::int64_t rows_, places_, images_;  ///< of tiles in an image, and images in a group
  bool by_rows_;                         ///< a block is of whole rows of tiles of one image
  std::int64_t unit_, units_;            ///< tiles of such a row, or 1; so many of an image, or of the group
  std::int64_t blocks_, size_;           ///< of as many units; each alike, but for the last
  std::vector<std::atomic<bool>> odd_;
};

void Winograd::run(const at::Tensor& x, const WeightsOf& weights_of, const at::Tensor& packed,
                   const at::Tensor& bias, std::array<std::int64_t, 2> padding, const at::Tensor& y,
                   RowFunction after) const {
  RECORD_FUNCTION("wide::winograd", std::vector<c10::IValue>());
  const auto groups = y.size(0), images = y.size(1);
  Pass pass(*this, x, packed, bias, padding, y, after);
  const auto& odd = pass.run(groups);
  const auto own = out_ / members_;
  for (std::int64_t k = 0; k < groups * images; ++k) {
    if (!odd[static_cast<std::size_t>(k)]) continue;
    const auto group = k / images;
    const auto image = x[group][k % images].permute({2, 0, 1}).unsqueeze(0);
    for (std::int64_t member = 0; member < members_; ++member) {
      const auto part = y[group][k % images].narrow(2, member * own, own);
      if (!after && part.isfinite().all().item<bool>()) continue;
      const auto bias_of =
          bias.defined() ? std::optional(bias[group].narrow(0, member * own, own)) : std::nullopt;
      const auto weights = weights_of(group * members_ + member);
      auto again = at::conv2d(image, weights, bias_of, 1, {padding[0], padding[1]})[0];
      if (after) apply_in_place(after, again);
      part.copy_(again.permute({1, 2, 0}));
    }
  }
}

}  // namespace wide::kernels
