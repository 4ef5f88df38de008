#pragma once
// Conditions on sizes that torch.export took for granted, as the Python text that it writes into the file.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace wide::formats {

/// Whether e.g. "((1 + s77) // 2) != 1 and s77 <= s18" is true, by the rules of Python for int, float and
/// bool. A division by zero and integers beyond 100 bits make it false, as nothing can be said of such sizes.
/// At most 16 KiB and 64 levels. Throws Fault where the text is none that torch.export writes, or names a
/// symbol that is not there.
bool guard_holds(std::string_view guard, const std::map<std::string, std::int64_t>& symbols);

}  // namespace wide::formats
