#pragma once
// Comparing numbers: tolerances and the worst difference, with NaN and infinities taken seriously.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/ir/graph.h"

namespace wide {

/// got and expected agree where |got - expected| <= absolute + relative * |expected|.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
  /// `absolute` is what the largest numbers may differ by. Beside what masks (-1e9 say) others are judged by
  /// their own largest, and may differ by as much less.
  bool by_size = false;

  Tolerance times(double factor) const { return {factor * relative, factor * absolute, by_size}; }
};

/// What rounding may do to outputs of type `dtype` after `depth` operations in a row, relative to the largest
/// magnitude `scale` of the expected tensor, by size. Integers and bools: exact.
Tolerance tolerance(at::ScalarType dtype, std::int64_t depth, double scale);
struct Precision;
/// The same for an output of that precision.
Tolerance tolerance(const Precision& precision, double scale);

/// Longest chain of tensor-computing nodes from an input to an output.
std::int64_t depth(const Graph& graph);

/// What the rounding of one output goes by: its own dtype, or a coarser one that a value on the way to it
/// has.
struct Precision {
  at::ScalarType dtype = at::kFloat;
  std::string value;       ///< the value of the coarser dtype, nearest to the output; empty: the output's own
  std::int64_t depth = 1;  ///< of the graph
};
/// For Graph::outputs[output] of a graph with concrete types.
Precision precision(const Graph& graph, std::size_t output);
/// Those of the user outputs, in order.
std::vector<Precision> user_precisions(const Graph& graph);
/// "float32", "bfloat16 of %linear on the way".
std::string describe(const Precision& precision);

/// Distance of 1 to the next number of a floating dtype.
double epsilon(at::ScalarType dtype);

/// Largest finite magnitude in `tensor`, 0 when there is none.
double magnitude(const at::Tensor& tensor);

struct Difference {
  bool agrees = true;
  double max_abs = 0;  ///< over elements that are finite on both sides, and by size no masks that agree; NaN
                       ///< when a NaN or infinity stands on one side only
  double max_rel = 0;
  double max_by_size = 0;  ///< the least `absolute` of a tolerance by size, and nothing else, that allows all
  double allowed = 0;      ///< the absolute part of what the worst element may differ by
  bool any_number = false;          ///< there are elements
  bool any_finite = false;          ///< some are finite on both sides
  std::vector<std::int64_t> worst;  ///< index of the worst element that disagrees, or of max_abs
  std::string text;                 ///< "at [3, 1]: got 1.5, expected 1.25"
};

/// Compares element by element in float64. NaN agrees with NaN, an infinity with the same infinity, nothing
/// else does. Different shapes or dtypes disagree. `more`: a float64 tensor of the same shape, added to what
/// is allowed of each element; may be undefined.
Difference compare(const at::Tensor& got, const at::Tensor& expected, const Tolerance& tolerance,
                   const at::Tensor& more = {});

/// True when shape, dtype and every bit are the same; NaNs of the same bits are.
bool same_bits(const at::Tensor& a, const at::Tensor& b);

}  // namespace wide
