#include "primitives/kernels/rows.h"

#include <ATen/ATen.h>
#include <ATen/record_function.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

#include "core/aten/parallel.h"
#include "primitives/kernels/clones.h"

namespace wide::kernels {
namespace {

template <typename T>
[[gnu::always_inline]] inline void scale_row(const T* x, T* y, T scale, T shift, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = x[i] * scale + shift;
}
WIDE_CLONES void scale_floats(const float* x, float* y, float scale, float shift, std::int64_t count) {
  scale_row(x, y, scale, shift, count);
}
WIDE_CLONES void scale_doubles(const double* x, double* y, double scale, double shift, std::int64_t count) {
  scale_row(x, y, scale, shift, count);
}

// Note [Odd rows]
// A row whose sums leave the range of its type, or hold NaN or Inf, is ATen's: what comes out then (NaN, Inf
// or 0) depends on the order of ATen's own sums. Within these limits no order overflows or loses a sum.
template <typename T>
[[gnu::always_inline]] inline bool is_odd(T squares, T variance) {
  constexpr T kLeast = std::is_same_v<T, double> ? 1e-290 : 1e-30, kMost = 1 / kLeast;
  return !(squares < kMost && variance > kLeast);
}

// Independent partial sums, so that the compiler may use vectors without reordering one sum.
constexpr int kLanes = 16;

template <typename T>
[[gnu::always_inline]] inline T sum_of(const T* x, std::int64_t count, T mean, bool squared) {
  T lanes[kLanes] = {};
  std::int64_t i = 0;
  if (squared) {
    for (; i + kLanes <= count; i += kLanes)
      for (int k = 0; k < kLanes; ++k) lanes[k] += (x[i + k] - mean) * (x[i + k] - mean);
  } else {
    for (; i + kLanes <= count; i += kLanes)
      for (int k = 0; k < kLanes; ++k) lanes[k] += x[i + k] - mean;
  }
  for (int k = 0; i < count; ++i, ++k) lanes[k] += squared ? (x[i] - mean) * (x[i] - mean) : x[i] - mean;
  T total = 0;
  for (const T lane : lanes) total += lane;
  return total;
}

template <typename T>
struct Moments {
  T mean, squares;  ///< squares: the sum of those of the deviations
};

// Of a row far from zero the mean is taken once more, with what its sum lost to rounding: of numbers that are
// all the same it is that number.
template <typename T>
[[gnu::always_inline]] inline Moments<T> moments(const T* x, std::int64_t count) {
  constexpr T kFar = 16;  // times the variance
  const auto divisor = static_cast<T>(count);
  T mean = sum_of(x, count, T{0}, false) / divisor, squares = sum_of(x, count, mean, true);
  if (mean * mean * divisor > kFar * squares) {
    mean += sum_of(x, count, mean, false) / divisor;
    squares = sum_of(x, count, mean, true);
  }
  return {mean, squares};
}

// Members whose row is the same, one after the other.
struct Copies {
  std::int64_t count, weight_step, y_step;  ///< numbers from one member's to the next one's
};

template <typename T>
struct Row {
  const T *x, *weight, *bias;  ///< weight and bias may be null
  T* y;
  std::int64_t count;
  T eps;
  bool centred;
  Copies copies;
};

// False, and nothing is written, where the row is odd.
template <typename T>
[[gnu::always_inline]] inline bool normalize(const Row<T>& row) {
  const auto count = static_cast<T>(row.count);
  const auto [mean, squares] =
      row.centred ? moments(row.x, row.count) : Moments<T>{T{0}, sum_of(row.x, row.count, T{0}, true)};
  const T variance = squares / count + row.eps;
  if (is_odd(squares, variance)) return false;
  const T factor = T{1} / std::sqrt(variance);
  for (std::int64_t k = 0; k < row.copies.count; ++k) {
    const T* weight = row.weight ? row.weight + k * row.copies.weight_step : nullptr;
    const T* bias = row.bias ? row.bias + k * row.copies.weight_step : nullptr;
    T* y = row.y + k * row.copies.y_step;
    // ATen adds a bias of 0 where layer_norm has none, which makes -0 to 0, and nothing in rms_norm.
    const T none = row.centred ? T{0} : -T{0};
    if (weight && bias) {
      for (std::int64_t i = 0; i < row.count; ++i) y[i] = (row.x[i] - mean) * factor * weight[i] + bias[i];
    } else if (weight) {
      for (std::int64_t i = 0; i < row.count; ++i) y[i] = (row.x[i] - mean) * factor * weight[i] + none;
    } else {
      for (std::int64_t i = 0; i < row.count; ++i)
        y[i] = (row.x[i] - mean) * factor + (bias ? bias[i] : none);
    }
  }
  return true;
}
WIDE_CLONES bool normalize_floats(const Row<float>& row) {
  return normalize(row);
}
WIDE_CLONES bool normalize_doubles(const Row<double>& row) {
  return normalize(row);
}

template <typename T>
struct Group {
  const T *x, *weight, *bias;  ///< weight and bias, one number a channel, may be null
  T* y;
  std::int64_t channels, length;
  T eps;
  Copies copies;
};

// The mean is taken off before anything is rounded: numbers that are all the same give the bias to the bit.
// False, and nothing is written, where the group is odd.
template <typename T>
[[gnu::always_inline]] inline bool normalize(const Group<T>& group) {
  const std::int64_t all = group.channels * group.length;
  const auto count = static_cast<T>(all);
  const auto [mean, squares] = moments(group.x, all);
  const T variance = squares / count + group.eps;
  if (is_odd(squares, variance)) return false;
  const T factor = T{1} / std::sqrt(variance);
  for (std::int64_t k = 0; k < group.copies.count * group.channels; ++k) {
    const auto member = k / group.channels, c = k % group.channels;
    const auto own = member * group.copies.weight_step + c;
    const T scale = group.weight ? factor * group.weight[own] : factor;
    const T shift = group.bias ? group.bias[own] : T{0};
    const T* x = group.x + c * group.length;
    T* y = group.y + member * group.copies.y_step + c * group.length;
    if (!std::isfinite(scale)) {  // times what the mean leaves it may be Inf where ATen has NaN
      scale_row(x, y, scale, shift - scale * mean, group.length);
      continue;
    }
    for (std::int64_t i = 0; i < group.length; ++i) y[i] = (x[i] - mean) * scale + shift;
  }
  return true;
}
WIDE_CLONES bool normalize_float_group(const Group<float>& group) {
  return normalize(group);
}
WIDE_CLONES bool normalize_double_group(const Group<double>& group) {
  return normalize(group);
}

// Rows of N members, R each: `one(member, row)` for every row, on as many threads as pay.
template <typename Each>
void for_rows(std::int64_t rows, std::int64_t per_member, std::int64_t length, const Each& each) {
  parallel_ranges(rows, kNumbersPerThread / std::max<std::int64_t>(1, length),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (auto row = begin; row < end; ++row) each(row / per_member, row);
                  });
}

// `run(x, y, first, members)` in the type that is computed in: `count` numbers that are of another go through
// two buffers, member by member. Gives what `run` says, whether it wrote.
template <typename Work, typename T, typename Run>
bool in_work_type(const T* x, T* y, std::int64_t count, const Copies& copies, const Run& run) {
  if constexpr (std::is_same_v<T, Work>) {
    return run(x, y, 0, copies.count);
  } else {
    thread_local std::vector<Work> in, out;
    in.assign(x, x + count);
    out.resize(in.size());
    for (std::int64_t k = 0; k < copies.count; ++k) {
      if (!run(in.data(), out.data(), k, 1)) return false;
      std::copy(out.begin(), out.end(), y + k * copies.y_step);
    }
    return true;
  }
}

// `run` on a copy of an odd row, as one more member alone; see Note [Odd rows].
using Alone = std::function<at::Tensor(const at::Tensor& x, std::int64_t member, std::int64_t row)>;

// The results of a row of `x`, which is the same for all `members` from the first.
void run_alone(const at::Tensor& x, const at::Tensor& y, std::int64_t first, std::int64_t members,
               std::int64_t row, std::int64_t count, const Alone& run) {
  const c10::InferenceMode mode;
  const auto part = [&](const at::Tensor& all, std::int64_t of) {
    return all.view(-1).narrow(0, of * count, count);
  };
  const auto rows = y.numel() / count / y.size(0);
  for (std::int64_t k = 0; k < members; ++k)
    part(y, row + k * rows).copy_(run(part(x, row).clone(), first + k, row).view(-1));
}

std::optional<at::Tensor> of_member(const at::Tensor& weight, std::int64_t member) {
  return weight.defined() ? std::optional(weight.select(0, member)) : std::nullopt;
}

// Where a member's weights begin; null where there are none.
template <typename Work>
const Work* numbers(const at::Tensor& weight) {
  return weight.defined() ? weight.const_data_ptr<Work>() : nullptr;
}

template <typename T, typename Work, bool (*kRun)(const Row<Work>&)>
void normalize_all(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& y,
                   double eps, bool centred, const Alone& alone) {
  const auto per_member = x.size(1), length = x.size(2);
  const Copies copies{y.size(0) / x.size(0), length, per_member * length};
  const T* source = x.const_data_ptr<T>();
  const Work *weights = numbers<Work>(weight), *biases = numbers<Work>(bias);
  T* target = y.mutable_data_ptr<T>();
  for_rows(x.size(0) * per_member, per_member, length, [&](std::int64_t member, std::int64_t row) {
    const auto first = row * length;
    const auto run = [&](const Work* from, Work* to, std::int64_t k, std::int64_t members) {
      const auto own = (member + k) * length;
      return kRun({from,
                   weights ? weights + own : nullptr,
                   biases ? biases + own : nullptr,
                   to,
                   length,
                   static_cast<Work>(eps),
                   centred,
                   {members, copies.weight_step, copies.y_step}});
    };
    if (!in_work_type<Work>(source + first, target + first, length, copies, run))
      run_alone(x, y, member, copies.count, row, length, alone);
  });
}

struct Groups {
  std::int64_t members, batch, groups, channels, length;  ///< channels: of one group
  double eps;
  RowFunction after;  ///< or null
};

template <typename T, typename Work, bool (*kRun)(const Group<Work>&)>
void normalize_all_groups(const Groups& about, const at::Tensor& x, const at::Tensor& weight,
                          const at::Tensor& bias, const at::Tensor& y, const Alone& alone) {
  const T* source = x.const_data_ptr<T>();
  const Work *weights = numbers<Work>(weight), *biases = numbers<Work>(bias);
  T* target = y.mutable_data_ptr<T>();
  const auto per_member = about.batch * about.groups, size = about.channels * about.length;
  const Copies copies{about.members / x.size(0), about.groups * about.channels, per_member * size};
  for_rows(x.size(0) * per_member, per_member, size, [&](std::int64_t member, std::int64_t row) {
    const auto run = [&](const Work* from, Work* to, std::int64_t k, std::int64_t members) {
      const auto channel = ((member + k) * about.groups + row % about.groups) * about.channels;
      return kRun({from,
                   weights ? weights + channel : nullptr,
                   biases ? biases + channel : nullptr,
                   to,
                   about.channels,
                   about.length,
                   static_cast<Work>(about.eps),
                   {members, copies.weight_step, copies.y_step}});
    };
    if (!in_work_type<Work>(source + row * size, target + row * size, size, copies, run))
      run_alone(x, y, member, copies.count, row, size, alone);
    if constexpr (std::is_same_v<T, float>) {
      for (std::int64_t k = 0; about.after != nullptr && k < copies.count; ++k) {
        T* const own = target + row * size + k * copies.y_step;
        about.after(own, own, size);
      }
    }
  });
}

template <typename T, typename Work, typename Run>
void scale_all(const at::Tensor& x, const at::Tensor& scale, const at::Tensor& shift, const at::Tensor& y,
               const Run& run) {
  const auto channels = x.size(2), per_member = x.size(1) * channels;
  const auto length = x.numel() / std::max<std::int64_t>(1, x.size(0) * per_member);
  const T *source = x.const_data_ptr<T>(), *scales = scale.const_data_ptr<T>(),
          *shifts = shift.const_data_ptr<T>();
  T* target = y.mutable_data_ptr<T>();
  const auto copies = y.size(0) / x.size(0);
  for_rows(x.size(0) * per_member, per_member, length, [&](std::int64_t first, std::int64_t row) {
    for (auto member = first; member < first + copies; ++member) {
      const auto k = member * channels + row % channels;
      run(source + row * length, target + (row + (member - first) * per_member) * length,
          static_cast<Work>(scales[k]), static_cast<Work>(shifts[k]), length);
    }
  });
}

// Weights in the type that is computed in.
at::Tensor dense(const at::Tensor& weight, at::ScalarType of) {
  return weight.defined() ? weight.to(of == at::kBFloat16 ? at::kFloat : of).contiguous() : weight;
}

}  // namespace

at::Tensor once_where_same(const at::Tensor& x) {
  return (x.size(0) > 1 && x.stride(0) == 0 ? x.narrow(0, 0, 1) : x).contiguous();
}

bool can_run_rows(at::ScalarType dtype) {
  return dtype == at::kFloat || dtype == at::kDouble || dtype == at::kBFloat16;
}

at::Tensor scale_shift(const at::Tensor& given, const at::Tensor& given_scale,
                       const at::Tensor& given_shift) {
  const auto x = once_where_same(given), scale = given_scale.contiguous(), shift = given_shift.contiguous();
  auto y = at::empty(given.sizes(), x.options());
  if (y.numel() == 0) return y;
  RECORD_FUNCTION("wide::scale_shift", std::vector<c10::IValue>());
  if (x.scalar_type() == at::kFloat) {
    scale_all<float, float>(x, scale, shift, y, scale_floats);
  } else if (x.scalar_type() == at::kDouble) {
    scale_all<double, double>(x, scale, shift, y, scale_doubles);
  } else {
    scale_all<at::BFloat16, float>(
        x, scale, shift, y,
        [](const at::BFloat16* from, at::BFloat16* to, float factor, float offset, std::int64_t count) {
          for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]) * factor + offset;
        });
  }
  return y;
}

at::Tensor normalize_groups(const at::Tensor& given, std::int64_t groups, const at::Tensor& given_weight,
                            const at::Tensor& given_bias, double eps, Norm norm, RowFunction after) {
  const auto x = once_where_same(given);
  auto y = at::empty(given.sizes(), x.options());
  if (y.numel() == 0) return y;
  const auto type = x.scalar_type();
  const auto weight = dense(given_weight, type), bias = dense(given_bias, type);
  const auto outer = x.size(0) * x.size(1) * x.size(2);
  const Groups about{y.size(0), x.size(1), groups, x.size(2) / groups, x.numel() / outer, eps, after};
  const Alone alone = [&](const at::Tensor& one, std::int64_t member, std::int64_t row) {
    const auto channels = [&](const at::Tensor& all) {
      auto own = of_member(all, member);
      if (own) own = own->narrow(0, row % groups * about.channels, about.channels).contiguous();
      return own;
    };
    const auto group = one.view({1, about.channels, about.length});
    const auto scale = channels(given_weight), shift = channels(given_bias);
    return norm == Norm::kInstance ? at::instance_norm(group, scale, shift, {}, {}, true, 0, eps, false)
                                   : at::group_norm(group, 1, scale, shift, eps);
  };
  RECORD_FUNCTION("wide::normalize_groups", std::vector<c10::IValue>());
  if (type == at::kFloat) {
    normalize_all_groups<float, float, normalize_float_group>(about, x, weight, bias, y, alone);
  } else if (type == at::kDouble) {
    normalize_all_groups<double, double, normalize_double_group>(about, x, weight, bias, y, alone);
  } else {
    normalize_all_groups<at::BFloat16, float, normalize_float_group>(about, x, weight, bias, y, alone);
  }
  return y;
}

at::Tensor normalize_rows(const at::Tensor& given, const at::Tensor& given_weight,
                          const at::Tensor& given_bias, double eps, Norm norm) {
  const auto x = once_where_same(given);
  auto y = at::empty(given.sizes(), x.options());
  if (y.numel() == 0) return y;
  const auto weight = dense(given_weight, x.scalar_type()), bias = dense(given_bias, x.scalar_type());
  const bool centred = norm == Norm::kLayer;
  const Alone alone = [&](const at::Tensor& one, std::int64_t member, std::int64_t) {
    const auto own = of_member(given_weight, member);
    const auto length = one.sizes();
    return centred ? at::layer_norm(one, length, own, of_member(given_bias, member), eps)
                   : at::rms_norm(one, length, own, eps);
  };
  RECORD_FUNCTION("wide::normalize_rows", std::vector<c10::IValue>());
  if (x.scalar_type() == at::kFloat) {
    normalize_all<float, float, normalize_floats>(x, weight, bias, y, eps, centred, alone);
  } else if (x.scalar_type() == at::kDouble) {
    normalize_all<double, double, normalize_doubles>(x, weight, bias, y, eps, centred, alone);
  } else {
    normalize_all<at::BFloat16, float, normalize_floats>(x, weight, bias, y, eps, centred, alone);
  }
  return y;
}

}  // namespace wide::kernels
