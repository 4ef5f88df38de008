#include "primitives/kernels/small_gemm.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

#include "core/aten/parallel.h"
#include "primitives/kernels/xsmm.h"

namespace wide::kernels {
namespace {

// Generated kernels do not block for the caches: beyond this their operands leave the second-level cache.
constexpr std::int64_t kMostWork = 128LL * 256 * 256;
constexpr std::int64_t kMostRows = 512;
constexpr std::int64_t kGrain = 32768;   // multiply-adds per thread
constexpr std::int64_t kCached = 32768;  // numbers that are still in the cache when the epilogue comes

}  // namespace

std::string SmallGemm::refusal(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
  if (rows == 0 || inner == 0 || columns == 0) return "the product is empty";
  if (rows > kMostRows || rows * inner * columns > kMostWork)
    return "the product is too large for kernels that do not block for the caches";
  if (xsmm_target() < LIBXSMM_X86_AVX2) return "libxsmm generates no code for this processor";
  return {};
}

// libxsmm counts by columns: what is [rows, columns] here is [columns, rows] there, so that w comes first.
SmallGemm::SmallGemm(std::int64_t rows, std::int64_t inner, std::int64_t columns, bool biased,
                     std::int64_t y_step)
    : rows_(rows), inner_(inner), columns_(columns), biased_(biased) {
  const auto m = static_cast<libxsmm_blasint>(columns), n = static_cast<libxsmm_blasint>(rows),
             k = static_cast<libxsmm_blasint>(inner),
             step = static_cast<libxsmm_blasint>(y_step ? y_step : columns);
  const float alpha = 1, beta = biased ? 1 : 0;
  const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;
  function_ = xsmm_dispatch(m, n, k, &m, &k, &step, &alpha, &beta, &flags, &prefetch);
  if (!function_) throw std::runtime_error("libxsmm generated no kernel for this product");
}

at::Tensor SmallGemm::run(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                          const Activation* epilogue) const {
  auto y = at::empty({x.size(0), rows_, columns_}, x.options());
  RECORD_FUNCTION("wide::small_gemm", std::vector<c10::IValue>());
  const float *xs = x.const_data_ptr<float>(), *ws = w.const_data_ptr<float>();
  const float* biases = biased_ ? bias.const_data_ptr<float>() : nullptr;
  float* ys = y.mutable_data_ptr<float>();
  const auto grain = std::max<std::int64_t>(1, kGrain / (rows_ * inner_ * columns_));
  const auto block = std::max<std::int64_t>(1, kCached / (rows_ * columns_));
  const bool inference = c10::InferenceMode::is_enabled();
  parallel_ranges(x.size(0), grain, [&](std::int64_t begin, std::int64_t end) {
    const c10::InferenceMode mode(inference);
    for (auto first = begin; first < end; first += block) {
      const auto last = std::min(end, first + block);
      for (auto member = first; member < last; ++member) {
        float* target = ys + member * rows_ * columns_;
        for (std::int64_t row = 0; biases && row < rows_; ++row)
          std::copy_n(biases + member * columns_, columns_, target + row * columns_);
        function_(ws + member * inner_ * columns_, xs + member * rows_ * inner_, target);
      }
      if (!epilogue) continue;
      auto products = y.narrow(0, first, last - first);
      epilogue->apply_in_place(products);
    }
  });
  return y;
}

at::Tensor SmallGemm::run_onto(const at::Tensor& c, const at::Tensor& x, const at::Tensor& w) const {
  auto y = at::empty({x.size(0), rows_, columns_}, x.options());
  RECORD_FUNCTION("wide::small_gemm", std::vector<c10::IValue>());
  const float *xs = x.const_data_ptr<float>(), *ws = w.const_data_ptr<float>(),
              *cs = c.const_data_ptr<float>();
  float* ys = y.mutable_data_ptr<float>();
  const auto grain = std::max<std::int64_t>(1, kGrain / (rows_ * inner_ * columns_));
  parallel_ranges(x.size(0), grain, [&](std::int64_t begin, std::int64_t end) {
    for (auto member = begin; member < end; ++member) {
      float* target = ys + member * rows_ * columns_;
      std::copy_n(cs + member * rows_ * columns_, rows_ * columns_, target);
      function_(ws + member * inner_ * columns_, xs + member * rows_ * inner_, target);
    }
  });
  return y;
}

}  // namespace wide::kernels
