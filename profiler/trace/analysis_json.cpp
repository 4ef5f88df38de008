#include "profiler/trace/analysis_json.h"

#include <nlohmann/json.hpp>

namespace wide::profiler {
namespace {

using nlohmann::json;

constexpr double kMicrosecond = 1000;

json node_json(const NodeTime& time) {
  return {{"wall_us", time.wall_us}, {"total_us", time.total_us}, {"conversion_us", time.conversion_us},
          {"work_us", time.work_us}, {"copy_us", time.copy_us},   {"launches", time.launches},
          {"host_us", time.host_us}};
}

json named(std::int32_t node, const Trace& trace) {
  if (node < 0 || node >= std::ssize(trace.nodes)) return {{"node", nullptr}, {"name", "outside of nodes"}};
  const auto& known = trace.nodes[static_cast<std::size_t>(node)];
  return {{"node", node},
          {"name", known.name},
          {"op", known.op},
          {"strategy", known.strategy},
          {"at_build", known.at_build}};
}

json point_json(const RooflinePoint& point) {
  return {{"time_us", point.time_us},   {"roof_us", point.roof_us},    {"practical_us", point.practical_us},
          {"flops", point.flops},       {"bytes", point.bytes},        {"share", point.share},
          {"bound", name(point.bound)}, {"fraction", point.fraction()}};
}

}  // namespace

json to_json(const Completeness& badge) {
  return {{"complete", badge.complete},   {"because", badge.because},        {"launches", badge.launches},
          {"kernels", badge.kernels},     {"dropped", badge.dropped},        {"unknown", badge.unknown},
          {"traced_us", badge.traced_us}, {"untraced_us", badge.untraced_us}};
}

json to_json(const Activity& a) {
  const auto us = [&](std::int64_t ns) { return a.per_pass(ns) / kMicrosecond; };
  return {{"passes", a.passes},
          {"wall_us", us(a.wall)},
          {"busy_us", us(a.busy)},
          {"host_wait_us", us(a.host_wait)},
          {"kernel_wait_us", us(a.kernel_wait)},
          {"other_us", us(a.other)},
          {"copies_us", us(a.copies)},
          {"work_us", us(a.work)},
          {"in_nodes_us", us(a.in_nodes)},
          {"before_nodes_us", us(a.before_nodes)},
          {"between_nodes_us", us(a.between_nodes)},
          {"after_nodes_us", us(a.after_nodes)},
          {"launches", a.per_pass(a.launches)},
          {"nodes_over_wall", coverage_of_nodes(a)}};
}

json to_json(const MemoryUse& use) {
  json timeline = json::array();
  for (const auto& point : use.timeline)
    timeline.push_back({static_cast<double>(point.time) / kMicrosecond, point.value});
  return {{"at_start_bytes", use.at_start},
          {"peak_bytes", use.peak},
          {"at_end_bytes", use.at_end},
          {"timeline_us_bytes", timeline}};
}

json to_json(const GainSplit& gain) {
  return {{"rival_us", gain.rival_us},
          {"wide_us", gain.wide_us},
          {"gained_us", gain.gained()},
          {"launches_removed_us", gain.launches_removed},
          {"idle_recovered_us", gain.idle_recovered},
          {"kernel_efficiency_us", gain.kernel_efficiency},
          {"layout_copies_us", gain.layout_copies},
          {"residual_us", gain.residual},
          {"launch_us", gain.launch_us}};
}

json to_json(std::span<const KernelRow> rows) {
  json list = json::array();
  for (const auto& row : rows) {
    list.push_back({{"name", row.name},
                    {"kind", name(row.kind)},
                    {"count", row.count},
                    {"total_us", static_cast<double>(row.total) / kMicrosecond},
                    {"min_us", static_cast<double>(row.min) / kMicrosecond},
                    {"median_us", row.median / kMicrosecond},
                    {"max_us", static_cast<double>(row.max) / kMicrosecond},
                    {"share", row.share}});
  }
  return list;
}

json to_json(std::span<const DiffRow> rows) {
  json list = json::array();
  for (const auto& row : rows) {
    list.push_back({{"name", row.name},
                    {"kind", name(row.kind)},
                    {"change", name(row.change)},
                    {"count_before", row.count_before},
                    {"count_after", row.count_after},
                    {"mean_before_us", row.mean_before_us},
                    {"mean_after_us", row.mean_after_us},
                    {"delta_us", row.delta_us()}});
  }
  return list;
}

json to_json(const Comparison& comparison) {
  json nodes = json::array();
  for (const auto& pair : comparison.nodes) {
    json parts = json::array();
    for (const auto& [name, time] : pair.parts) {
      auto part = node_json(time);
      part["name"] = name;
      parts.push_back(std::move(part));
    }
    nodes.push_back({{"name", pair.name},
                     {"strategy", pair.strategy},
                     {"wide", node_json(pair.wide)},
                     {"rival", node_json(pair.rival)},
                     {"rival_parts", parts}});
  }
  return {{"wide", comparison.wide},
          {"rival", comparison.rival},
          {"members", comparison.members},
          {"aligned", comparison.aligned},
          {"wide_launches", comparison.wide_launches},
          {"rival_launches", comparison.rival_launches},
          {"launches_saved_per_member", comparison.launches_saved_per_member()},
          {"gain", to_json(comparison.gain)},
          {"nodes", nodes}};
}

json to_json(std::span<const NodeTime> times, const Trace& trace) {
  json list = json::array();
  for (const auto& time : times) {
    auto entry = named(time.node, trace);
    entry.update(node_json(time));
    list.push_back(std::move(entry));
  }
  return list;
}

json to_json(const Roofline& roofline, const Trace& trace) {
  json nodes = json::array();
  for (const auto& point : roofline.nodes) {
    auto entry = named(point.node, trace);
    entry.update(point_json(point));
    nodes.push_back(std::move(entry));
  }
  return {{"dtype", roofline.dtype},
          {"peaks", json::parse(to_text(roofline.peaks))},
          {"nodes", nodes},
          {"total", point_json(roofline.total)},
          {"doubts", roofline.doubts}};
}

}  // namespace wide::profiler
