#include "profiler/trace/name_gaps.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/trace/structure.h"

namespace wide::profiler {
namespace {

bool is_node(Kind kind) {
  return kind == Kind::kNode || kind == Kind::kConversion;
}

// Passes and members' turns, but for those within a node: that is the node's time.
std::vector<std::uint32_t> frames(const Slices& slices, const Structure& structure) {
  std::vector<bool> in_node(slices.size());
  std::vector<std::uint32_t> result;
  for (const auto i : structure.order) {  // outer ones first
    const auto outer = structure.parent[i];
    in_node[i] = outer >= 0 && (in_node[static_cast<std::size_t>(outer)] ||
                                is_node(slices.kind(static_cast<std::size_t>(outer))));
    const auto kind = slices.kind(i);
    if ((kind == Kind::kPass || kind == Kind::kMember) && !in_node[i] && slices.pass(i) >= 0)
      result.push_back(i);
  }
  return result;
}

}  // namespace

void name_gaps(Trace& trace) {
  auto& slices = trace.slices;
  const auto structure = profiler::structure(trace);
  std::map<std::uint32_t, std::vector<std::uint32_t>> inner;  // by frame: nodes and turns in it, in order
  const auto all = frames(slices, structure);
  for (const auto frame : all) inner[frame];
  for (const auto i : structure.order) {
    if (structure.parent[i] < 0 || !(is_node(slices.kind(i)) || slices.kind(i) == Kind::kMember)) continue;
    const auto found = inner.find(static_cast<std::uint32_t>(structure.parent[i]));
    if (found != inner.end()) found->second.push_back(i);
  }
  for (const auto frame : all) {
    const auto& parts = inner.at(frame);
    bool turns = false;
    for (const auto part : parts) turns = turns || slices.kind(part) == Kind::kMember;
    const auto outer = slices[frame];
    const auto add = [&](std::int64_t start, std::int64_t end, std::string_view where) {
      if (end <= start) return;
      auto gap = outer;
      gap.start = start, gap.duration = end - start, gap.kind = Kind::kAnnotation, gap.node = -1;
      std::string name = "executor: ";
      gap.name = trace.names.intern(name.append(where));
      slices.push(gap);
    };
    if (parts.empty()) {
      add(outer.start, outer.end(), "no node on this thread");
      continue;
    }
    auto at = outer.start;
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const auto part = parts[k];
      add(at, slices.start(part),
          k > 0 ? (turns ? "between members" : "between nodes")
                : (turns ? "before the first member" : "before the first node"));
      at = std::max(at, slices.end(part));
    }
    add(at, outer.end(), turns ? "after the last member" : "after the last node");
  }
}

}  // namespace wide::profiler
