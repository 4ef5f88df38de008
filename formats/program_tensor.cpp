// Element types, symbolic sizes and tensor descriptions of the program's JSON.

#include <array>
#include <utility>

#include "formats/expression.h"
#include "formats/fault.h"
#include "formats/program_parser.h"

namespace wide::formats {
namespace {

constexpr std::size_t kMostDimensions = 64;
constexpr std::int64_t kStrided = 7;

// The serializer's own numbers, which are not those of c10::ScalarType.
constexpr std::array kDtypes = {
    std::pair{1, Dtype::kUInt8},           std::pair{2, Dtype::kInt8},
    std::pair{3, Dtype::kInt16},           std::pair{4, Dtype::kInt32},
    std::pair{5, Dtype::kInt64},           std::pair{6, Dtype::kFloat16},
    std::pair{7, Dtype::kFloat32},         std::pair{8, Dtype::kFloat64},
    std::pair{9, Dtype::kComplex32},       std::pair{10, Dtype::kComplex64},
    std::pair{11, Dtype::kComplex128},     std::pair{12, Dtype::kBool},
    std::pair{13, Dtype::kBFloat16},       std::pair{28, Dtype::kUInt16},
    std::pair{29, Dtype::kFloat8E4M3FN},   std::pair{30, Dtype::kFloat8E5M2},
    std::pair{31, Dtype::kFloat8E4M3FNUZ}, std::pair{32, Dtype::kFloat8E5M2FNUZ},
    std::pair{34, Dtype::kUInt32},         std::pair{35, Dtype::kUInt64},
};

std::vector<SymbolicInt> parse_extents(const Json& json, std::string_view what) {
  const auto& array = as_array(json, what);
  if (array.size() > kMostDimensions)
    throw Fault(std::string(what) + " has " + std::to_string(array.size()) + " dimensions, more than 64");
  std::vector<SymbolicInt> result;
  result.reserve(array.size());
  for (const Json& extent : array) {
    result.push_back(within([&] { return std::string(what); }, [&] { return parse_symbolic_int(extent); }));
    if (const auto* number = std::get_if<std::int64_t>(&result.back()); number && *number < 0)
      throw Fault(std::string(what) + " has the negative extent " + std::to_string(*number));
  }
  return result;
}

}  // namespace

Dtype parse_dtype(const Json& json, const ProgramParsing& parsing) {
  const std::int64_t code = as_integer(json, "dtype");
  for (const auto& [number, dtype] : kDtypes)
    if (number == code) return dtype;
  throw Fault("unknown element type " + std::to_string(code) + " (file: " + parsing.versions +
              "; known: schema 8.20); convert the tensor to a common type before the export");
}

SymbolicInt parse_symbolic_int(const Json& json) {
  const auto [tag, value] = as_tagged(json, "a symbolic integer");
  if (tag == "as_int") return as_integer(value, "as_int");
  if (tag != "as_expr") throw Fault("unknown tag " + quote(tag) + " of a symbolic integer");
  Expression expression = parse_expression(as_text(member(value, "expr_str"), "expr_str"));
  if (expression.kind == Expression::Kind::kInteger) return expression.integer;
  return expression;
}

TensorMeta parse_tensor_meta(const Json& json, const ProgramParsing& parsing) {
  TensorMeta meta;
  meta.dtype = parse_dtype(member(json, "dtype"), parsing);
  meta.sizes = parse_extents(member(json, "sizes"), "sizes");
  meta.strides = parse_extents(member(json, "strides"), "strides");
  if (meta.strides.size() != meta.sizes.size())
    throw Fault(std::to_string(meta.sizes.size()) + " sizes but " + std::to_string(meta.strides.size()) +
                " strides");
  meta.storage_offset = within([] { return "storage_offset"; },
                               [&] { return parse_symbolic_int(member(json, "storage_offset")); });
  if (const auto* offset = std::get_if<std::int64_t>(&meta.storage_offset); offset && *offset < 0)
    throw Fault("storage_offset is negative");
  meta.requires_grad = as_boolean(member(json, "requires_grad"), "requires_grad");
  if (const auto layout = as_integer(member(json, "layout"), "layout"); layout != kStrided)
    throw Fault(
        "layout " + std::to_string(layout) +
        " is sparse or opaque, which is not supported; convert the tensor to a dense one before the export");
  return meta;
}

}  // namespace wide::formats
