#include "profiler/trace/roofline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "formats/document.h"
#include "formats/fault.h"

namespace wide::profiler {
namespace {

using nlohmann::json;

constexpr double kMicroseconds = 1e6;

// Note [Sense of peaks]
// Peaks measured while other work had the CPUs are wrong in ways that show: the type that was tried in the
// bad moment is far below the others, a copy that has to leave a cache is faster than one that stays. Working
// sets of a megabyte and more are compared, and up by a quarter only: smaller ones are copied by one thread.
// float32 is as fast as float64 or twice, 16-bit types without units for them are slower than float32 by any
// factor, and with matrix units 32 times as fast at most. What reaches more than the roof by a tenth was
// measured beside a peak that is too low.
constexpr double kLeastCompared = 2e6;  // bytes
constexpr double kMostFaster = 1.25;    // a larger working set than a smaller one
constexpr double kMostTimes32 = 40;     // a 16-bit type over float32
constexpr double kMostTimes64 = 8;      // float32 over float64, on a CPU
constexpr double kMostAbove = 1.1;      // the roof
constexpr double kLeastShare = 0.02;    // of the time, of a node that is held against the roof

std::string figure(double value, const char* unit) {
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%.3g %s", value, unit);
  return text.data();
}

std::string speeds(const std::string& a, double fast, const std::string& b, double slow) {
  return a + " (" + figure(fast / 1e9, "GFLOP/s") + ") cannot be that much faster than " + b + " (" +
         figure(slow / 1e9, "GFLOP/s") + ")";
}

double peak_of(const Peaks& peaks, const char* dtype) {
  const auto found = peaks.flops.find(dtype);
  return found == peaks.flops.end() ? 0 : found->second;
}

void doubt_nodes(const Trace& trace, Roofline& result) {
  for (const auto& point : result.nodes) {
    if (point.fraction() <= kMostAbove || point.share < kLeastShare) continue;
    const auto& name = trace.nodes[static_cast<std::size_t>(point.node)].name;
    result.doubts.push_back(name + " reached " + figure(100 * point.fraction(), "%") +
                            " of the roof: a peak was measured too low");
    return;
  }
}

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

std::vector<std::string> nonsense(const Peaks& peaks) {
  std::vector<std::string> doubts;
  // A GPU's float64 may be faster than its float32, and a small copy does not fill it.
  if (peaks.device != "cpu") return doubts;
  const Bandwidth* slowest = nullptr;
  for (const auto& level : peaks.bandwidth) {
    if (level.bytes < kLeastCompared) continue;
    if (slowest != nullptr && level.bytes_per_second > kMostFaster * slowest->bytes_per_second) {
      doubts.push_back("copies of " + figure(level.bytes / 1e6, "MB") + " seemed faster (" +
                       figure(level.bytes_per_second / 1e9, "GB/s") + ") than those of " +
                       figure(slowest->bytes / 1e6, "MB") + " (" +
                       figure(slowest->bytes_per_second / 1e9, "GB/s") + ")");
    }
    if (slowest == nullptr || level.bytes_per_second < slowest->bytes_per_second) slowest = &level;
  }
  const double single = peak_of(peaks, "float32"), twice = peak_of(peaks, "float64");
  if (single > 0 && twice > kMostFaster * single)
    doubts.push_back(speeds("float64", twice, "float32", single));
  if (twice > 0 && single > kMostTimes64 * twice)
    doubts.push_back(speeds("float32", single, "float64", twice));
  for (const char* half : {"bfloat16", "float16"}) {
    const double reached = peak_of(peaks, half);
    if (single > 0 && reached > kMostTimes32 * single)
      doubts.push_back(speeds(half, reached, "float32", single));
  }
  return doubts;
}

std::string to_text(const Peaks& peaks) {
  json levels = json::array();
  for (const auto& level : peaks.bandwidth)
    levels.push_back({{"bytes", level.bytes}, {"bytes_per_second", level.bytes_per_second}});
  const json text{{"machine", peaks.machine}, {"device", peaks.device},
                  {"threads", peaks.threads}, {"flops", peaks.flops},
                  {"bandwidth", levels},      {"launch_us", peaks.launch_us},
                  {"gap_us", peaks.gap_us},   {"graph_gap_us", peaks.graph_gap_us},
                  {"doubts", peaks.doubts}};
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
  if (given.contains("doubts")) given.at("doubts").get_to(peaks.doubts);
  return peaks;
} catch (const json::exception& error) {
  throw Error("roofline", std::string("the stored peaks cannot be read: ") + error.what());
} catch (const formats::Fault& fault) {
  throw Error("roofline", std::string("the stored peaks cannot be read: ") + fault.what());
}

Roofline roofline(const Trace& trace, const Structure& structure, const Peaks& peaks,
                  const std::string& dtype) {
  Roofline result{peaks, dtype, {}, {}, {}};
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
  result.doubts = peaks.doubts;
  doubt_nodes(trace, result);
  return result;
}

}  // namespace wide::profiler
