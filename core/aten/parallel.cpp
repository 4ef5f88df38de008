#include "core/aten/parallel.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/TensorIterator.h>

#include <algorithm>

namespace wide::kernels {

void parallel_ranges(std::int64_t count, std::int64_t grain,
                     c10::function_ref<void(std::int64_t begin, std::int64_t end)> work) {
  if (count <= 0) return;
  grain = std::max<std::int64_t>(1, grain);
  if (count < 2 * grain || at::get_num_threads() == 1) return work(0, count);
  // An iterator over bytes that nobody reads or writes: their addresses are the indices.
  alignas(64) static char base;
  const auto indices = at::from_blob(&base, {count}, at::TensorOptions().dtype(at::kByte));
  auto iterator = at::TensorIteratorConfig()
                      .set_check_mem_overlap(false)
                      .check_all_same_dtype(false)
                      .declare_static_dtype_and_device(at::kByte, at::kCPU)
                      .resize_outputs(false)
                      .add_owned_output(indices)
                      .build();
  // With one axis of stride 1 the outer of the loop's two sizes is always 1.
  iterator.for_each(
      [&](char** data, const std::int64_t*, std::int64_t size, std::int64_t) {
        const auto begin = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(data[0]) -
                                                     reinterpret_cast<std::intptr_t>(&base));
        work(begin, begin + size);
      },
      grain);
}

}  // namespace wide::kernels
