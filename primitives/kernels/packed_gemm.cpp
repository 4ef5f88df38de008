#include "primitives/kernels/packed_gemm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "core/aten/pages.h"
#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"
#include "primitives/kernels/xsmm.h"

namespace wide::kernels {
namespace {

// A tile of the result stays in the first-level cache; a panel of weights and the rows that it meets stay in
// the second.
constexpr std::int64_t kTileRows = 64, kDepth = 1024;
constexpr std::int64_t kLeastWork = 32768;   // multiply-adds per thread
constexpr std::int64_t kItemsPerThread = 3;  // fewer, and the last ones leave threads waiting

WIDE_CLONES void add_to_row(const float* __restrict other, float* __restrict y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] += other[i];
}
WIDE_CLONES void multiply_row(const float* __restrict other, float* __restrict y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] *= other[i];
}

std::int64_t blocks(std::int64_t extent, std::int64_t size) {
  return (extent + size - 1) / size;
}

// Four vectors: as many columns as libxsmm's kernels sum in registers at a time, so that they read a panel
// from its beginning to its end. Of wider ones they read strips, which meet in few sets of the cache.
std::int64_t panel() {
  return xsmm_target() >= LIBXSMM_X86_AVX512 ? 64 : 32;
}

}  // namespace

// Even blocks where any size will do; else all but the last are as large as may be.
PackedGemm::Cut::Cut(std::int64_t all, std::int64_t most, bool even)
    : extent(all),
      size(std::min(all, even ? blocks(all, std::max<std::int64_t>(1, blocks(all, most))) : most)),
      count(blocks(all, std::max<std::int64_t>(1, size))),
      last(all - (count - 1) * size) {}

std::string PackedGemm::refusal(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  if (rows == 0 || inner == 0 || columns == 0) return "the product is empty";
  if (xsmm_target() < LIBXSMM_X86_AVX2) return "libxsmm generates no code for this processor";
  return {};
}

// libxsmm counts by columns: what is [rows, columns] here is [columns, rows] there, so that w comes first.
PackedGemm::PackedGemm(std::int64_t rows, std::int64_t inner, std::int64_t columns)
    : rows_(rows, kTileRows, true), inner_(inner, kDepth, true), columns_(columns, panel(), false) {
  for (std::size_t kind = 0; kind < functions_.size(); ++kind) {
    const auto m = static_cast<libxsmm_blasint>((kind & 1U) != 0 ? columns_.last : columns_.size),
               k = static_cast<libxsmm_blasint>((kind & 2U) != 0 ? inner_.last : inner_.size),
               n = static_cast<libxsmm_blasint>((kind & 4U) != 0 ? rows_.last : rows_.size),
               from = static_cast<libxsmm_blasint>(inner), to = static_cast<libxsmm_blasint>(columns);
    const float alpha = 1, beta = 1;
    const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
    functions_[kind] = xsmm_dispatch(m, n, k, &m, &from, &to, &alpha, &beta, &flags, &prefetch);
    if (!functions_[kind]) throw std::runtime_error("libxsmm generated no kernel for this product");
  }
}

at::Tensor PackedGemm::pack(const at::Tensor& w) const {
  const auto members = w.size(0), inner = inner_.extent;
  const auto width = columns_.size, whole = columns_.extent / width * width, left = columns_.extent - whole;
  auto packed = empty_in_pages({members, columns_.extent * inner}, w.options());
  packed.narrow(1, 0, whole * inner)
      .view({members, whole / width, inner, width})
      .copy_(w.narrow(1, 0, whole).unflatten(1, {whole / width, width}).transpose(2, 3));
  packed.narrow(1, whole * inner, left * inner)
      .view({members, inner, left})
      .copy_(w.narrow(1, whole, left).transpose(1, 2));
  return packed;
}

void PackedGemm::run_tile(const Operands& of, float* y, std::int64_t r, std::int64_t first, std::int64_t end,
                          const Epilogue& epilogue) const {
  const auto height = rows_.at(r);
  const auto* x = of.x + r * rows_.size * inner_.extent;
  const auto before = r * rows_.size * columns_.extent;
  y += before;
  for (auto panel = first; panel < end; ++panel) {
    const auto column = panel * columns_.size, width = columns_.at(panel);
    for (std::int64_t row = 0; row < height; ++row) {
      float* target = y + row * columns_.extent + column;
      of.bias ? std::copy_n(of.bias + column, width, target) : std::fill_n(target, width, 0.0F);
    }
    for (std::int64_t part = 0; part < inner_.count; ++part) {
      const auto kind = (columns_.is_last(panel) ? 1U : 0U) + (inner_.is_last(part) ? 2U : 0U) +
                        (rows_.is_last(r) ? 4U : 0U);
      const auto depth = part * inner_.size;
      functions_[kind](of.packed + column * inner_.extent + depth * width, x + depth, y + column);
    }
    // Of two panels together, so that rows are long enough for the functions' vectors.
    const bool whole = (panel - first) % 2 != 0 || panel + 1 == end;
    if (!whole || (!epilogue.function && epilogue.with == Epilogue::With::kNothing)) continue;
    const auto start = (panel - (panel - first) % 2) * columns_.size;
    for (std::int64_t row = 0; row < height; ++row) {
      const auto offset = row * columns_.extent + start, count = column + width - start;
      float* target = y + offset;
      if (epilogue.function) epilogue.function(target, target, count);
      if (epilogue.with == Epilogue::With::kAdd) add_to_row(of.other + before + offset, target, count);
      if (epilogue.with == Epilogue::With::kMultiply) multiply_row(of.other + before + offset, target, count);
    }
  }
}

at::Tensor PackedGemm::run(const at::Tensor& x, const at::Tensor& packed, const at::Tensor& bias,
                           const Epilogue& epilogue) const {
  const auto members = packed.size(0);
  auto y = at::empty({members, rows_.extent, columns_.extent}, x.options());
  RECORD_FUNCTION("wide::packed_gemm", std::vector<c10::IValue>());
  const auto x_step = x.size(0) == 1 ? 0 : rows_.extent * inner_.extent;
  const float *xs = x.const_data_ptr<float>(), *ws = packed.const_data_ptr<float>();
  const float* biases = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
  const bool combines = epilogue.with != Epilogue::With::kNothing;
  const float* others = combines ? epilogue.other.const_data_ptr<float>() : nullptr;
  const auto size = rows_.extent * columns_.extent,
             other_step = combines && epilogue.other.size(0) > 1 ? size : 0;
  float* ys = y.mutable_data_ptr<float>();

  // An item is a block of rows of one member, of all columns unless that makes too few for the threads.
  const auto threads = static_cast<std::int64_t>(at::get_num_threads());
  const auto strips = members * rows_.count;
  const auto wanted = threads == 1 ? 1 : blocks(kItemsPerThread * threads, strips);
  const auto step = blocks(columns_.count, std::min(wanted, columns_.count));  // panels of an item
  const auto parts = blocks(columns_.count, step);
  const auto work = rows_.size * inner_.extent * step * columns_.size;
  const auto grain = std::max<std::int64_t>(1, kLeastWork / std::max<std::int64_t>(1, work));
  parallel_ranges(strips * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto item = begin; item < end; ++item) {
      const auto strip = item / parts, first = item % parts * step;
      const auto member = strip / rows_.count;
      const Operands of{xs + member * x_step, ws + member * columns_.extent * inner_.extent,
                        biases ? biases + member * columns_.extent : nullptr,
                        combines ? others + member * other_step : nullptr};
      run_tile(of, ys + member * size, strip % rows_.count, first, std::min(first + step, columns_.count),
               epilogue);
    }
  });
  return y;
}

}  // namespace wide::kernels
