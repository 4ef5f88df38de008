#pragma once
// The names that safetensors has for element types. Internal to this folder.

#include <optional>
#include <string_view>

#include "formats/dtype.h"

namespace wide::formats {

/// Throws Fault for a name that is unknown or has no Dtype here.
Dtype parse_safetensors_dtype(std::string_view name);

/// Nothing for types that the format does not have.
std::optional<std::string_view> safetensors_name(Dtype dtype);

}  // namespace wide::formats
