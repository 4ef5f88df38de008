#include "primitives/kernels/attention.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"
#include "primitives/kernels/functions.h"
#include "primitives/kernels/xsmm.h"

namespace wide::kernels {
namespace {

constexpr std::int64_t kKeysOfPanel = 64, kMostQueries = 64, kScoresOfBlock = 32768, kVector = 16;
constexpr std::int64_t kLeastAttention = 32768;  // multiply-adds per thread
constexpr float kNever = -std::numeric_limits<float>::infinity();

// Whole numbers in the order of the floats that they are made of; a NaN is larger than all or smaller than
// all.
[[gnu::always_inline]] inline std::int32_t ordered(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  return bits ^ ((bits >> 31) & 0x7FFFFFFF);
}
[[gnu::always_inline]] inline float from_ordered(std::int32_t x) {
  return std::bit_cast<float>(x ^ ((x >> 31) & 0x7FFFFFFF));
}

// One query's scores, `seen` of them; what follows up to `padded`, a whole number of vectors, counts for
// nothing.
struct ScoreRow {
  float* scores;
  std::int64_t seen, padded;
  float scale;
  const float* added;         // null, or one number a key
  const bool *kept, *filled;  // null, or one a key
  float value;
};

// Scales and masks the scores and gives the largest, or NaN. The largest whole number is found in vectors
// without leave to reorder floats.
template <class Mask>
[[gnu::always_inline]] inline float largest_score(const ScoreRow& row, const Mask& masked) {
  auto most = ordered(kNever);
  for (std::int64_t i = 0; i < row.seen; ++i) {
    const float score = masked(row.scores[i] * row.scale, i);
    row.scores[i] = score;
    most = ordered(score) > most ? ordered(score) : most;
  }
  for (auto i = row.seen; i < row.padded; ++i) row.scores[i] = kNever;
  return from_ordered(most);
}

// Scores become exp(score - largest), whose sum is given. Where all are -Inf they become 0, and so does the
// sum.
WIDE_CLONES float exponents(const ScoreRow& row) {
  float most = 0;
  if (row.filled && row.added) {
    most = largest_score(row, [&](float score, std::int64_t i) {
      const float sum = score + row.added[i];
      return row.filled[i] ? row.value : sum;
    });
  } else if (row.filled) {
    most = largest_score(row, [&](float score, std::int64_t i) { return row.filled[i] ? row.value : score; });
  } else if (row.added) {
    most = largest_score(row, [&](float score, std::int64_t i) { return score + row.added[i]; });
  } else if (row.kept) {
    most = largest_score(row,
                         [&](float score, std::int64_t i) { return score + (row.kept[i] ? 0.0F : kNever); });
  } else {
    most = largest_score(row, [](float score, std::int64_t) { return score; });
  }
  if (most == kNever) {
    float sum = 0;
    for (std::int64_t i = 0; i < row.padded; ++i) {
      const float score = row.scores[i];
      row.scores[i] = 0;
      if (score != score) sum = score;
    }
    return sum;
  }
  float* scores = row.scores;
  float lanes[kVector] = {};
  for (std::int64_t i = 0; i < row.padded; i += kVector) {
    for (std::int64_t l = 0; l < kVector; ++l) {
      const float power = exp_below(scores[i + l] - most);
      scores[i + l] = power;
      lanes[l] += power;
    }
  }
  float sum = 0;
  for (const float lane : lanes) sum += lane;
  return sum;
}

// False where a number is not finite.
WIDE_CLONES bool scale_result(const float* from, float* to, float factor, std::int64_t count) {
  constexpr float kMost = std::numeric_limits<float>::max();
  int odd = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    to[i] = from[i] * factor;
    odd |= std::fabs(to[i]) <= kMost ? 0 : 1;
  }
  return odd == 0;
}

// Rows of one head, one after the other: short ones, for which a call of memcpy takes longer than the copy.
WIDE_CLONES void pack_rows(const float* from, std::int64_t step, std::int64_t rows, std::int64_t width,
                           float* __restrict to) {
  for (std::int64_t row = 0; row < rows; ++row, from += step, to += width) {
    std::int64_t e = 0;
    for (; e + kVector <= width; e += kVector)
      for (std::int64_t l = 0; l < kVector; ++l) to[e + l] = from[e + l];
    for (; e < width; ++e) to[e] = from[e];
  }
}

// Keys as columns, so that vectors run over keys.
void pack_panel(const float* k, std::int64_t step, std::int64_t keys, std::int64_t width,
                std::int64_t columns, float* to) {
  const auto size = [](std::int64_t value) { return static_cast<libxsmm_blasint>(value); };
  xsmm_transpose(to, k, sizeof(float), size(width), size(keys), size(std::max(step, width)), size(columns));
  for (std::int64_t e = 0; keys < columns && e < width; ++e)
    std::fill(to + e * columns + keys, to + (e + 1) * columns, 0.0F);
}

std::int64_t parts_of(std::int64_t extent, std::int64_t size) {
  return (extent + size - 1) / size;
}

auto product_of(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t a_step, std::int64_t b_step,
                std::int64_t c_step, float beta) {
  const auto size = [](std::int64_t value) { return static_cast<libxsmm_blasint>(value); };
  const auto lda = size(a_step), ldb = size(b_step), ldc = size(c_step);
  const float alpha = 1;
  const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  const auto function =
      xsmm_dispatch(size(m), size(n), size(k), &lda, &ldb, &ldc, &alpha, &beta, &flags, &prefetch);
  if (!function) throw std::runtime_error("libxsmm generated no kernel for attention of this size");
  return function;
}

}  // namespace

// What one thread works in.
struct Attention::Scratch {
  explicit Scratch(const Attention& of)
      : keys(static_cast<std::size_t>(of.stride_ * of.sizes_.width)),
        values(static_cast<std::size_t>(of.sizes_.keys * of.sizes_.value_width)),
        queries(static_cast<std::size_t>(of.block_ * of.sizes_.width)),
        scores(static_cast<std::size_t>(of.block_ * of.stride_)),
        results(static_cast<std::size_t>(of.block_ * of.sizes_.value_width)),
        sums(static_cast<std::size_t>(of.block_)) {}
  std::vector<float> keys, values, queries, scores, results, sums;
};

// A block of one head's queries; steps are between rows.
struct Attention::Rows {
  const float* q;
  std::int64_t q_step;
  float* y;
  std::int64_t y_step;
  const float* added;
  std::int64_t added_step;
  const bool* mask;
  std::int64_t mask_step;
  std::int64_t block;
};

std::string Attention::refusal(const Sizes& sizes) {
  if (sizes.queries == 0 || sizes.keys == 0 || sizes.width == 0 || sizes.value_width == 0)
    return "there is nothing to attend to";
  if (xsmm_target() < LIBXSMM_X86_AVX2) return "libxsmm generates no code for this processor";
  return {};
}

// libxsmm counts by columns: [rows, columns] here is [columns, rows] there, so that the right factor comes
// first.
Attention::Attention(const Sizes& sizes, double scale) : sizes_(sizes), scale_(static_cast<float>(scale)) {
  panels_ = parts_of(sizes.keys, kKeysOfPanel);
  last_panel_ = sizes.keys - (panels_ - 1) * kKeysOfPanel;
  stride_ = parts_of(sizes.keys, kVector) * kVector;
  const auto most = std::clamp<std::int64_t>(kScoresOfBlock / stride_, kVector, kMostQueries);
  block_ = parts_of(sizes.queries, parts_of(sizes.queries, most));
  blocks_ = parts_of(sizes.queries, block_);
  last_block_ = sizes.queries - (blocks_ - 1) * block_;
  for (std::size_t kind = 0; kind < values_.size(); ++kind) {
    const bool last = (kind & 1U) != 0;
    const auto rows = (kind & 2U) != 0 ? last_block_ : block_;
    const auto keys = last ? last_panel_ : kKeysOfPanel;
    const auto columns = parts_of(keys, kVector) * kVector;
    if (last || panels_ > 1) {
      if (kind < scores_.size())
        scores_[kind] = product_of(columns, rows, sizes.width, columns, sizes.width, stride_, 0);
      values_[kind] = product_of(sizes.value_width, rows, keys, sizes.value_width, stride_, sizes.value_width,
                                 (kind & 4U) != 0 ? 1 : 0);
    }
  }
}

void Attention::pack(const float* k, std::int64_t k_step, const float* v, std::int64_t v_step,
                     Scratch& to) const {
  for (std::int64_t panel = 0; panel < panels_; ++panel) {
    const auto first = panel * kKeysOfPanel, keys = std::min(kKeysOfPanel, sizes_.keys - first);
    pack_panel(k + first * k_step, k_step, keys, sizes_.width, parts_of(keys, kVector) * kVector,
               to.keys.data() + first * sizes_.width);
  }
  pack_rows(v, v_step, sizes_.keys, sizes_.value_width, to.values.data());
}

bool Attention::attend(const Rows& rows, const Masks& masks, Scratch& scratch) const {
  const auto first = rows.block * block_;
  const bool last = rows.block == blocks_ - 1;
  const auto count = last ? last_block_ : block_;
  const auto needed = sizes_.causal ? std::min(sizes_.keys, first + count) : sizes_.keys;
  const auto panels = parts_of(needed, kKeysOfPanel);
  pack_rows(rows.q, rows.q_step, count, sizes_.width, scratch.queries.data());
  const auto kind_of = [&](std::int64_t panel) {
    return (panel == panels_ - 1 ? 1U : 0U) + (last ? 2U : 0U);
  };
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const auto key = panel * kKeysOfPanel;
    scores_[kind_of(panel)](scratch.keys.data() + key * sizes_.width, scratch.queries.data(),
                            scratch.scores.data() + key);
  }
  const auto padded = std::min(panels * kKeysOfPanel, stride_);
  for (std::int64_t row = 0; row < count; ++row) {
    const auto seen = sizes_.causal ? std::min(sizes_.keys, first + row + 1) : sizes_.keys;
    const auto* mask = rows.mask ? rows.mask + row * rows.mask_step : nullptr;
    scratch.sums[static_cast<std::size_t>(row)] = exponents(
        {scratch.scores.data() + row * stride_, seen, padded, scale_,
         rows.added ? rows.added + row * rows.added_step : nullptr, masks.filled.defined() ? nullptr : mask,
         masks.filled.defined() ? mask : nullptr, masks.value});
  }
  for (std::int64_t panel = 0; panel < panels; ++panel) {
    const auto key = panel * kKeysOfPanel;
    values_[kind_of(panel) + (panel > 0 ? 4U : 0U)](scratch.values.data() + key * sizes_.value_width,
                                                    scratch.scores.data() + key, scratch.results.data());
  }
  const float unseen = sizes_.unseen_is_nan ? std::numeric_limits<float>::quiet_NaN() : 0.0F;
  bool finite = true;
  for (std::int64_t row = 0; row < count; ++row) {
    const auto sum = scratch.sums[static_cast<std::size_t>(row)];
    finite &= scale_result(scratch.results.data() + row * sizes_.value_width, rows.y + row * rows.y_step,
                           sum == 0 ? unseen : 1 / sum, sizes_.value_width);
  }
  return finite;
}

Attention::Result Attention::run(const at::Tensor& q_given, const at::Tensor& k_given,
                                 const at::Tensor& v_given, const Masks& masks) const {
  // Rows may lie apart but not on one another: libxsmm counts their steps as at least their length.
  const auto dense_rows = [](const at::Tensor& tensor) {
    const bool dense = tensor.stride(3) == 1 || tensor.size(3) == 1;
    const bool apart = tensor.stride(2) >= tensor.size(3) || tensor.size(2) == 1;
    return dense && apart ? tensor : tensor.contiguous();
  };
  const auto q = dense_rows(q_given), k = dense_rows(k_given), v = dense_rows(v_given);
  const auto batch = q.size(0), heads = q.size(1), key_heads = k.size(1), repeats = heads / key_heads;
  const auto by_key = [&](const at::Tensor& given) {
    if (!given.defined()) return given;
    const auto all = given.expand({batch, heads, sizes_.queries, sizes_.keys});
    return all.stride(3) == 1 ? all : all.contiguous();
  };
  const auto added = by_key(masks.added.defined() ? masks.added.to(at::kFloat) : at::Tensor());
  const auto mask = by_key(masks.filled.defined() ? masks.filled : masks.kept);
  const auto y = at::empty({batch, sizes_.queries, heads, sizes_.value_width}, q.options()).transpose(1, 2);
  RECORD_FUNCTION("wide::attention", std::vector<c10::IValue>());
  const float *qs = q.const_data_ptr<float>(), *ks = k.const_data_ptr<float>(),
              *vs = v.const_data_ptr<float>();
  float* ys = y.mutable_data_ptr<float>();

  // An item is a block of queries of one head; those that share keys follow one another.
  const auto items = batch * heads * blocks_;
  const auto work = block_ * sizes_.keys * (sizes_.width + sizes_.value_width) / (sizes_.causal ? 2 : 1);
  const auto grain = std::max<std::int64_t>(1, kLeastAttention / std::max<std::int64_t>(1, work));
  std::atomic<bool> finite = true;
  parallel_ranges(items, grain, [&](std::int64_t begin, std::int64_t end) {
    Scratch scratch(*this);
    std::int64_t packed = -1;
    for (auto item = begin; item < end; ++item) {
      const auto block = item % blocks_, head = item / blocks_ % heads, of = item / blocks_ / heads;
      const auto keys = of * key_heads + head / repeats;
      if (keys != packed) {
        packed = keys;
        pack(ks + of * k.stride(0) + head / repeats * k.stride(1), k.stride(2),
             vs + of * v.stride(0) + head / repeats * v.stride(1), v.stride(2), scratch);
      }
      const auto row = block * block_;
      Rows rows{qs + of * q.stride(0) + head * q.stride(1) + row * q.stride(2),
                q.stride(2),
                ys + of * y.stride(0) + head * y.stride(1) + row * y.stride(2),
                y.stride(2),
                nullptr,
                0,
                nullptr,
                0,
                block};
      const auto place = [&](const at::Tensor& one) {
        return of * one.stride(0) + head * one.stride(1) + row * one.stride(2);
      };
      if (added.defined()) {
        rows.added = added.const_data_ptr<float>() + place(added);
        rows.added_step = added.stride(2);
      }
      if (mask.defined()) {
        rows.mask = mask.const_data_ptr<bool>() + place(mask);
        rows.mask_step = mask.stride(2);
      }
      if (!attend(rows, masks, scratch)) finite.store(false, std::memory_order_relaxed);
    }
  });
  return {y, finite};
}

}  // namespace wide::kernels
