#include "profiler/trace/structure.h"

#include <algorithm>
#include <numeric>

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

// A node in which no operator was seen does its work itself.
bool calls_work(Kind kind) {
  return kind == Kind::kOperator || kind == Kind::kNode || kind == Kind::kConversion;
}

// Marks operators that call no other operator, and nodes that call none.
void mark_leaves(const Slices& slices, Structure& result) {
  for (std::size_t i = 0; i < slices.size(); ++i) result.work[i] = calls_work(slices.kind(i));
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (!calls_work(slices.kind(i))) continue;
    for (auto outer = result.parent[i]; outer >= 0; outer = result.parent[static_cast<std::size_t>(outer)]) {
      const auto at = static_cast<std::size_t>(outer);
      if (calls_work(slices.kind(at)) && !result.work[at]) break;  // its own outer ones are marked already
      result.work[at] = false;
    }
  }
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

Structure structure(const Trace& trace) {
  const auto& slices = trace.slices;
  Structure result;
  result.parent.assign(slices.size(), -1);
  result.self.assign(slices.size(), 0);
  result.work.assign(slices.size(), false);
  result.copy.assign(slices.size(), false);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    result.device = result.device || on_device(slices.kind(i));
    result.has_passes = result.has_passes || slices.kind(i) == Kind::kPass;
  }
  result.order = by_track_and_time(slices);
  nest(slices, result);
  if (!result.device) mark_leaves(slices, result);
  std::vector<std::int8_t> moves(trace.names.size() * kKinds,
                                 -1);  // by name and kind: a name is looked at once
  for (std::size_t i = 0; i < slices.size(); ++i) {
    if (result.device) result.work[i] = on_device(slices.kind(i));
    if (!result.work[i]) continue;
    auto& known = moves[slices.name(i) * kKinds + static_cast<std::size_t>(slices.kind(i))];
    if (known < 0) known = moves_data(slices.kind(i), trace.names[slices.name(i)]) ? 1 : 0;
    result.copy[i] = known == 1 || within_conversion(slices, result, i);
  }
  return result;
}

}  // namespace wide::profiler
