// Any text as a symbolic expression: parsed, printed and evaluated, or wide::Error.
#include <cstdint>
#include <string_view>

#include "formats/error.h"
#include "formats/expression.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wide::formats;
  try {
    const Expression expression = parse_expression({reinterpret_cast<const char*>(data), size});
    evaluate(expression, {{"s0", 3}, {"s1", -1}, {"s2", INT64_MAX}});
    to_string(expression);
  } catch (const wide::Error&) {
  }
  return 0;
}
