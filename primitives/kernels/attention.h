#pragma once
// softmax(mask(q·kᵀ·scale))·v head by head: a block of rows of scores stays in the second-level cache from
// the first product to the second, by code that libxsmm generates for their sizes; float32.

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>
#include <string>

namespace wide::kernels {

class Attention {
 public:
  struct Sizes {
    std::int64_t queries, keys, width, value_width;
    bool causal = false;         ///< query i sees keys 0 to i
    bool unseen_is_nan = false;  ///< what a query gets that sees no key: NaN, as softmax has it, or 0
  };
  /// What is done to scores before the softmax, in this order; each is undefined or broadcasts to [B, H, L,
  /// S].
  struct Masks {
    at::Tensor added;
    at::Tensor kept;    ///< bool: what is false becomes -Inf, by addition
    at::Tensor filled;  ///< bool: what is true becomes `value`; not beside `kept`
    float value = 0;
  };

  /// Why it cannot be computed so; empty where it can.
  static std::string refusal(const Sizes& sizes);
  /// Throws std::runtime_error where libxsmm generates no code for it.
  Attention(const Sizes& sizes, double scale);

  struct Result {
    at::Tensor y;  ///< [B, H, L, V], heads within queries in memory
    bool finite;   ///< all of it; what NaN and infinities come to is ATen's to say
  };
  /// q [B, H, L, E], k [B, G, S, E], v [B, G, S, V] with H a multiple of G.
  Result run(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const Masks& masks) const;

 private:
  using Product = void (*)(const float* w, const float* x, float* y, ...);
  struct Scratch;
  struct Rows;

  void pack(const float* k, std::int64_t k_step, const float* v, std::int64_t v_step, Scratch& to) const;
  bool attend(const Rows& rows, const Masks& masks, Scratch& scratch) const;

  Sizes sizes_;
  float scale_;
  std::int64_t block_, blocks_, last_block_;   // rows of queries
  std::int64_t panels_, last_panel_, stride_;  // of keys; stride_: between rows of scores
  std::array<Product, 4> scores_{};            // by last panel, last block
  std::array<Product, 8> values_{};            // by last panel, last block, added to what is there
};

}  // namespace wide::kernels
