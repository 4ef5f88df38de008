#include "profiler/trace/roofline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "formats/document.h"
#include "formats/fault.h"

namespace wide::profiler {
namespace {

using nlohmann::json;

constexpr double kMicroseconds = 1e6;

// What each cause accounts for of a node's time; the largest binds. Fill is what none of them explains: too
// little work at a time to reach the peak.
Bound binding(const NodeTime& time, double memory_us, double arithmetic_us, double launch_us) {
  const double all = time.all_us();
  if (all <= 0) return Bound::kNothing;
  const double host = std::max(0.0, time.host_us - time.work_us);
  const double copies = std::max(time.copy_us, time.conversion_us);
  const double launch = std::min(time.work_us, launch_us);
  const double roof = std::max(memory_us, arithmetic_us);
  const double fill = std::max(0.0, time.work_us - std::max(roof, launch) - time.copy_us);
  const std::array<std::pair<double, Bound>, 6> causes = {{{copies, Bound::kLayout},
                                                           {arithmetic_us, Bound::kArithmetic},
                                                           {memory_us, Bound::kMemory},
                                                           {host, Bound::kHost},
                                                           {launch, Bound::kLaunch},
                                                           {fill, Bound::kFill}}};
  return std::max_element(causes.begin(), causes.end(),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

// Peaks are those of all threads or streams together, so that times must be those of the pass.
NodeTime on_the_clock(const NodeTime& time) {
  auto result = time;
  for (auto* us :
       {&result.total_us, &result.conversion_us, &result.work_us, &result.copy_us, &result.host_us})
    *us = time.on_the_clock(*us);
  result.launches = time.on_the_clock(time.launches);
  return result;
}

}  // namespace

std::string_view name(Bound bound) {
  constexpr std::array<std::string_view, 7> kNames = {"-",      "host dispatch", "launch",       "fill",
                                                      "memory", "arithmetic",    "layout copies"};
  return kNames[static_cast<std::size_t>(bound)];
}

double Peaks::bytes_per_second(double bytes) const {
  if (bandwidth.empty()) return 0;
  const auto distance = [&](const Bandwidth& level) {
    return std::abs(std::log(std::max(level.bytes, 1.0)) - std::log(std::max(bytes, 1.0)));
  };
  return std::min_element(bandwidth.begin(), bandwidth.end(),
                          [&](const Bandwidth& a, const Bandwidth& b) { return distance(a) < distance(b); })
      ->bytes_per_second;
}

std::string to_text(const Peaks& peaks) {
  json levels = json::array();
  for (const auto& level : peaks.bandwidth)
    levels.push_back({{"bytes", level.bytes}, {"bytes_per_second", level.bytes_per_second}});
  const json text{{"machine", peaks.machine}, {"device", peaks.device},
                  {"threads", peaks.threads}, {"flops", peaks.flops},
                  {"bandwidth", levels},      {"launch_us", peaks.launch_us},
                  {"gap_us", peaks.gap_us},   {"graph_gap_us", peaks.graph_gap_us}};
  return text.dump(1, ' ', false, json::error_handler_t::replace);
}

Peaks peaks_from_text(std::string_view text) try {
  const auto given = formats::parse_document(text);
  Peaks peaks;
  given.at("machine").get_to(peaks.machine), given.at("device").get_to(peaks.device);
  given.at("threads").get_to(peaks.threads), given.at("flops").get_to(peaks.flops);
  given.at("launch_us").get_to(peaks.launch_us), given.at("gap_us").get_to(peaks.gap_us);
  given.at("graph_gap_us").get_to(peaks.graph_gap_us);
  for (const auto& level : given.at("bandwidth")) {
    peaks.bandwidth.push_back({level.at("bytes").get<double>(), level.at("bytes_per_second").get<double>()});
  }
  return peaks;
} catch (const json::exception& error) {
  throw Error("roofline", std::string("the stored peaks cannot be read: ") + error.what());
} catch (const formats::Fault& fault) {
  throw Error("roofline", std::string("the stored peaks cannot be read: ") + fault.what());
}

Roofline roofline(const Trace& trace, const Structure& structure, const Peaks& peaks,
                  const std::string& dtype) {
  Roofline result{peaks, dtype, {}, {}};
  const auto peak = peaks.flops.contains(dtype) ? peaks.flops.at(dtype) : 0;
  const auto gap = trace.facts.contains(kReplayedFact) ? peaks.graph_gap_us : peaks.gap_us;
  const auto each_launch = structure.device ? gap : peaks.launch_us;
  std::array<double, 7> by_bound{};
  for (auto time : node_times(trace, structure)) {
    if (time.node < 0 || trace.nodes[static_cast<std::size_t>(time.node)].at_build) continue;
    const auto& node = trace.nodes[static_cast<std::size_t>(time.node)];
    time = on_the_clock(time);
    RooflinePoint point;
    point.node = time.node;
    point.time_us = time.all_us();
    point.flops = node.flops, point.bytes = node.weight_bytes + node.activation_bytes;
    const auto speed = peaks.bytes_per_second(point.bytes);
    const double memory_us = speed > 0 ? point.bytes / speed * kMicroseconds : 0;
    const double arithmetic_us = peak > 0 ? point.flops / peak * kMicroseconds : 0;
    const double launch_us = time.launches * each_launch;
    point.roof_us = std::max(memory_us, arithmetic_us);
    point.practical_us = point.roof_us + launch_us;
    point.bound = binding(time, memory_us, arithmetic_us, launch_us);
    by_bound[static_cast<std::size_t>(point.bound)] += point.time_us;
    result.total.time_us += point.time_us, result.total.roof_us += point.roof_us;
    result.total.practical_us += point.practical_us;
    result.total.flops += point.flops, result.total.bytes += point.bytes;
    result.nodes.push_back(point);
  }
  for (auto& point : result.nodes)
    point.share = result.total.time_us > 0 ? point.time_us / result.total.time_us : 0;
  result.total.share = result.total.time_us > 0 ? 1 : 0;
  result.total.bound =
      static_cast<Bound>(std::max_element(by_bound.begin() + 1, by_bound.end()) - by_bound.begin());
  if (result.total.time_us <= 0) result.total.bound = Bound::kNothing;
  return result;
}

}  // namespace wide::profiler
