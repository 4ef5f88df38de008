#pragma once
// What `widebench profile` says of its captures: as JSON and as tables.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <span>
#include <vector>

#include "profiler/trace/comparison.h"
#include "profiler/trace/limits.h"
#include "profiler/trace/roofline.h"
#include "profiler/trace/structure.h"
#include "profiler/trace/trace.h"

namespace wide::cli {

struct Explained {
  std::vector<profiler::Trace> traces;  ///< wide first, then its rivals, then a trace from a file
  std::vector<profiler::Structure> structures;
  std::vector<profiler::Comparison> comparisons;  ///< wide against each of the others
  std::optional<profiler::Roofline> roofline;     ///< of wide
  std::optional<profiler::Limits> limits;         ///< of wide, where asked for
  bool against = false;                           ///< the last trace is from a file
  std::vector<profiler::DiffRow> difference;      ///< from that file to wide
};

/// `captures`: wide first. `other`: a trace from a file. Its times are moved to begin where wide's do, since
/// a trace of another day would lie far away in any view of both. One that marks no passes is not compared as
/// a whole, only kernel by kernel.
Explained explain(std::vector<profiler::Trace> captures, std::optional<profiler::Trace> other);

nlohmann::json document(const Explained& result);

/// At most `top` kernels of each capture; 0: all.
void print(std::ostream& out, const Explained& result, int top);

}  // namespace wide::cli
