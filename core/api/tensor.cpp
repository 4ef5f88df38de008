#include <wide/error.h>
#include <wide/tensor.h>

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "core/api/values.h"

namespace widebench {
namespace {

static_assert(sizeof(at::Tensor) == sizeof(void*) && alignof(at::Tensor) == alignof(void*));

// By Dtype.
constexpr std::array kTypes = {at::kBool,  at::kByte,   at::kChar,         at::kShort,
                               at::kInt,   at::kLong,   at::kHalf,         at::kBFloat16,
                               at::kFloat, at::kDouble, at::kComplexFloat, at::kComplexDouble};

at::Tensor& of(std::byte* storage) {
  return *std::launder(reinterpret_cast<at::Tensor*>(storage));
}

const at::Tensor& defined_one(const Tensor& tensor) {
  if (!tensor.defined()) throw Error("usage", "the tensor is undefined");
  return tensor.torch();
}

}  // namespace

Dtype dtype_of(at::ScalarType type) {
  const auto found = std::ranges::find(kTypes, type);
  return found == kTypes.end() ? Dtype::kOther : static_cast<Dtype>(found - kTypes.begin());
}

Tensor::Tensor() noexcept {
  new (storage_) at::Tensor();
}

Tensor::Tensor(const at::Tensor& tensor) noexcept {
  new (storage_) at::Tensor(tensor);
}

Tensor::operator const at::Tensor&() const noexcept {
  return torch();
}

const at::Tensor& Tensor::torch() const noexcept {
  return *std::launder(reinterpret_cast<const at::Tensor*>(storage_));
}

Tensor::Tensor(const Tensor& other) noexcept : Tensor(other.torch()) {}

Tensor::Tensor(Tensor&& other) noexcept {
  new (storage_) at::Tensor(std::move(of(other.storage_)));
}

Tensor& Tensor::operator=(const Tensor& other) noexcept {
  of(storage_) = other.torch();
  return *this;
}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  of(storage_) = std::move(of(other.storage_));
  return *this;
}

Tensor::~Tensor() {
  std::destroy_at(&of(storage_));
}

Tensor Tensor::copy_of(std::span<const std::byte> values, std::vector<std::int64_t> sizes, Dtype dtype) {
  return with_errors("usage", [&] {
    if (dtype >= Dtype::kOther) throw Error("usage", "a tensor of kOther cannot be made of bytes");
    if (std::ranges::any_of(sizes, [](std::int64_t size) { return size < 0; }))
      throw Error("usage", "a size is negative");
    const auto made = at::empty(sizes, kTypes[static_cast<std::size_t>(dtype)]);
    if (made.nbytes() != values.size()) {
      throw Error("usage", std::to_string(values.size()) + " bytes are given for a tensor of " +
                               std::to_string(made.nbytes()));
    }
    if (!values.empty()) std::memcpy(made.mutable_data_ptr(), values.data(), values.size());
    return Tensor(made);
  });
}

Tensor Tensor::copy_of(std::span<const float> values, std::vector<std::int64_t> sizes) {
  return copy_of(std::as_bytes(values), std::move(sizes), Dtype::kFloat32);
}

bool Tensor::defined() const noexcept {
  return torch().defined();
}

std::vector<std::int64_t> Tensor::sizes() const {
  if (!defined()) return {};
  if (torch().is_nested())
    throw Error("usage", "members have sizes of their own here; take one member's by [index]");
  return torch().sizes().vec();
}

Dtype Tensor::dtype() const {
  return defined() ? dtype_of(torch().scalar_type()) : Dtype::kOther;
}

std::vector<std::byte> Tensor::bytes() const {
  return with_errors("usage", [&] {
    const auto dense = defined_one(*this).detach().resolve_conj().resolve_neg().cpu().contiguous();
    const auto* data = static_cast<const std::byte*>(dense.const_data_ptr());
    return std::vector<std::byte>(data, data + dense.nbytes());
  });
}

std::vector<float> Tensor::floats() const {
  return with_errors("usage", [&] {
    const auto dense = defined_one(*this).detach().resolve_neg().cpu().to(at::kFloat).contiguous();
    const auto* data = dense.const_data_ptr<float>();
    return std::vector<float>(data, data + dense.numel());
  });
}

Tensor Tensor::operator[](std::int64_t index) const {
  return with_errors("usage", [&] { return Tensor(defined_one(*this).select(0, index)); });
}

}  // namespace widebench
