#include "profiler/trace/structure.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_map>

namespace wide::profiler {
namespace {

std::vector<std::uint32_t> by_track_and_time(const Slices& slices) {
  std::vector<std::uint32_t> order(slices.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (slices.track(a) != slices.track(b)) return slices.track(a) < slices.track(b);
    if (slices.start(a) != slices.start(b)) return slices.start(a) < slices.start(b);
    if (slices.duration(a) != slices.duration(b)) return slices.duration(a) > slices.duration(b);
    return slices.kind(a) < slices.kind(b);
  });
  return order;
}

void nest(const Slices& slices, Structure& result) {
  std::vector<std::uint32_t> open;
  for (const auto i : result.order) {
    result.self[i] = slices.duration(i);
    while (!open.empty() &&
           (slices.track(open.back()) != slices.track(i) || slices.end(open.back()) < slices.end(i))) {
      open.pop_back();
    }
    if (!open.empty()) {
      result.parent[i] = static_cast<std::int32_t>(open.back());
      result.self[open.back()] -= slices.duration(i);
    }
    open.push_back(i);
  }
}

enum class Does : std::uint8_t { kNothing, kArranges, kMoves, kComputes };

// What each name does, looked at once.
std::vector<Does> deeds(const NameTable& names) {
  std::vector<Does> result(names.size(), Does::kComputes);
  for (NameId id = 0; id < names.size(); ++id) {
    const auto name = names[id];
    const bool fills = name == "aten::fill_" || name == "aten::zero_";
    if (only_arranges(name)) {
      result[id] = Does::kArranges;
    } else if (fills || moves_data(Kind::kOperator, name)) {
      result[id] = Does::kMoves;
    }
  }
  return result;
}

// Note [Work of a CPU]
// libtorch tells which operators were called, not which of them computed: aten::addmm calls views and a copy
// of the bias and multiplies by itself, aten::linear only calls. So work is the innermost operator that
// computes, whatever it allocates, views, copies or fills within; copies and fills are work of their own,
// taken off what they lie in. An operator that only arranges is never work, nor is one that calls an operator
// that computes. A node or change of layout in which no operator was seen did its work itself.
void mark_cpu_work(const Trace& trace, Structure& result) {
  const auto& slices = trace.slices;
  const auto does = deeds(trace.names);
  std::vector<bool> called(slices.size()), worked(slices.size()), computed(slices.size());  // within each
  for (auto at = result.order.rbegin(); at != result.order.rend(); ++at) {  // inner ones first
    const auto i = *at;
    const auto kind = slices.kind(i);
    const bool is_operator = kind == Kind::kOperator;
    const auto deed = is_operator ? does[slices.name(i)] : Does::kNothing;
    bool work = false;
    if (deed == Does::kComputes) work = !computed[i];
    if (deed == Does::kMoves) work = !worked[i];
    if (kind == Kind::kNode || kind == Kind::kConversion) work = !called[i] && !worked[i];
    result.work[i] = work;
    if (result.parent[i] < 0) continue;
    const auto outer = static_cast<std::size_t>(result.parent[i]);
    if (is_operator || called[i]) called[outer] = true;
    if (work || worked[i]) worked[outer] = true;
    if (deed == Does::kComputes || computed[i]) computed[outer] = true;
  }
}

// Work within work counts once. On a device nothing nests.
void measure_own(const Slices& slices, Structure& result) {
  std::vector<std::int32_t> around(slices.size(), -1);  // the innermost work around each slice
  for (const auto i : result.order) {
    if (const auto outer = result.parent[i]; outer >= 0 && !result.device)
      around[i] =
          result.work[static_cast<std::size_t>(outer)] ? outer : around[static_cast<std::size_t>(outer)];
    if (!result.work[i]) continue;
    result.own[i] = slices.duration(i);
    if (around[i] < 0) continue;
    auto& left = result.own[static_cast<std::size_t>(around[i])];
    left = std::max<std::int64_t>(0, left - slices.duration(i));
  }
}

using Launches = std::unordered_map<std::uint32_t, std::size_t>;

// The host's calls by what ties them to what they launched.
Launches launches(const Slices& slices) {
  Launches result;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto kind = slices.kind(i);
    if ((kind == Kind::kRuntime || kind == Kind::kDriver) && slices.correlation(i) != 0)
      result.try_emplace(slices.correlation(i), i);
  }
  return result;
}

bool within_conversion(const Slices& slices, const Structure& structure, std::size_t i) {
  for (auto outer = static_cast<std::int32_t>(i); outer >= 0;
       outer = structure.parent[static_cast<std::size_t>(outer)]) {
    if (slices.kind(static_cast<std::size_t>(outer)) == Kind::kConversion) return true;
  }
  return false;
}

}  // namespace

bool moves_data(Kind kind, std::string_view name) {
  if (kind == Kind::kMemcpy) return true;
  if (kind == Kind::kKernel) return name.find("copy_kernel") != std::string_view::npos;
  return kind == Kind::kOperator && (name == "aten::copy_" || name == "aten::clone");
}

bool only_arranges(std::string_view name) {
  constexpr std::string_view kPrefix = "aten::";
  constexpr std::array<std::string_view, 81> kNames = {"empty",
                                                       "empty_like",
                                                       "empty_strided",
                                                       "new_empty",
                                                       "new_empty_strided",
                                                       "resize_",
                                                       "resize_as_",
                                                       "set_",
                                                       "as_strided",
                                                       "as_strided_",
                                                       "view",
                                                       "view_as",
                                                       "_unsafe_view",
                                                       "_reshape_alias",
                                                       "reshape",
                                                       "reshape_as",
                                                       "flatten",
                                                       "unflatten",
                                                       "expand",
                                                       "expand_as",
                                                       "broadcast_to",
                                                       "broadcast_tensors",
                                                       "t",
                                                       "transpose",
                                                       "transpose_",
                                                       "permute",
                                                       "movedim",
                                                       "moveaxis",
                                                       "swapaxes",
                                                       "swapdims",
                                                       "mT",
                                                       "adjoint",
                                                       "squeeze",
                                                       "squeeze_",
                                                       "unsqueeze",
                                                       "unsqueeze_",
                                                       "slice",
                                                       "select",
                                                       "narrow",
                                                       "split",
                                                       "split_with_sizes",
                                                       "chunk",
                                                       "tensor_split",
                                                       "unsafe_chunk",
                                                       "unsafe_split",
                                                       "unsafe_split_with_sizes",
                                                       "unbind",
                                                       "diagonal",
                                                       "unfold",
                                                       "alias",
                                                       "detach",
                                                       "detach_",
                                                       "lift_fresh",
                                                       "lift",
                                                       "contiguous",
                                                       "to",
                                                       "_to_copy",
                                                       "type_as",
                                                       "resolve_conj",
                                                       "resolve_neg",
                                                       "conj",
                                                       "_conj",
                                                       "view_as_real",
                                                       "view_as_complex",
                                                       "real",
                                                       "imag",
                                                       "item",
                                                       "_local_scalar_dense",
                                                       "is_nonzero",
                                                       "result_type",
                                                       "meshgrid",
                                                       "zeros",
                                                       "zeros_like",
                                                       "ones",
                                                       "ones_like",
                                                       "full",
                                                       "full_like",
                                                       "new_zeros",
                                                       "new_ones",
                                                       "new_full",
                                                       "scalar_tensor"};
  if (!name.starts_with(kPrefix)) return false;
  return std::find(kNames.begin(), kNames.end(), name.substr(kPrefix.size())) != kNames.end();
}

Structure structure(const Trace& trace) {
  const auto& slices = trace.slices;
  Structure result;
  result.parent.assign(slices.size(), -1);
  result.self.assign(slices.size(), 0);
  result.work.assign(slices.size(), false);
  result.own.assign(slices.size(), 0);
  result.conversion.assign(slices.size(), false);
  result.copy.assign(slices.size(), false);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    result.device = result.device || on_device(slices.kind(i));
    result.has_passes = result.has_passes || slices.kind(i) == Kind::kPass;
  }
  result.order = by_track_and_time(slices);
  nest(slices, result);
  if (!result.device) mark_cpu_work(trace, result);
  const auto launched_by = result.device ? launches(slices) : Launches();
  std::vector<std::int8_t> moves(trace.names.size() * kKinds,
                                 -1);  // by name and kind: a name is looked at once
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (result.device) result.work[i] = on_device(slices.kind(i));
    if (!result.work[i]) continue;
    auto& known = moves[slices.name(i) * kKinds + static_cast<std::size_t>(slices.kind(i))];
    if (known < 0) known = moves_data(slices.kind(i), trace.names[slices.name(i)]) ? 1 : 0;
    const auto launch = launched_by.find(slices.correlation(i));
    result.conversion[i] =
        slices.conversion(i) ||
        within_conversion(slices, result, launch != launched_by.end() ? launch->second : i);
    result.copy[i] = known == 1 || result.conversion[i];
  }
  measure_own(slices, result);
  return result;
}

}  // namespace wide::profiler
