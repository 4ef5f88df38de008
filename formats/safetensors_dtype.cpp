#include "formats/safetensors_dtype.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "formats/fault.h"

namespace wide::formats {
namespace {

using SafetensorsRow = std::pair<std::string_view, Dtype>;
constexpr std::array kNames = {
    SafetensorsRow{"BOOL", Dtype::kBool},
    SafetensorsRow{"U8", Dtype::kUInt8},
    SafetensorsRow{"I8", Dtype::kInt8},
    SafetensorsRow{"I16", Dtype::kInt16},
    SafetensorsRow{"U16", Dtype::kUInt16},
    SafetensorsRow{"I32", Dtype::kInt32},
    SafetensorsRow{"U32", Dtype::kUInt32},
    SafetensorsRow{"I64", Dtype::kInt64},
    SafetensorsRow{"U64", Dtype::kUInt64},
    SafetensorsRow{"F8_E4M3", Dtype::kFloat8E4M3FN},
    SafetensorsRow{"F8_E5M2", Dtype::kFloat8E5M2},
    SafetensorsRow{"F8_E4M3FNUZ", Dtype::kFloat8E4M3FNUZ},
    SafetensorsRow{"F8_E5M2FNUZ", Dtype::kFloat8E5M2FNUZ},
    SafetensorsRow{"F16", Dtype::kFloat16},
    SafetensorsRow{"BF16", Dtype::kBFloat16},
    SafetensorsRow{"F32", Dtype::kFloat32},
    SafetensorsRow{"F64", Dtype::kFloat64},
    SafetensorsRow{"C64", Dtype::kComplex64},
};

}  // namespace

Dtype parse_safetensors_dtype(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &SafetensorsRow::first);
  if (found == kNames.end())
    throw Fault("dtype " + quote(name) + " is not supported; convert the tensor to a common type");
  return found->second;
}

std::optional<std::string_view> safetensors_name(Dtype dtype) {
  const auto found = std::ranges::find(kNames, dtype, &SafetensorsRow::second);
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace wide::formats
