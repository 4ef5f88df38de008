#pragma once
// A capture as a flame graph: calls of one name within the same calls are one frame, as wide as all of them
// took.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gui/views/table.h"
#include "profiler/trace/structure.h"
#include "profiler/trace/trace.h"

namespace wide::gui {

struct FlameFrame {
  std::string name;  ///< "pass", "conv2d_1" of a node, "aten::bmm"
  profiler::Kind kind = profiler::Kind::kOther;
  bool copy = false;       ///< only moves data
  std::int32_t node = -1;  ///< of the trace, for what stands for one; -1: none
  std::size_t parent = 0;  ///< the first frame is its own
  std::size_t depth = 0;
  std::vector<std::size_t> children;  ///< longest first
  double total_us = 0, own_us = 0;    ///< of all calls; own: not spent in children
  std::size_t calls = 0;
};

struct Flame {
  std::vector<FlameFrame> frames;  ///< the first one is everything
  std::size_t deepest = 0;         ///< largest depth of a frame
  std::int64_t passes = 1;         ///< that the times are of
};

/// Of what belongs to passes, or of everything in a trace that marks none.
Flame make_flame(const profiler::Trace& trace, const profiler::Structure& structure);
/// "pass > conv2d_1 > aten::bmm".
std::string path_of(const Flame& flame, std::size_t frame);
/// Columns: path, kind, calls, total, own, share; of the subtree, longest first within each.
Table flame_table(const Flame& flame);

}  // namespace wide::gui
