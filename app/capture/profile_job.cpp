#include "app/capture/profile_job.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>

#include "app/capture/capture.h"
#include "app/capture/node_facts.h"
#include "app/capture/rivals.h"
#include "core/run/recorded_pass.h"
#include "profiler/statistics.h"
#include "profiler/trace/roofline.h"

namespace wide::app {
namespace {

constexpr std::int64_t kWarmups = 3;
constexpr double kMicrosecond = 1e3;
// Beyond this a capture shows mostly itself.
constexpr double kWorstSlowdown = 1.5;

struct Way {
  std::string name;
  std::function<void()> run;
  std::vector<double> untraced_us;
};

double timed(const std::function<void()>& run) {
  const auto start = profiler::now();
  run();
  return static_cast<double>(profiler::now() - start) / kMicrosecond;
}

// All ways in turn, round after round, so that a drift of the machine hits them alike.
void time_untraced(std::vector<Way>& ways, const ProfileOptions& options) {
  for (auto& way : ways) {
    for (std::int64_t i = 0; i < kWarmups; ++i) way.run();
  }
  const auto start = profiler::now();
  const auto limit = options.seconds * static_cast<double>(ways.size()) * 1e9;
  for (std::int64_t i = 0; i < options.passes; ++i) {
    if (i >= kWarmups && static_cast<double>(profiler::now() - start) > limit) break;
    for (auto& way : ways) way.untraced_us.push_back(timed(way.run));
  }
}

void judge(profiler::Trace& trace, const std::vector<double>& traced_us, const Way& way) {
  auto& badge = trace.completeness;
  badge.traced_us = profiler::median(traced_us);
  badge.untraced_us = profiler::median(way.untraced_us);
  const auto slowdown = badge.traced_us / badge.untraced_us;
  if (slowdown > kWorstSlowdown) {
    badge.fail("a pass took " + std::to_string(static_cast<int>(std::lround(100 * (slowdown - 1)))) +
               " % longer while it was captured: its times show the capture too");
  }
}

profiler::Trace captured(const Way& way, std::vector<profiler::TraceNode> nodes, const WideModel& model,
                         const ProfileOptions& options) {
  const auto& device = model.options().device;
  const auto expected = static_cast<std::int64_t>(options.seconds * 1e6 / profiler::median(way.untraced_us));
  const auto passes = std::clamp(expected, std::min(kWarmups, options.passes), options.passes);
  way.run();
  std::vector<double> traced_us;
  Capture::Settings settings{options.subject, way.name, model.members(), std::move(nodes)};
  settings.device = device.device;
  Capture capture(std::move(settings), options.device_source ? options.device_source() : nullptr);
  for (std::int64_t i = 0; i < passes; ++i) traced_us.push_back(timed([&] { capture.pass(way.run); }));
  auto trace = capture.finish();
  judge(trace, traced_us, way);
  trace.facts["dtype"] = options.dtype, trace.facts["device"] = device.device.is_cpu() ? "cpu" : device.name;
  trace.facts["threads"] = std::to_string(at::get_num_threads());
  return trace;
}

}  // namespace

std::vector<profiler::Trace> profile(WideModel& model, std::span<const ModelInput> inputs,
                                     const ProfileOptions& options) {
  const auto& build = model.build(inputs);
  const SeparateRuns separate(model, inputs);
  const auto whole = [device = model.options().device.device](std::function<void()> run) {
    if (device.is_cpu()) return run;
    return std::function<void()>([device, run = std::move(run)] {
      run();
      synchronize(device);
    });
  };
  std::vector<Way> ways{{"wide", whole([&] { model.forward(inputs); }), {}}};
  for (const auto& rival : options.rivals) ways.push_back({rival, whole(separate.contender(rival)), {}});
  time_untraced(ways, options);
  std::vector<profiler::Trace> traces;
  for (const auto& way : ways) {
    auto nodes = traces.empty() ? wide_nodes(build, model.members()) : separate_nodes(build);
    traces.push_back(captured(way, std::move(nodes), model, options));
    traces.back().facts["mode"] = name(model.options().mode);
  }
  const auto* recorded = build.planned.execution.recorded();
  if (recorded != nullptr && recorded->is_recorded())
    traces[0].facts[profiler::kReplayedFact] = "a CUDA Graph";
  traces[0].facts[profiler::kOffersFact] = profiler::offers_text(node_offers(build));
  traces[0].facts["schedule"] = describe(build.planned.schedule, model.members(), build.optimized.device);
  return traces;
}

}  // namespace wide::app
