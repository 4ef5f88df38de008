#include "core/ir/compare.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "core/aten/torch_bridge.h"

namespace wide {
namespace {

std::string nine_digits(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::general, 9).ptr;
  return {buffer, end};
}

// On the CPU; complex numbers compare as pairs of reals.
at::Tensor as_double(at::Tensor tensor) {
  tensor = tensor.cpu().resolve_conj().resolve_neg();
  if (tensor.is_complex()) tensor = at::view_as_real(tensor.to(at::kComplexDouble));
  return tensor.to(at::kDouble).contiguous();
}

// A number that people mask with: a power of ten from 1e4 on, or the end of a type's range. Numbers as large
// that were computed are others, and small ones beside those may be what rounding left of them.
bool is_mask(double value) {
  constexpr double kLeast = 1e4;
  const double size = std::abs(value);
  if (size < kLeast || !std::isfinite(size)) return false;
  const double power = std::pow(10, std::round(std::log10(size)));
  const auto ends = {65504.0, std::ldexp(255.0, 120), static_cast<double>(std::numeric_limits<float>::max()),
                     std::numeric_limits<double>::max()};
  return size == power || size == static_cast<double>(static_cast<float>(power)) ||
         std::ranges::find(ends, size) != ends.end();
}

// How much smaller than the largest number of all the largest is that is no mask; zeros alone are judged
// as 1.
double share_beside_masks(const double* values, std::int64_t count) {
  double top = 0, rest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double size = std::abs(values[i]);
    if (!std::isfinite(size)) continue;
    top = std::max(top, size);
    if (!is_mask(size)) rest = std::max(rest, size);
  }
  if (rest == top) return 1;
  return (rest == 0 ? 1 : rest) / top;
}

std::vector<std::int64_t> unravel(std::int64_t flat, at::IntArrayRef shape) {
  std::vector<std::int64_t> index(shape.size());
  for (std::size_t i = shape.size(); i-- > 0;) {
    index[i] = flat % shape[i];
    flat /= shape[i];
  }
  return index;
}

}  // namespace

double epsilon(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble:
    case at::kComplexDouble:
      return std::numeric_limits<double>::epsilon();
    case at::kHalf:
      return std::ldexp(1.0, -10);
    case at::kBFloat16:
      return std::ldexp(1.0, -7);
    default:
      return std::numeric_limits<float>::epsilon();
  }
}

Tolerance tolerance(at::ScalarType dtype, std::int64_t depth, double scale) {
  if (!at::isFloatingType(dtype) && !at::isComplexType(dtype)) return {0, 0};
  // Half types round each result once from float accumulation; float accumulates its rounding along a
  // reduction too.
  const double factor = dtype == at::kHalf || dtype == at::kBFloat16 ? 4 : 16;
  const double bound =
      factor * epsilon(dtype) * std::sqrt(static_cast<double>(std::max<std::int64_t>(depth, 1)));
  return {bound, bound * scale, /*by_size=*/true};
}

Tolerance tolerance(const Precision& precision, double scale) {
  return tolerance(precision.dtype, precision.depth, scale);
}

std::int64_t depth(const Graph& graph) {
  std::vector<std::int64_t> depths(graph.values.size(), 0);
  std::int64_t deepest = 0;
  for (const auto& node : graph.nodes) {
    std::int64_t here = 0;
    for_each_use(node, [&](ValueId id) { here = std::max(here, depths[static_cast<std::size_t>(id)]); });
    for (const auto id : node.results) {
      if (id >= 0) depths[static_cast<std::size_t>(id)] = here + 1;
    }
    deepest = std::max(deepest, here + 1);
  }
  return deepest;
}

Precision precision(const Graph& graph, std::size_t output) {
  Precision found;
  found.depth = depth(graph);
  std::vector<bool> wanted(graph.values.size(), false);
  const auto want = [&](ValueId id) { wanted[static_cast<std::size_t>(id)] = true; };
  for_each_use(graph.outputs[output].value, [&](ValueId id) {
    want(id);
    const auto& type = graph.values[static_cast<std::size_t>(id)].type;
    if (type) found.dtype = type->dtype;
  });
  const auto rounds = [](const Node& node) {
    constexpr std::array<std::string_view, 6> kMoves = {"aten.reshape.default", "aten.permute.default",
                                                        "aten.slice.Tensor",    "aten.select.int",
                                                        "aten.expand.default",  "aten.cat.default"};
    return std::find(kMoves.begin(), kMoves.end(), node.op) == kMoves.end();
  };
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    bool used = false;
    for (const auto id : node->results) {
      if (id < 0 || !wanted[static_cast<std::size_t>(id)]) continue;
      used = true;
      const auto& value = graph.values[static_cast<std::size_t>(id)];
      if (!value.type || !rounds(*node)) continue;
      const auto dtype = value.type->dtype;
      const bool real = at::isFloatingType(dtype) || at::isComplexType(dtype);
      const bool own = at::isFloatingType(found.dtype) || at::isComplexType(found.dtype);
      if (real && own && epsilon(dtype) > epsilon(found.dtype)) found.dtype = dtype, found.value = value.name;
    }
    if (used) for_each_use(*node, want);
  }
  return found;
}

std::vector<Precision> user_precisions(const Graph& graph) {
  std::vector<Precision> all;
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    if (graph.outputs[i].kind == OutputKind::kUser) all.push_back(precision(graph, i));
  }
  return all;
}

std::string describe(const Precision& precision) {
  return precision.value.empty() ? dtype_name(precision.dtype)
                                 : dtype_name(precision.dtype) + " of %" + precision.value + " on the way";
}

double magnitude(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return 0;
  const auto values = as_double(tensor).abs();
  const auto finite = at::where(at::isfinite(values), values, at::zeros({}, values.options()));
  return finite.max().item<double>();
}

Difference compare(const at::Tensor& got, const at::Tensor& expected, const Tolerance& tolerance,
                   const at::Tensor& more) {
  Difference result;
  if (got.sizes() != expected.sizes() || got.scalar_type() != expected.scalar_type()) {
    result.agrees = false;
    result.max_abs = result.max_rel = std::numeric_limits<double>::quiet_NaN();
    result.text = "got " + dtype_name(got.scalar_type()) + shape_text(got.sizes()) + ", expected " +
                  dtype_name(expected.scalar_type()) + shape_text(expected.sizes());
    return result;
  }
  if (got.numel() == 0) return result;
  result.any_number = true;
  const auto a = as_double(got), b = as_double(expected);
  const auto* x = a.const_data_ptr<double>();
  const auto* y = b.const_data_ptr<double>();
  const auto allowed = more.defined() ? as_double(more) : at::Tensor();
  const auto* extra = allowed.defined() ? allowed.const_data_ptr<double>() : nullptr;
  const std::int64_t parts = expected.is_complex() ? 2 : 1;
  const double beside_masks = tolerance.by_size ? share_beside_masks(y, b.numel()) : 1;
  std::int64_t worst = 0;
  double worst_excess = -std::numeric_limits<double>::infinity();
  bool odd = false;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    double difference = std::abs(x[i] - y[i]), excess = 0;
    const bool masks = beside_masks < 1 && is_mask(y[i]);
    const double share = masks ? 1 : beside_masks;
    if (std::isfinite(x[i]) && std::isfinite(y[i])) {
      result.any_finite = true;
      excess = difference - (tolerance.absolute * share + tolerance.relative * std::abs(y[i]));
      if (extra) excess -= extra[i / parts];
      if (masks && excess <= 0) continue;  // a mask says nothing of the numbers beside it
      result.max_abs = std::max(result.max_abs, difference);
      result.max_by_size = std::max(result.max_by_size, difference / share);
      if (y[i] != 0) result.max_rel = std::max(result.max_rel, difference / std::abs(y[i]));
    } else if ((std::isnan(x[i]) && std::isnan(y[i])) || x[i] == y[i]) {
      continue;
    } else {
      odd = true;
      excess = std::numeric_limits<double>::infinity();
    }
    if (excess > 0) result.agrees = false;
    if (excess > worst_excess) {
      worst_excess = excess;
      worst = i;
      result.allowed = tolerance.absolute * share;
    }
  }
  if (odd) result.max_abs = result.max_rel = std::numeric_limits<double>::quiet_NaN();
  result.worst = unravel(worst, a.sizes());
  result.text = "at " + shape_text(result.worst) + ": got " + nine_digits(x[worst]) + ", expected " +
                nine_digits(y[worst]);
  return result;
}

bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  if (a.is_same(b)) return true;
  const auto plain = [](const at::Tensor& tensor) {
    return tensor.cpu().resolve_conj().resolve_neg().contiguous();
  };
  const auto x = plain(a), y = plain(b);
  return x.sizes() == y.sizes() && x.scalar_type() == y.scalar_type() &&
         (x.nbytes() == 0 || std::memcmp(x.const_data_ptr(), y.const_data_ptr(), x.nbytes()) == 0);
}

}  // namespace wide
