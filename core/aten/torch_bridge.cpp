#include "core/aten/torch_bridge.h"

#include <ATen/ATen.h>

#include <array>
#include <cstring>

#include "formats/error.h"

namespace wide {
namespace {

using formats::Dtype;

struct Pair {
  Dtype file;
  at::ScalarType torch;
};

constexpr std::array kPairs = {
    Pair{Dtype::kBool, at::kBool},
    Pair{Dtype::kUInt8, at::kByte},
    Pair{Dtype::kInt8, at::kChar},
    Pair{Dtype::kInt16, at::kShort},
    Pair{Dtype::kUInt16, at::kUInt16},
    Pair{Dtype::kInt32, at::kInt},
    Pair{Dtype::kUInt32, at::kUInt32},
    Pair{Dtype::kInt64, at::kLong},
    Pair{Dtype::kUInt64, at::kUInt64},
    Pair{Dtype::kFloat8E4M3FN, at::kFloat8_e4m3fn},
    Pair{Dtype::kFloat8E5M2, at::kFloat8_e5m2},
    Pair{Dtype::kFloat8E4M3FNUZ, at::kFloat8_e4m3fnuz},
    Pair{Dtype::kFloat8E5M2FNUZ, at::kFloat8_e5m2fnuz},
    Pair{Dtype::kFloat16, at::kHalf},
    Pair{Dtype::kBFloat16, at::kBFloat16},
    Pair{Dtype::kFloat32, at::kFloat},
    Pair{Dtype::kFloat64, at::kDouble},
    Pair{Dtype::kComplex32, at::kComplexHalf},
    Pair{Dtype::kComplex64, at::kComplexFloat},
    Pair{Dtype::kComplex128, at::kComplexDouble},
};

}  // namespace

at::ScalarType scalar_type(Dtype dtype) {
  for (const auto& pair : kPairs) {
    if (pair.file == dtype) return pair.torch;
  }
  throw Error("load", "element type " + std::string(formats::name(dtype)) + " is not supported");
}

Dtype file_dtype(at::ScalarType dtype) {
  for (const auto& pair : kPairs) {
    if (pair.torch == dtype) return pair.file;
  }
  throw Error("write", std::string("element type ") + at::toString(dtype) + " cannot be written");
}

std::string dtype_name(at::ScalarType dtype) {
  return std::string(formats::name(file_dtype(dtype)));
}

std::optional<at::ScalarType> parse_dtype(std::string_view name) {
  if (name == "f32") return at::kFloat;
  if (name == "f64") return at::kDouble;
  if (name == "f16") return at::kHalf;
  if (name == "bf16") return at::kBFloat16;
  for (const auto& pair : kPairs) {
    if (formats::name(pair.file) == name) return pair.torch;
  }
  return std::nullopt;
}

at::Tensor to_tensor(const formats::StoredTensor& stored) {
  const auto options = at::TensorOptions().dtype(scalar_type(stored.dtype));
  // from_blob must not see a null pointer even for empty tensors; nothing is written through it.
  auto* bytes = const_cast<std::byte*>(stored.storage->data()) +
                static_cast<std::size_t>(stored.storage_offset) * formats::item_size(stored.dtype);
  for (const auto extent : stored.sizes) {
    if (extent == 0) return at::empty(stored.sizes, options);
  }
  return at::from_blob(bytes, stored.sizes, stored.strides, options).clone(at::MemoryFormat::Contiguous);
}

at::Tensor to_tensor(const formats::SafetensorsEntry& entry) {
  auto tensor = at::empty(entry.shape, at::TensorOptions().dtype(scalar_type(entry.dtype)));
  if (!entry.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), entry.bytes.data(), entry.bytes.size());
  return tensor;
}

at::Tensor to_tensor(const formats::SafetensorsEntry& entry, SeenTensors& seen) {
  if (entry.bytes.empty()) return to_tensor(entry);
  auto& tensor = seen[entry.bytes.data()];
  if (!tensor.defined()) tensor = to_tensor(entry);
  return tensor;
}

formats::SafetensorsEntry to_entry(std::string name, const at::Tensor& tensor) {
  return {std::move(name),
          file_dtype(tensor.scalar_type()),
          tensor.sizes().vec(),
          {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}};
}

void write_tensors(const std::filesystem::path& file,
                   std::vector<std::pair<std::string, at::Tensor>> tensors) {
  std::vector<formats::SafetensorsEntry> entries;
  for (auto& [name, tensor] : tensors) {
    tensor = tensor.cpu().resolve_conj().resolve_neg().contiguous();
    entries.push_back(to_entry(name, tensor));
  }
  formats::write_safetensors(file, entries);
}

std::string shape_text(at::IntArrayRef shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace wide
