#include "formats/safetensors_dtype.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "formats/fault.h"

namespace wide::formats {
namespace {

using Row = std::pair<std::string_view, Dtype>;
constexpr std::array kNames = {
    Row{"BOOL", Dtype::kBool},
    Row{"U8", Dtype::kUInt8},
    Row{"I8", Dtype::kInt8},
    Row{"I16", Dtype::kInt16},
    Row{"U16", Dtype::kUInt16},
    Row{"I32", Dtype::kInt32},
    Row{"U32", Dtype::kUInt32},
    Row{"I64", Dtype::kInt64},
    Row{"U64", Dtype::kUInt64},
    Row{"F8_E4M3", Dtype::kFloat8E4M3FN},
    Row{"F8_E5M2", Dtype::kFloat8E5M2},
    Row{"F8_E4M3FNUZ", Dtype::kFloat8E4M3FNUZ},
    Row{"F8_E5M2FNUZ", Dtype::kFloat8E5M2FNUZ},
    Row{"F16", Dtype::kFloat16},
    Row{"BF16", Dtype::kBFloat16},
    Row{"F32", Dtype::kFloat32},
    Row{"F64", Dtype::kFloat64},
    Row{"C64", Dtype::kComplex64},
};

}  // namespace

Dtype parse_safetensors_dtype(std::string_view name) {
  const auto found = std::ranges::find(kNames, name, &Row::first);
  if (found == kNames.end())
    throw Fault("dtype " + quote(name) + " is not supported; convert the tensor to a common type");
  return found->second;
}

std::optional<std::string_view> safetensors_name(Dtype dtype) {
  const auto found = std::ranges::find(kNames, dtype, &Row::second);
  return found == kNames.end() ? std::nullopt : std::optional(found->first);
}

}  // namespace wide::formats
