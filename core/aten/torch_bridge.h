#pragma once
// Between the element types of files and those of libtorch, and from stored bytes to tensors.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/exported_program.h"
#include "formats/safetensors.h"

namespace wide {

/// Throws wide::Error ("load") for a type that libtorch has no kernels for.
at::ScalarType scalar_type(formats::Dtype dtype);
/// Throws wide::Error ("write") for a type that files cannot hold.
formats::Dtype file_dtype(at::ScalarType dtype);
/// "float32", as PyTorch prints it.
std::string dtype_name(at::ScalarType dtype);
/// The reverse of dtype_name; also "f32", "f64", "bf16", "f16". Nothing when unknown.
std::optional<at::ScalarType> parse_dtype(std::string_view name);

/// Copies into a contiguous tensor. Tensors made from one StoredTensor do not share memory.
at::Tensor to_tensor(const formats::StoredTensor& stored);
at::Tensor to_tensor(const formats::SafetensorsEntry& entry);
/// Tensors by where their bytes lie in a file.
using SeenTensors = std::map<const std::byte*, at::Tensor>;
/// The same tensor for the same bytes: what members of a packed file have alike is one.
at::Tensor to_tensor(const formats::SafetensorsEntry& entry, SeenTensors& seen);
/// The entry points into `tensor`, which must be contiguous, on CPU, and outlive it.
formats::SafetensorsEntry to_entry(std::string name, const at::Tensor& tensor);
/// Writes a safetensors file; views that are conjugated or negated only when read are written as they read.
/// Throws wide::Error ("write").
void write_tensors(const std::filesystem::path& file,
                   std::vector<std::pair<std::string, at::Tensor>> tensors);

/// "[4, 16]"
std::string shape_text(at::IntArrayRef shape);

}  // namespace wide
