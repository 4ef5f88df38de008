#include "app/capture/profile_job.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <optional>

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
  std::vector<profiler::TraceNode> nodes;
  std::function<void()> run;
  std::vector<double> untraced_us;
};
using MakeRun = std::function<std::function<void()>()>;

double timed(const std::function<void()>& run) {
  const auto start = profiler::now();
  run();
  return static_cast<double>(profiler::now() - start) / kMicrosecond;
}

Capture::Settings settings_of(const Way& way, const WideModel& model, const ProfileOptions& options) {
  Capture::Settings settings{options.subject, way.name, model.members(), way.nodes};
  settings.device = model.options().device.device;
  return settings;
}

// Made and run until it is warm. A pass that is launched as a whole is recorded meanwhile.
void make_ready(Way& way, const MakeRun& make, const WideModel& model, const ProfileOptions& options) {
  std::optional<Capture> noting;
  const bool records = model.options().mode >= Mode::kReduceOverhead || way.name == "graph";
  if (records && options.recording_source)
    noting.emplace(settings_of(way, model, options), options.recording_source());
  const auto noted = [&](const std::function<void()>& work) { noting ? noting->pass(work) : work(); };
  noted([&] { way.run = make(); });
  for (std::int64_t i = 0; i < kWarmups; ++i) noted(way.run);
}

// All ways in turn, round after round, so that a drift of the machine hits them alike.
void time_untraced(std::vector<Way>& ways, const ProfileOptions& options) {
  const auto start = profiler::now();
  const auto limit = options.seconds * static_cast<double>(ways.size()) * 1e9;
  for (std::int64_t i = 0; i < options.passes; ++i) {
    if (i >= kWarmups && static_cast<double>(profiler::now() - start) > limit) break;
    for (auto& way : ways) way.untraced_us.push_back(timed(way.run));
  }
}

// On a GPU what is captured takes longer to launch, and takes as long once it runs: only the gaps are others.
void judge(profiler::Trace& trace, const std::vector<double>& traced_us, const Way& way, bool on_cpu) {
  auto& badge = trace.completeness;
  badge.traced_us = profiler::median(traced_us);
  badge.untraced_us = profiler::median(way.untraced_us);
  const auto slowdown = badge.traced_us / badge.untraced_us;
  if (slowdown <= kWorstSlowdown) return;
  const auto longer = std::to_string(static_cast<int>(std::lround(100 * (slowdown - 1)))) + " % longer";
  if (on_cpu) {
    badge.fail("a pass took " + longer + " while it was captured: its times show the capture too");
  } else {
    trace.facts[profiler::kGapsFact] =
        "a pass took " + longer + " while it was captured; kernels take as long as ever, launches do not";
  }
}

profiler::Trace captured(const Way& way, const WideModel& model, const ProfileOptions& options) {
  const auto& device = model.options().device;
  const auto expected = static_cast<std::int64_t>(options.seconds * 1e6 / profiler::median(way.untraced_us));
  const auto passes = std::clamp(expected, std::min(kWarmups, options.passes), options.passes);
  way.run();
  std::vector<double> traced_us;
  Capture capture(settings_of(way, model, options),
                  options.device_source ? options.device_source() : nullptr);
  for (std::int64_t i = 0; i < passes; ++i) traced_us.push_back(timed([&] { capture.pass(way.run); }));
  auto trace = capture.finish();
  judge(trace, traced_us, way, device.device.is_cpu());
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
  auto* const recorded = build.planned.execution.recorded();
  if (recorded != nullptr) recorded->forget();  // measuring plans may have recorded it: see make_ready()
  std::vector<Way> ways{{"wide", wide_nodes(build, model.members()), {}, {}}};
  make_ready(
      ways[0], [&] { return whole([&] { model.forward(inputs); }); }, model, options);
  for (const auto& rival : options.rivals) {
    ways.push_back({rival, separate_nodes(build), {}, {}});
    make_ready(
        ways.back(), [&] { return whole(separate.contender(rival)); }, model, options);
  }
  time_untraced(ways, options);
  std::vector<profiler::Trace> traces;
  for (const auto& way : ways) {
    traces.push_back(captured(way, model, options));
    traces.back().facts["mode"] = name(model.options().mode);
  }
  if (recorded != nullptr && recorded->is_recorded())
    traces[0].facts[profiler::kReplayedFact] = "a CUDA Graph";
  traces[0].facts[profiler::kOffersFact] = profiler::offers_text(node_offers(build));
  traces[0].facts["schedule"] = describe(build.planned.schedule, model.members(), build.optimized.device);
  return traces;
}

}  // namespace wide::app
