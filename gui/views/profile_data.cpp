#include "gui/views/profile_data.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "formats/document.h"
#include "formats/fault.h"
#include "gui/views/bookmarks.h"
#include "gui/views/quantity.h"
#include "gui/views/time_view.h"
#include "profiler/trace/chrome_import.h"
#include "profiler/trace/kernels.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using profiler::Trace;
using results::printable;

constexpr double kMicrosecond = 1e3;  // nanoseconds

std::optional<profiler::Roofline> roofline_of(const Trace& trace, const profiler::Structure& structure,
                                              const std::string& report) {
  const auto& facts = trace.facts;
  if (const auto kept = facts.find(profiler::kPeaksFact); report.empty() && kept != facts.end()) {
    const auto dtype = facts.find("dtype");
    return profiler::roofline(trace, structure, profiler::peaks_from_text(kept->second),
                              dtype == facts.end() ? "" : dtype->second);
  }
  if (report.empty()) return std::nullopt;
  nlohmann::json document;
  try {
    document = formats::parse_document(report);
  } catch (const formats::Fault&) {
    return std::nullopt;
  }
  if (!document.is_object() || !document.contains("roofline")) return std::nullopt;
  const auto& found = document["roofline"];
  if (!found.is_object() || !found.contains("peaks") || !found.contains("dtype") ||
      !found["dtype"].is_string())
    return std::nullopt;
  const auto peaks = profiler::peaks_from_text(found["peaks"].dump());
  return profiler::roofline(trace, structure, peaks, found["dtype"].get<std::string>());
}

// The trace names nodes in full.
void set_offers(Trace& trace, const Offers& offers) {
  std::vector<profiler::NodeOffer> named;
  for (const auto& node : trace.nodes) {
    const auto found = std::find_if(offers.begin(), offers.end(), [&](const auto& offer) {
      return offer.node == selection_name(node.name);
    });
    if (found == offers.end()) continue;
    named.push_back(*found);
    named.back().node = node.name;
  }
  trace.facts[profiler::kOffersFact] = profiler::offers_text(named);
}

double us(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / kMicrosecond;
}

std::string node_name(const Trace& trace, std::int32_t node) {
  if (node < 0 || static_cast<std::size_t>(node) >= trace.nodes.size())
    return "changes of layout at the exit";
  return printable(trace.nodes[static_cast<std::size_t>(node)].name);
}

}  // namespace

Offers offers_of(const ModelView& built, const ModelView& planned) {
  Offers offers;
  for (const auto& node : built.graph) {
    if (!node.choosable()) continue;
    profiler::NodeOffer offer{.node = node.name, .module = node.module};
    offer.chosen = {node.strategy, node.microseconds, node.measured};
    const auto add = [&](const std::string& strategy, double microseconds, bool measured) {
      const auto known = std::find_if(offer.others.begin(), offer.others.end(),
                                      [&](const auto& one) { return one.strategy == strategy; });
      if (known == offer.others.end()) offer.others.push_back({strategy, microseconds, measured});
    };
    if (const auto* free = planned.find(node.name)) {
      add(free->strategy, free->microseconds, free->measured);
      for (const auto& other : free->alternatives)  // fastest first
        add(other.strategy, other.microseconds, other.measured);
    }
    offers.push_back(std::move(offer));
  }
  return offers;
}

ProfileData read_profile(const std::filesystem::path& file, const std::string& report, const Step& step,
                         const Offers& offers) {
  step(0, "reading the trace");
  auto traces = profiler::read_chrome_file(file);
  const auto is_empty = [](const Trace& trace) { return trace.slices.empty(); };
  if (std::ranges::all_of(traces, is_empty))
    throw Error("trace", formats::display_name(file) + ": the trace has no events; capture it again");
  auto data = make_profile(std::move(traces), report, step, offers);
  data.file = file;
  return data;
}

ProfileData make_profile(std::vector<Trace> traces, const std::string& report, const Step& step,
                         const Offers& offers) {
  if (traces.empty()) throw Error("trace", "there is no capture in the trace");
  ProfileData data{.traces = std::move(traces),
                   .nodes = node_table({}),
                   .points = roofline_table({}, {}),
                   .limit_nodes = limit_table({}, ""),
                   .limit_modules = limit_table({}, "")};
  const auto found = std::find_if(data.traces.begin(), data.traces.end(),
                                  [](const Trace& trace) { return trace.contender == "wide"; });
  if (found != data.traces.end()) data.wide = static_cast<std::size_t>(found - data.traces.begin());
  data.fingerprint = fingerprint(data.traces);
  if (!offers.empty()) set_offers(data.traces[data.wide], offers);
  for (const auto& trace : data.traces) {
    step(0.5, "looking at what ran");
    data.structures.push_back(profiler::structure(trace));
    data.activities.push_back(profiler::activity(trace, data.structures.back()));
    data.kernels.push_back(kernel_table(trace, data.structures.back()));
    data.flames.push_back(make_flame(trace, data.structures.back()));
  }
  const auto& wide = data.traces[data.wide];
  const auto& structure = data.structures[data.wide];
  for (std::size_t i = 0; i < data.traces.size(); ++i) {
    if (i == data.wide || !data.structures[i].has_passes || !structure.has_passes) continue;
    step(0.7, "comparing");
    data.comparisons.push_back(profiler::compare(wide, structure, data.traces[i], data.structures[i]));
    data.compared.push_back(i);
  }
  if (!data.comparisons.empty()) data.nodes = node_table(data.comparisons.front());
  data.roofline = roofline_of(wide, structure, report);
  if (data.roofline) data.points = roofline_table(*data.roofline, wide);
  data.limits = profiler::limits(wide, structure, data.comparisons.empty() ? nullptr : &data.comparisons[0],
                                 data.roofline ? &*data.roofline : nullptr);
  data.limit_nodes = limit_table(data.limits.nodes, data.limits.rival);
  data.limit_modules = limit_table(data.limits.modules, data.limits.rival);
  step(0.8, "laying out the timeline");
  data.timeline = make_timeline(data.traces, data.structures);
  return data;
}

Table kernel_table(const Trace& trace, const profiler::Structure& structure) {
  const auto number = CellKind::kNumber;
  Table table({{"name", "kernel"},
               {"kind", "kind"},
               {"count", "calls", number, show_count},
               {"total", "total", number, show_time, "us"},
               {"mean", "mean", number, show_time, "us"},
               {"median", "median", number, show_time, "us"},
               {"min", "shortest", number, show_time, "us"},
               {"max", "longest", number, show_time, "us"},
               {"share", "share", number, show_share}});
  for (const auto& kernel : profiler::kernels(trace, structure)) {
    const auto row = table.add_row();
    table.set(row, 0, printable(kernel.name, 300));
    table.set(row, 1, profiler::name(kernel.kind));
    table.set(row, 2, static_cast<double>(kernel.count));
    table.set(row, 3, us(kernel.total));
    table.set(row, 4, kernel.mean() / kMicrosecond);
    table.set(row, 5, kernel.median / kMicrosecond);
    table.set(row, 6, us(kernel.min));
    table.set(row, 7, us(kernel.max));
    table.set(row, 8, kernel.share);
  }
  table.refresh();
  return table;
}

std::string selection_name(std::string_view trace_node) {
  if (trace_node.starts_with('%')) trace_node.remove_prefix(1);
  return std::string(trace_node.substr(0, trace_node.find(' ')));
}

std::set<std::string> kernels_of_node(const Trace& trace, const profiler::Structure& structure,
                                      const std::string& node) {
  std::vector<bool> wanted;
  for (const auto& one : trace.nodes) wanted.push_back(selection_name(one.name) == node);
  std::set<profiler::NameId> ids;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const auto at = trace.slices.node(i);
    if (!structure.work[i] || at < 0 || static_cast<std::size_t>(at) >= wanted.size()) continue;
    if (wanted[static_cast<std::size_t>(at)]) ids.insert(trace.slices.name(i));
  }
  std::set<std::string> names;
  for (const auto id : ids) names.insert(printable(trace.names[id], 300));
  return names;
}

Table node_table(const profiler::Comparison& comparison) {
  const auto number = CellKind::kNumber;
  Table table({{"node", "node"},
               {"strategy", "strategy"},
               {"wide", "wide", number, show_time, "us"},
               {"rival", "rival", number, show_time, "us"},
               {"gained", "rival / wide", number, show_ratio},
               {"conversion", "layout", number, show_time, "us"},
               {"launches", "launches", number, show_count},
               {"rival_launches", "of the rival", number, show_count}});
  auto nodes = comparison.nodes;  // what takes no time, as what was computed at build, comes last
  std::stable_partition(nodes.begin(), nodes.end(),
                        [](const auto& node) { return node.wide.wall_us > 0 || node.rival.wall_us > 0; });
  for (const auto& node : nodes) {
    const auto row = table.add_row();
    table.set(row, 0, printable(node.name));
    table.set(row, 1, printable(node.strategy));
    table.set(row, 2, node.wide.wall_us);
    table.set(row, 3, node.rival.wall_us);
    if (node.wide.wall_us > 0 && node.rival.wall_us > 0)
      table.set(row, 4, node.rival.wall_us / node.wide.wall_us);
    table.set(row, 5, node.wide.on_the_clock(node.wide.conversion_us));
    table.set(row, 6, node.wide.launches);
    table.set(row, 7, node.rival.launches);
  }
  table.refresh();
  return table;
}

Table roofline_table(const profiler::Roofline& roofline, const Trace& trace) {
  const auto number = CellKind::kNumber;
  Table table({{"node", "node"},
               {"time", "time", number, show_time, "us"},
               {"roof", "at best", number, show_time, "us"},
               {"fraction", "of the roof", number, show_share},
               {"intensity", "FLOP per byte", number, show_count},
               {"rate", "speed", number, show_rate, "flop_per_s"},
               {"share", "share of time", number, show_share},
               {"bound", "held back by"}});
  for (const auto& point : roofline.nodes) {
    const auto row = table.add_row();
    table.set(row, 0, node_name(trace, point.node));
    table.set(row, 1, point.time_us);
    table.set(row, 2, point.roof_us);
    table.set(row, 3, point.fraction());
    table.set(row, 4, point.intensity());
    table.set(row, 5, point.flops_per_second());
    table.set(row, 6, point.share);
    table.set(row, 7, profiler::name(point.bound));
  }
  table.refresh();
  return table;
}

Table limit_table(const std::vector<profiler::Limit>& limits, const std::string& rival) {
  const auto number = CellKind::kNumber;
  Table table({{"node", "node or module"},
               {"rival", rival.empty() ? "baseline" : printable(rival, 20), number, show_time, "us"},
               {"wide", "wide", number, show_time, "us"},
               {"lost", "lost", number, show_time, "us"},
               {"action", "best known action"},
               {"then", "then", number, show_ratio},
               {"gained", "faster", number, show_ratio},
               {"share", "share", number, show_share},
               {"bound", "bound by"},
               {"saved", "would save", number, show_time, "us"},
               {"basis", "which is"}});
  for (const auto& one : limits) {
    const auto row = table.add_row();
    table.set(row, 0, printable(one.name));
    if (one.rival_us > 0) table.set(row, 1, one.rival_us);
    table.set(row, 2, one.wide_us);
    if (one.roof_us > 0) table.set(row, 3, one.lost_us);
    table.set(row, 4, one.action.what.empty() ? "none known" : printable(one.action.what, 80));
    if (one.faster() > 0) table.set(row, 6, one.faster());
    table.set(row, 7, one.share);
    table.set(row, 8, profiler::name(one.bound));
    if (one.action.what.empty()) continue;
    if (one.action.speedup > 0) table.set(row, 5, one.action.speedup);
    table.set(row, 9, one.action.saved_us);
    table.set(row, 10, one.action.basis);
  }
  table.refresh();
  return table;
}

std::string worst_node_in(const profiler::Limits& limits, const std::string& module) {
  for (const auto& node : limits.nodes) {
    const bool inside =
        node.module == module || (node.module.size() > module.size() && node.module.starts_with(module) &&
                                  node.module[module.size()] == '.');
    if (inside) return selection_name(node.name);
  }
  return "";
}

std::string limits_headline(const profiler::Limits& limits) {
  std::string text;
  if (limits.speedup() > 0) {
    text.append(show_ratio({limits.speedup()})).append(" over ").append(printable(limits.rival, 40));
    text.append(": ").append(show_time({limits.wide_us})).append(" against ");
    text.append(show_time({limits.rival_us})).append(" a pass");
  } else {
    text.append(show_time({limits.wide_us})).append(" a pass");
  }
  if (limits.nodes.empty()) return text;
  const auto& worst = limits.nodes.front();
  text.append("; ").append(printable(worst.name, 60)).append(" holds it back most");
  if (worst.roof_us > 0)
    text.append(": ").append(show_time({worst.lost_us})).append(" lost against the roof");
  return text;
}

std::vector<GainPart> gain_parts(const profiler::GainSplit& gain) {
  std::string launches = "Fewer launches, each at ";
  launches.append(show_time({gain.launch_us})).append(" of the rival's host.");
  return {
      {"launches removed", gain.launches_removed, launches},
      {"idle recovered", gain.idle_recovered, "Other time in which nothing ran."},
      {"kernel efficiency", gain.kernel_efficiency, "The work itself takes less, or more, time."},
      {"layout copies", gain.layout_copies, "Work that only moves data; below zero where wide moves more."},
      {"residual", gain.residual, "What capturing added or hid: the gain as timed, less the four others."}};
}

std::vector<std::string> summary(const ProfileData& data) {
  std::vector<std::string> lines;
  const auto add = [&](std::size_t i) {
    const auto& activity = data.activities[i];
    auto line = printable(data.traces[i].contender, 60);
    const auto captured = show_time({activity.per_pass(activity.wall) / kMicrosecond});
    const double untraced = data.traces[i].completeness.untraced_us;
    line.append(": ").append(untraced > 0 ? show_time({untraced}) : captured).append(" a pass, ");
    if (untraced > 0) line.append(captured).append(" while captured, ");
    line.append(show_share({activity.busy_share()})).append(" busy, ");
    line.append(show_count({activity.per_pass(activity.launches)})).append(" launches a pass");
    lines.push_back(line);
  };
  for (std::size_t i = 0; i < data.traces.size(); ++i) {
    if (i != data.wide) add(i);
  }
  add(data.wide);
  return lines;
}

std::string doubt(const ProfileData& data) {
  constexpr double kMuch = 1.05;
  for (std::size_t i = 0; i < data.traces.size(); ++i) {
    const auto& activity = data.activities[i];
    const double captured = activity.per_pass(activity.wall) / kMicrosecond;
    const double untraced = data.traces[i].completeness.untraced_us;
    if (captured <= 0 || untraced <= kMuch * captured) continue;
    return printable(data.traces[i].contender, 60) + " took longer without capturing (" +
           show_time({untraced}) + ") than with it (" + show_time({captured}) +
           "): other work had the machine";
  }
  return "";
}

std::vector<std::string> untied_texts(const ProfileData& data) {
  std::vector<std::string> texts;
  for (const auto& trace : data.traces) {
    const auto found = trace.facts.find(profiler::kUntiedFact);
    if (found == trace.facts.end()) continue;
    texts.push_back(printable(trace.contender, 40) +
                    ": kernels, copies and fills of its CUDA Graph that are of no node: " +
                    printable(found->second, 200));
  }
  return texts;
}

std::string badge_text(const profiler::Completeness& badge) {
  if (badge.complete) return "complete";
  std::string text = "incomplete, because ";
  for (std::size_t i = 0; i < badge.because.size(); ++i)
    text.append(i > 0 ? "; " : "").append(printable(badge.because[i]));
  return text;
}

}  // namespace wide::gui
