#pragma once
// What a profile says, as text made for reading on a terminal.

#include <ostream>
#include <span>

#include "profiler/trace/comparison.h"
#include "profiler/trace/kernels.h"
#include "profiler/trace/limits.h"
#include "profiler/trace/roofline.h"
#include "profiler/trace/structure.h"
#include "profiler/trace/trace.h"

namespace wide::cli {

/// One line per capture: a pass untraced and traced, launches, busy, memory, whether it is complete.
void print_captures(std::ostream& out, std::span<const profiler::Trace> traces,
                    std::span<const profiler::Structure> structures);
/// One line per node in graph order, then what the executor took; the last line is the sum against the time
/// of a pass.
void print_nodes(std::ostream& out, const profiler::Trace& trace, const profiler::Structure& structure);
void print_nodes(std::ostream& out, const profiler::Comparison& comparison, const profiler::Trace& wide);
/// The `top` kernels with the largest totals; 0: all.
void print_kernels(std::ostream& out, const profiler::Trace& trace, const profiler::Structure& structure,
                   int top);
void print_gain(std::ostream& out, const profiler::Comparison& comparison);
void print_roofline(std::ostream& out, const profiler::Roofline& roofline, const profiler::Trace& trace);
/// Nodes, then modules, what loses most first, each with what is known to help.
void print_limits(std::ostream& out, const profiler::Limits& limits);
void print_diff(std::ostream& out, std::span<const profiler::DiffRow> rows, int top);

}  // namespace wide::cli
