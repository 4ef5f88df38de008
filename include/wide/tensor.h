#pragma once
// A tensor of libtorch, behind a pointer: a file that includes this reads no header of libtorch.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace at {
class Tensor;
}

namespace widebench {

/// kOther: one that only libtorch's own tensor says.
enum class Dtype : std::uint8_t {
  kBool,
  kUInt8,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
  kComplex64,
  kComplex128,
  kOther,
};

/// Copies are the same tensor, as libtorch's are. Where <ATen/core/Tensor.h> is included, either kind is
/// given for the other.
class Tensor {
 public:
  Tensor() noexcept;                            ///< undefined
  Tensor(const at::Tensor& tensor) noexcept;    // NOLINT(google-explicit-constructor)
  operator const at::Tensor&() const noexcept;  // NOLINT(google-explicit-constructor)
  const at::Tensor& torch() const noexcept;     ///< the same, by name
  Tensor(const Tensor& other) noexcept;
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(const Tensor& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  ~Tensor();

  /// Of memory of its own: a copy of `values`, the last axis fastest. Throws Error ("usage") where their
  /// bytes are not those of the sizes.
  static Tensor copy_of(std::span<const std::byte> values, std::vector<std::int64_t> sizes, Dtype dtype);
  static Tensor copy_of(std::span<const float> values, std::vector<std::int64_t> sizes);

  bool defined() const noexcept;
  /// Empty where undefined, too. Error ("usage") where members have sizes of their own.
  std::vector<std::int64_t> sizes() const;
  Dtype dtype() const;                   ///< kOther where undefined
  std::vector<std::byte> bytes() const;  ///< a copy of the values, the last axis fastest
  std::vector<float> floats() const;     ///< a copy of the values, converted
  /// Number `index` along the first axis, the same memory: of an output [N, …], member `index`'s.
  Tensor operator[](std::int64_t index) const;

 private:
  alignas(void*) std::byte storage_[sizeof(void*)];  // an at::Tensor
};

}  // namespace widebench
