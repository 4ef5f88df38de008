#pragma once
// Work items side by side on libtorch's own threads, one thread each: what schedules with workers and the
// rival `threads` run by.

#include <c10/util/FunctionRef.h>

#include <cstddef>

namespace wide {

/// Calls work(0) … work(count - 1), each once, on `threads` threads, but no more than at::get_num_threads();
/// items are taken in turn, and the calling thread takes its share. In each item libtorch, oneDNN and MKL
/// work on that one thread, also where `threads` is 1. Returns when all are done; the first exception is
/// thrown again here and no further items are begun.
///
/// See Note [One pool] in side_by_side.cpp.
void run_side_by_side(std::size_t count, std::size_t threads, c10::function_ref<void(std::size_t)> work);

}  // namespace wide
