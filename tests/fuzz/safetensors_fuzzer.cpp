// Any bytes as a safetensors file: its tensors lie within the file, or wide::Error.
#include <cstdint>
#include <cstdlib>

#include "formats/error.h"
#include "formats/safetensors.h"
#include "zip_builder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wide::formats;
  try {
    const auto file = Safetensors::parse(test::bytes_of({reinterpret_cast<const char*>(data), size}), "fuzz");
    unsigned sum = 0;  // touches every byte, for the address sanitizer
    for (const auto& entry : file.entries())
      for (const auto byte : entry.bytes) sum += std::to_integer<unsigned>(byte);
    if (sum == 0xffffffff) std::abort();
  } catch (const wide::Error&) {
  }
  return 0;
}
