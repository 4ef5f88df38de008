#include "app/cli/profile_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "profiler/trace/activity.h"
#include "profiler/trace/name_gaps.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using namespace profiler;
using results::duration;
using results::printable;

constexpr std::size_t kNodeWidth = 44, kKernelWidth = 48;
constexpr std::string_view kAtBuild = "at build";
constexpr std::size_t kLine = 110;  // characters
constexpr double kMicrosecond = 1000;

std::string node_name(const Trace& trace, std::int32_t node) {
  if (node < 0) return "changes of layout outside of nodes";
  return printable(trace.nodes[static_cast<std::size_t>(node)].name, kNodeWidth);
}

std::string strategy(const Trace& trace, std::int32_t node) {
  if (node < 0) return "";
  const auto& known = trace.nodes[static_cast<std::size_t>(node)];
  return known.at_build ? std::string(kAtBuild) : printable(known.strategy, 16);
}

std::string bytes(double value) {
  if (std::abs(value) < 1e4) return fmt::format("{:.0f} B", value);
  if (std::abs(value) < 1e7) return fmt::format("{:.0f} kB", value / 1e3);
  return fmt::format("{:.1f} MB", value / 1e6);
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string or_blank(double us) {
  return us > 0 ? duration(us) : "";
}

std::string signed_time(double us) {
  return fmt::format("{}{}", us < 0 ? '-' : '+', duration(std::abs(us)));
}

bool nothing(const NodeTime& time) {
  return time.all_us() <= 0 && time.work_us <= 0;
}

// "%3", of "%3 aten.relu.default (head)".
std::string value_of(const std::string& name) {
  return name.substr(0, name.find(' '));
}

// Their names only: they take no time in a pass.
void print_at_build(std::ostream& out, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::string line = "once, at build:";
  for (const auto& name : names) {
    const auto word = printable(value_of(name), kNodeWidth);
    if (line.size() + word.size() > kLine) {
      out << line << '\n';
      line = std::string(4, ' ');
    }
    line += ' ';
    line += word;
  }
  out << line << '\n';
}

// What all nodes took of a pass, how many of them ran at once, and what was left.
void print_sum(std::ostream& out, const std::string& who, const NodeTime& sum, const Activity& spent) {
  const auto at_once = sum.wall_us > 0 ? sum.all_us() / sum.wall_us : 1;
  const auto wall = spent.per_pass(spent.wall) / kMicrosecond;
  out << fmt::format("{}: nodes {}{} + executor {} = a captured pass of {} ({} in nodes)\n", who,
                     duration(sum.wall_us), at_once > 1.05 ? fmt::format(", {:.1f} at once,", at_once) : "",
                     duration(std::max(0.0, wall - sum.wall_us)), duration(wall),
                     percent(coverage_of_nodes(spent)));
}

// What the executor took of a pass, by where: with the nodes it adds up to the pass.
struct Rest {
  const char* name;
  std::int64_t Activity::*time;
};
constexpr std::array<Rest, 3> kRest = {{{"executor, before the first node", &Activity::before_nodes},
                                        {"executor, between nodes", &Activity::between_nodes},
                                        {"executor, after the last node", &Activity::after_nodes}}};

double rest_us(const Activity& spent, const Rest& rest) {
  return spent.per_pass(spent.*rest.time) / kMicrosecond;
}

// Between nodes a capture finds itself.
void print_step_cost(std::ostream& out, const Trace& trace) {
  const auto found = trace.facts.find(kStepCost);
  if (found == trace.facts.end()) return;
  out << "between two nodes at least " << printable(found->second, 12)
      << " ns are the capture's own: it notes the end of one and the beginning of the next\n";
}

}  // namespace

void print_captures(std::ostream& out, std::span<const Trace> traces, std::span<const Structure> structures) {
  out << fmt::format("{:<10} {:>6} {:>10} {:>10} {:>8} {:>9} {:>9} {:>9} {:>9} {:>10}\n", "", "passes",
                     "a pass", "captured", "launches", "busy", "host wait", "gaps", "other", "memory");
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const auto& trace = traces[i];
    const auto spent = activity(trace, structures[i]);
    const auto share = [&](std::int64_t ns) {
      return percent(spent.wall > 0 ? static_cast<double>(ns) / static_cast<double>(spent.wall) : 0);
    };
    const auto memory = memory_use(trace, 1);
    out << fmt::format("{:<10} {:>6} {:>10} {:>10} {:>8.0f} {:>9} {:>9} {:>9} {:>9} {:>10}\n",
                       printable(trace.contender, 10), spent.passes, or_blank(trace.completeness.untraced_us),
                       duration(spent.per_pass(spent.wall) / kMicrosecond), spent.per_pass(spent.launches),
                       share(spent.busy), share(spent.host_wait), share(spent.kernel_wait),
                       share(spent.other), bytes(memory.peak - memory.at_start));
  }
  for (const auto& trace : traces) {
    const auto& badge = trace.completeness;
    if (badge.complete && badge.launches > 0 && !trace.devices.empty()) {
      out << fmt::format("{} is complete: {} launches have all their {} kernels, {} records lost\n",
                         printable(trace.contender), badge.launches, badge.kernels, badge.dropped);
    } else if (badge.complete && badge.launches > 0) {
      out << fmt::format("{} is complete: {} operators began and ended, {} lost\n",
                         printable(trace.contender), badge.launches, badge.dropped);
    }
    if (const auto untied = trace.facts.find(kUntiedFact); untied != trace.facts.end()) {
      out << fmt::format("{}: kernels, copies and fills of its CUDA Graph that are of no node: {}\n",
                         printable(trace.contender), printable(untied->second, 400));
    }
    if (const auto gaps = trace.facts.find(kGapsFact); gaps != trace.facts.end()) {
      out << fmt::format("{}: gaps between kernels are longer than without the capture: {}\n",
                         printable(trace.contender), printable(gaps->second, 400));
    }
    if (badge.complete) continue;
    for (const auto& reason : badge.because)
      out << fmt::format("{} is incomplete: {}\n", printable(trace.contender), printable(reason, 400));
  }
}

void print_nodes(std::ostream& out, const Trace& trace, const Structure& structure) {
  out << fmt::format("{:<{}}  {:<16} {:>10} {:>12} {:>10} {:>8}\n", "node", kNodeWidth, "strategy", "a pass",
                     "of it layout", "kernels", "launches");
  NodeTime sum;
  std::vector<std::string> at_build;
  for (const auto& time : node_times(trace, structure)) {
    if (nothing(time)) {
      if (time.node < 0) continue;
      const auto& node = trace.nodes[static_cast<std::size_t>(time.node)];
      if (node.at_build) at_build.push_back(node.name);
      continue;
    }
    sum += time;
    out << fmt::format("{:<{}}  {:<16} {:>10} {:>12} {:>10} {:>8.0f}\n", node_name(trace, time.node),
                       kNodeWidth, strategy(trace, time.node), or_blank(time.wall_us),
                       or_blank(time.on_the_clock(time.conversion_us)),
                       or_blank(time.on_the_clock(time.work_us)), time.launches);
  }
  const auto spent = activity(trace, structure);
  for (const auto& rest : kRest) {
    out << fmt::format("{:<{}}  {:<16} {:>10}\n", rest.name, kNodeWidth, "", or_blank(rest_us(spent, rest)));
  }
  print_at_build(out, at_build);
  print_sum(out, printable(trace.contender), sum, spent);
  print_step_cost(out, trace);
}

void print_nodes(std::ostream& out, const Comparison& comparison, const Trace& wide) {
  const auto rival = printable(comparison.rival, 10);
  out << fmt::format("{:<{}}  {:<16} {:>10} {:>12} {:>10} {:>7}  {:>13}\n", "node", kNodeWidth, "strategy",
                     "wide", "of it layout", rival, "faster", "launches");
  NodeTime ours, theirs;
  std::vector<std::string> at_build;
  for (const auto& [name, used, w, r, parts] : comparison.nodes) {
    if (nothing(w) && nothing(r)) {
      if (used == kAtBuild) at_build.push_back(name);
      continue;
    }
    ours += w, theirs += r;
    const bool both = w.wall_us > 0 && r.wall_us > 0;
    out << fmt::format("{:<{}}  {:<16} {:>10} {:>12} {:>10} {:>7}  {:>5.0f} / {:<5.0f}\n",
                       printable(name, kNodeWidth), kNodeWidth, printable(used, 16), or_blank(w.wall_us),
                       or_blank(w.on_the_clock(w.conversion_us)), or_blank(r.wall_us),
                       both ? fmt::format("{:.2f}x", r.wall_us / w.wall_us) : "", w.launches, r.launches);
    for (const auto& [part, time] : parts) {
      out << fmt::format("  {:<{}}  {:<16} {:>10} {:>12} {:>10} {:>7}  {:>5} / {:<5.0f}\n",
                         printable("+ " + part, kNodeWidth - 2), kNodeWidth - 2, "", "", "",
                         or_blank(time.wall_us), "", "", time.launches);
    }
  }
  for (const auto& rest : kRest) {
    out << fmt::format("{:<{}}  {:<16} {:>10} {:>12} {:>10}\n", rest.name, kNodeWidth, "",
                       or_blank(rest_us(comparison.wide_activity, rest)), "",
                       or_blank(rest_us(comparison.rival_activity, rest)));
  }
  print_at_build(out, at_build);
  print_sum(out, printable(comparison.wide), ours, comparison.wide_activity);
  print_sum(out, rival, theirs, comparison.rival_activity);
  print_step_cost(out, wide);
}

void print_kernels(std::ostream& out, const Trace& trace, const Structure& structure, int top) {
  auto rows = kernels(trace, structure);
  const auto all = rows.size();
  if (top > 0 && rows.size() > static_cast<std::size_t>(top)) rows.resize(static_cast<std::size_t>(top));
  out << fmt::format("{:<{}} {:>8} {:>10} {:>10} {:>10} {:>10} {:>8}\n",
                     "kernels of " + printable(trace.contender), kKernelWidth, "count", "total", "min",
                     "median", "max", "share");
  for (const auto& row : rows) {
    out << fmt::format("{:<{}} {:>8} {:>10} {:>10} {:>10} {:>10} {:>8}\n", printable(row.name, kKernelWidth),
                       kKernelWidth, row.count, duration(static_cast<double>(row.total) / kMicrosecond),
                       duration(static_cast<double>(row.min) / kMicrosecond),
                       duration(row.median / kMicrosecond),
                       duration(static_cast<double>(row.max) / kMicrosecond), percent(row.share));
  }
  if (rows.size() < all) out << fmt::format("and {} more; --top 0 shows all\n", all - rows.size());
}

void print_gain(std::ostream& out, const Comparison& comparison) {
  const auto& gain = comparison.gain;
  const auto line = [&](const char* what, double us, const std::string& note) {
    const auto share = gain.gained() != 0 ? percent(us / std::abs(gain.gained())) : std::string();
    out << fmt::format("  {:<22} {:>11} {:>9}  {}\n", what, signed_time(us), share, note);
  };
  const bool faster = gain.gained() >= 0;
  out << fmt::format("why {} is {} than {}: {} against {} a pass\n", printable(comparison.wide),
                     faster ? "faster" : "slower", printable(comparison.rival), duration(gain.wide_us),
                     duration(gain.rival_us));
  line("launches removed", gain.launches_removed,
       fmt::format("{:.0f} of {:.0f} launches gone, {:.1f} a member, at {} each",
                   comparison.rival_launches - comparison.wide_launches, comparison.rival_launches,
                   comparison.launches_saved_per_member(), duration(gain.launch_us)));
  line("idle recovered", gain.idle_recovered, "other time without work");
  line("kernel efficiency", gain.kernel_efficiency, "the work itself, and more of it at once");
  line("layout copies", gain.layout_copies, "work that only moves data");
  line("residual", gain.residual, "what capturing added or hid");
  line("gained", gain.gained(), "");
}

void print_roofline(std::ostream& out, const Roofline& roofline, const Trace& trace) {
  const auto& peaks = roofline.peaks;
  const auto peak = peaks.flops.contains(roofline.dtype) ? peaks.flops.at(roofline.dtype) : 0;
  out << fmt::format("roofline of {}: {:.1f} GFLOP/s {}, ", printable(trace.contender), peak / 1e9,
                     roofline.dtype);
  if (!peaks.bandwidth.empty()) {
    out << fmt::format("{:.1f} GB/s from memory, {:.1f} GB/s from the nearest cache, ",
                       peaks.bandwidth.back().bytes_per_second / 1e9,
                       peaks.bandwidth.front().bytes_per_second / 1e9);
  }
  if (peaks.gap_us > 0) {
    out << fmt::format("{} a launch, {} from kernel to kernel, {} in a graph, {}\n",
                       duration(peaks.launch_us), duration(peaks.gap_us), or_blank(peaks.graph_gap_us),
                       printable(peaks.device, 60));
  } else {
    out << fmt::format("{} a launch, {} threads\n", duration(peaks.launch_us), peaks.threads);
  }
  out << fmt::format("{:<{}} {:>10} {:>10} {:>8} {:>9} {:>10} {:>8}  {}\n", "node", kNodeWidth, "a pass",
                     "roof", "reached", "op/byte", "GFLOP/s", "share", "bound by");
  for (const auto& doubt : roofline.doubts)
    out << "doubtful, measure again with --measure-peaks: " << printable(doubt, 200) << '\n';
  const auto line = [&](const std::string& name, const RooflinePoint& point) {
    out << fmt::format("{:<{}} {:>10} {:>10} {:>8} {:>9.2f} {:>10.2f} {:>8}  {}\n", name, kNodeWidth,
                       duration(point.time_us), duration(point.roof_us), percent(point.fraction()),
                       point.intensity(), point.flops_per_second() / 1e9, percent(point.share),
                       profiler::name(point.bound));
  };
  RooflinePoint views;
  int count = 0;
  for (const auto& point : roofline.nodes) {
    if (point.roof_us > 0) {
      line(node_name(trace, point.node), point);
      continue;
    }
    ++count, views.time_us += point.time_us, views.share += point.share;
  }
  if (count > 0) line(fmt::format("{} that compute nothing, only views", count), views);
  line("all", roofline.total);
}

void print_limits(std::ostream& out, const profiler::Limits& limits) {
  const auto rival = limits.rival.empty() ? std::string("-") : printable(limits.rival, 10);
  out << "what holds the speed-up back";
  if (limits.speedup() > 0)
    out << fmt::format(" ({:.2f}x over {}, {} against {} a pass)", limits.speedup(), rival,
                       duration(limits.wide_us), duration(limits.rival_us));
  out << ":\n";
  for (const auto& doubt : limits.doubts) out << "unreliable: " << printable(doubt, 200) << '\n';
  const auto table = [&](const char* title, const std::vector<profiler::Limit>& list) {
    out << fmt::format("{:<{}} {:>10} {:>10} {:>7} {:>7} {:>10} {:>10}  {:<13}  {}\n", title, kNodeWidth,
                       rival, "wide", "faster", "share", "roof", "lost", "bound by", "best known action");
    for (const auto& one : list) {
      std::string action = "none known";
      if (!one.action.what.empty()) {
        action = fmt::format("{}: {} {}", printable(one.action.what, 60), signed_time(-one.action.saved_us),
                             one.action.basis);
        if (one.action.speedup > 0) action += fmt::format(", {:.2f}x then", one.action.speedup);
      }
      out << fmt::format("{:<{}} {:>10} {:>10} {:>7} {:>7} {:>10} {:>10}  {:<13}  {}\n",
                         printable(one.name, kNodeWidth), kNodeWidth, or_blank(one.rival_us),
                         duration(one.wide_us), one.faster() > 0 ? fmt::format("{:.2f}x", one.faster()) : "",
                         percent(one.share), or_blank(one.roof_us), or_blank(one.lost_us),
                         profiler::name(one.bound), action);
    }
  };
  table("node", limits.nodes);
  if (limits.modules.empty()) return;
  out << '\n';
  table("module", limits.modules);
}

void print_diff(std::ostream& out, std::span<const DiffRow> rows, int top) {
  out << fmt::format("{:<{}} {:<8} {:>17} {:>23} {:>11}\n", "kernel", kKernelWidth, "change", "calls a pass",
                     "mean", "a pass");
  int shown = 0;
  for (const auto& row : rows) {
    if (top > 0 && shown++ >= top) break;
    out << fmt::format("{:<{}} {:<8} {:>7.1f} > {:>7.1f} {:>10} > {:>10} {:>11}\n",
                       printable(row.name, kKernelWidth), kKernelWidth, profiler::name(row.change),
                       row.count_before, row.count_after, duration(row.mean_before_us),
                       duration(row.mean_after_us), signed_time(row.delta_us()));
  }
}

}  // namespace wide::cli
