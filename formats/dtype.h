#pragma once
// Element types of tensors in files, independent of libtorch.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace wide::formats {

/// Element type of a stored tensor. The values are ours, not those of any file format.
enum class Dtype : std::uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kFloat8E4M3FN,
  kFloat8E5M2,
  kFloat8E4M3FNUZ,
  kFloat8E5M2FNUZ,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex32,
  kComplex64,
  kComplex128,
};

/// Bytes of one element.
std::size_t item_size(Dtype dtype);

/// The name PyTorch prints, without the prefix: "float32", "bfloat16", "int64", …
std::string_view name(Dtype dtype);

}  // namespace wide::formats
