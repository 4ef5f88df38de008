#pragma once
// gzip in memory, for traces on disk and in the database.

#include <cstddef>
#include <string>
#include <string_view>

namespace wide::profiler {

/// Throws wide::Error ("trace") when memory runs out.
std::string gzip(std::string_view bytes);

/// Throws wide::Error ("trace") when `bytes` are damaged, end early or unpack to more than `limit` bytes.
std::string gunzip(std::string_view bytes, std::size_t limit);

/// True when `bytes` begin as gzip does.
bool is_gzip(std::string_view bytes);

}  // namespace wide::profiler
