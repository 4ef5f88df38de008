#include "primitives/kernels/embedding.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <vector>

#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"

namespace wide::kernels {
namespace {

struct Bag {
  const float* table;
  const std::int64_t* ids;
  const float* weights;  ///< null where all are 1
  std::int64_t count, width;
  float divisor;
  float* y;
};

// Columns of the result are added in registers, so many at a time.
constexpr std::int64_t kColumns = 64;
constexpr std::int64_t kBytesPerThread = kNumbersPerThread * 4;

template <typename Columns>
[[gnu::always_inline]] inline void add_columns(const Bag& bag, std::int64_t first, Columns columns) {
  float sums[kColumns] = {};
  for (std::int64_t i = 0; i < bag.count; ++i) {
    const float* row = bag.table + bag.ids[i] * bag.width + first;
    const float weight = bag.weights ? bag.weights[i] : 1;
    for (std::int64_t k = 0; k < columns; ++k) sums[k] += row[k] * weight;
  }
  for (std::int64_t k = 0; k < columns; ++k) bag.y[first + k] = sums[k] / bag.divisor;
}

WIDE_CLONES void add_rows_of(const Bag& bag) {
  std::int64_t first = 0;
  for (; first + kColumns <= bag.width; first += kColumns)
    add_columns(bag, first, std::integral_constant<std::int64_t, kColumns>());
  if (first < bag.width) add_columns(bag, first, bag.width - first);
}

// Numbers from one member's part to the next one's; 0 where all have the same.
std::int64_t step_of(const at::Tensor& tensor) {
  return tensor.size(0) > 1 ? tensor.stride(0) : 0;
}

// A member's own part, or what all have.
template <typename Number>
struct Each {
  const Number* data = nullptr;
  std::int64_t step = 0;

  explicit Each(const at::Tensor& tensor)
      : data(tensor.defined() ? tensor.const_data_ptr<Number>() : nullptr),
        step(tensor.defined() ? step_of(tensor) : 0) {}
  const Number* of(std::int64_t member) const { return data ? data + member * step : nullptr; }
};

void check_offsets(const at::Tensor& offsets, std::int64_t count) {
  const auto bags = offsets.size(1);
  const auto* all = offsets.const_data_ptr<std::int64_t>();
  for (const auto* own = all; own < all + offsets.numel(); own += bags) {
    TORCH_CHECK(own[0] == 0, "offsets[0] has to be 0");
    TORCH_CHECK(std::is_sorted(own, own + bags) && own[bags - 1] <= count,
                "offsets must not fall, nor lie beyond the ", count, " ids");
  }
}

}  // namespace

at::Tensor embedding(const at::Tensor& table, const at::Tensor& given_ids, std::int64_t members) {
  const auto ids = given_ids.to(at::kLong).contiguous();
  const auto rows = table.size(1);
  auto shape = ids.sizes().vec();
  shape.front() = members;
  shape.push_back(table.size(2));
  auto y = at::empty(shape, table.options());
  RECORD_FUNCTION("wide::embedding", std::vector<c10::IValue>());
  const auto count = ids.numel() / ids.size(0), bytes = table.size(2) * table.element_size();
  const auto step = step_of(table) * table.element_size();
  const Each<std::int64_t> each_ids(ids);
  const auto* from = static_cast<const std::byte*>(table.const_data_ptr());
  auto* to = static_cast<std::byte*>(y.mutable_data_ptr());
  std::atomic<bool> out_of_range = false;
  parallel_ranges(
      members * count, std::max<std::int64_t>(1, kBytesPerThread / std::max<std::int64_t>(1, bytes)),
      [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) {
          const auto member = i / count, id = each_ids.of(member)[i % count];
          if (id < 0 || id >= rows) {
            out_of_range = true;
            return;
          }
          std::memcpy(to + i * bytes, from + member * step + id * bytes, static_cast<std::size_t>(bytes));
        }
      });
  TORCH_CHECK_INDEX(!out_of_range, "index out of range in rows of embedding of ", rows);
  return y;
}

at::Tensor embedding_bag(const at::Tensor& table, const at::Tensor& given_ids,
                         const at::Tensor& given_offsets, const at::Tensor& weights, bool mean,
                         std::int64_t members) {
  const auto ids = given_ids.to(at::kLong).contiguous(), offsets = given_offsets.to(at::kLong).contiguous();
  const auto bags = offsets.size(1), count = ids.size(1), rows = table.size(1), width = table.size(2);
  check_offsets(offsets, count);
  auto y = at::empty({members, bags, width}, table.options());
  RECORD_FUNCTION("wide::embedding_bag", std::vector<c10::IValue>());
  const Each<float> each_table(table), each_weights(weights);
  const Each<std::int64_t> each_ids(ids), each_offsets(offsets);
  auto* result = y.mutable_data_ptr<float>();
  std::atomic<bool> out_of_range = false;
  const auto numbers = std::max<std::int64_t>(1, count * width / bags);
  parallel_ranges(
      members * bags, std::max<std::int64_t>(1, kNumbersPerThread / numbers),
      [&](std::int64_t begin, std::int64_t end) {
        for (auto i = begin; i < end; ++i) {
          const auto member = i / bags, bag = i % bags;
          const auto* starts = each_offsets.of(member);
          const auto first = starts[bag], last = bag + 1 < bags ? starts[bag + 1] : count;
          const auto* own = each_ids.of(member);
          if (!std::all_of(own + first, own + last,
                           [rows](std::int64_t id) { return 0 <= id && id < rows; })) {
            out_of_range = true;
            return;
          }
          const auto* factors = each_weights.of(member);
          add_rows_of({each_table.of(member), own + first, factors ? factors + first : nullptr, last - first,
                       width, mean && last > first ? static_cast<float>(last - first) : 1.0F,
                       result + i * width});
        }
      });
  TORCH_CHECK_INDEX(!out_of_range, "index out of range in rows of embedding_bag of ", rows);
  return y;
}

}  // namespace wide::kernels
