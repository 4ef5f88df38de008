#pragma once
// Work on libtorch's own threads. at::parallel_for is a template that the includer compiles: without -fopenmp
// it runs everything on one thread, and with it a second OpenMP library would bring a second team of threads.

#include <c10/util/FunctionRef.h>

#include <cstdint>

namespace wide::kernels {

/// Numbers below which a second thread costs more than it brings, where each is read and written once.
inline constexpr std::int64_t kNumbersPerThread = 16384;

/// Calls work(begin, end) for ranges that together are [0, count), at least `grain` in each, on as many
/// threads as at::get_num_threads() says; on this one alone where there is work for one only, or in a
/// parallel region.
void parallel_ranges(std::int64_t count, std::int64_t grain,
                     c10::function_ref<void(std::int64_t begin, std::int64_t end)> work);

}  // namespace wide::kernels
