#include "formats/dtype.h"

#include <array>

namespace wide::formats {
namespace {

struct Row {
  Dtype dtype;
  std::size_t bytes;
  std::string_view name;
};

// In the order of the enum, so that a value is its own index.
constexpr std::array kRows = {
    Row{Dtype::kBool, 1, "bool"},
    Row{Dtype::kUInt8, 1, "uint8"},
    Row{Dtype::kInt8, 1, "int8"},
    Row{Dtype::kInt16, 2, "int16"},
    Row{Dtype::kUInt16, 2, "uint16"},
    Row{Dtype::kInt32, 4, "int32"},
    Row{Dtype::kUInt32, 4, "uint32"},
    Row{Dtype::kInt64, 8, "int64"},
    Row{Dtype::kUInt64, 8, "uint64"},
    Row{Dtype::kFloat8E4M3FN, 1, "float8_e4m3fn"},
    Row{Dtype::kFloat8E5M2, 1, "float8_e5m2"},
    Row{Dtype::kFloat8E4M3FNUZ, 1, "float8_e4m3fnuz"},
    Row{Dtype::kFloat8E5M2FNUZ, 1, "float8_e5m2fnuz"},
    Row{Dtype::kFloat16, 2, "float16"},
    Row{Dtype::kBFloat16, 2, "bfloat16"},
    Row{Dtype::kFloat32, 4, "float32"},
    Row{Dtype::kFloat64, 8, "float64"},
    Row{Dtype::kComplex32, 4, "complex32"},
    Row{Dtype::kComplex64, 8, "complex64"},
    Row{Dtype::kComplex128, 16, "complex128"},
};

constexpr bool rows_follow_the_enum() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    if (static_cast<std::size_t>(kRows[i].dtype) != i) return false;
  return kRows.size() == static_cast<std::size_t>(Dtype::kComplex128) + 1;
}
static_assert(rows_follow_the_enum());

}  // namespace

std::size_t item_size(Dtype dtype) {
  return kRows[static_cast<std::size_t>(dtype)].bytes;
}

std::string_view name(Dtype dtype) {
  return kRows[static_cast<std::size_t>(dtype)].name;
}

}  // namespace wide::formats
