#include "gui/views/flame.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "gui/views/profile_data.h"
#include "gui/views/quantity.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using profiler::Kind;
using profiler::NameId;

constexpr std::size_t kDeepest = 60;   // what is called deeper counts to the frame above
constexpr double kNanoseconds = 1e-3;  // in microseconds

// Passes and members are many of the same.
bool is_numbered(Kind kind) {
  return kind == Kind::kPass || kind == Kind::kMember;
}

class Builder {
 public:
  explicit Builder(const profiler::Trace& trace) : trace_(trace) {
    flame_.frames.push_back({.name = "all"});
    flame_.passes = std::max<std::int64_t>(1, trace.passes);
  }

  // The frame of a slice within a frame.
  std::size_t frame(std::size_t parent, std::size_t slice) {
    const auto kind = trace_.slices.kind(slice);
    const auto node = kind == Kind::kNode ? trace_.slices.node(slice) : -1;
    const NameId name = is_numbered(kind) || node >= 0 ? 0 : trace_.slices.name(slice);
    const auto [found, added] = known_.emplace(std::tuple(parent, name, kind, node), flame_.frames.size());
    if (!added) return found->second;
    FlameFrame next{.kind = kind, .node = node, .parent = parent, .depth = flame_.frames[parent].depth + 1};
    const bool known = node >= 0 && static_cast<std::size_t>(node) < trace_.nodes.size();
    next.name =
        is_numbered(kind) ? std::string(profiler::name(kind))
        : known ? results::printable(selection_name(trace_.nodes[static_cast<std::size_t>(node)].name), 200)
                : results::printable(trace_.names[trace_.slices.name(slice)], 200);
    flame_.deepest = std::max(flame_.deepest, next.depth);
    flame_.frames[parent].children.push_back(flame_.frames.size());
    flame_.frames.push_back(std::move(next));
    return found->second;
  }

  Flame finished() {
    auto& frames = flame_.frames;
    for (const auto child : frames[0].children) frames[0].total_us += frames[child].total_us;
    for (auto& one : frames) {
      std::stable_sort(one.children.begin(), one.children.end(),
                       [&](std::size_t a, std::size_t b) { return frames[a].total_us > frames[b].total_us; });
    }
    return std::move(flame_);
  }

  FlameFrame& operator[](std::size_t frame) { return flame_.frames[frame]; }

 private:
  const profiler::Trace& trace_;
  Flame flame_;
  std::map<std::tuple<std::size_t, NameId, Kind, std::int32_t>, std::size_t> known_;
};

void add_rows(const Flame& flame, std::size_t frame, Table& table) {
  const auto& one = flame.frames[frame];
  const auto row = table.add_row();
  table.set(row, 0, path_of(flame, frame));
  table.set(row, 1, profiler::name(one.kind));
  table.set(row, 2, static_cast<double>(one.calls));
  table.set(row, 3, one.total_us);
  table.set(row, 4, one.own_us);
  if (flame.frames[0].total_us > 0) table.set(row, 5, one.total_us / flame.frames[0].total_us);
  for (const auto child : one.children) add_rows(flame, child, table);
}

}  // namespace

Flame make_flame(const profiler::Trace& trace, const profiler::Structure& structure) {
  Builder builder(trace);
  std::vector<std::uint32_t> frame_of(trace.slices.size(), 0);
  for (const auto i : structure.order) {  // outer ones first
    const auto around = structure.parent[i];
    const std::size_t parent = around < 0 ? 0 : frame_of[static_cast<std::size_t>(around)];
    if (!structure.counts(trace, i)) {
      frame_of[i] = static_cast<std::uint32_t>(parent);
      continue;
    }
    if (builder[parent].depth >= kDeepest) {
      frame_of[i] = static_cast<std::uint32_t>(parent);
      continue;
    }
    const auto frame = builder.frame(parent, i);
    frame_of[i] = static_cast<std::uint32_t>(frame);
    auto& one = builder[frame];
    one.copy = one.copy || structure.copy[i];
    one.total_us += static_cast<double>(trace.slices.duration(i)) * kNanoseconds;
    one.own_us += static_cast<double>(structure.self[i]) * kNanoseconds;
    ++one.calls;
  }
  return builder.finished();
}

std::string path_of(const Flame& flame, std::size_t frame) {
  std::string path = flame.frames[frame].name;
  for (auto at = flame.frames[frame].parent; at != 0; at = flame.frames[at].parent)
    path = flame.frames[at].name + " > " + path;
  return path;
}

Table flame_table(const Flame& flame) {
  const auto number = CellKind::kNumber;
  Table table({{"path", "calls within calls"},
               {"kind", "kind"},
               {"calls", "calls", number, show_count},
               {"total", "total", number, show_time, "us"},
               {"own", "own", number, show_time, "us"},
               {"share", "share", number, show_share}});
  for (const auto child : flame.frames[0].children) add_rows(flame, child, table);
  table.refresh();
  return table;
}

}  // namespace wide::gui
