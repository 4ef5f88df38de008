#include "app/cli/profile_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/cli/profile_tables.h"
#include "profiler/trace/activity.h"
#include "profiler/trace/analysis_json.h"
#include "profiler/trace/kernels.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using nlohmann::json;
using profiler::Trace;

std::int64_t first_start(const Trace& trace) {
  std::int64_t first = trace.slices.empty() ? 0 : trace.slices.start(0);
  for (std::size_t i = 0; i < trace.slices.size(); ++i) first = std::min(first, trace.slices.start(i));
  return first;
}

std::string fact(const Trace& trace, const std::string& key) {
  const auto found = trace.facts.find(key);
  return found == trace.facts.end() ? "" : results::printable(found->second);
}

// A trace of another program says little of itself.
void print_head(std::ostream& out, const Trace& trace) {
  out << results::printable(trace.subject.empty() ? trace.contender : trace.subject);
  out << ", N = " << trace.members;
  const auto device = fact(trace, "device");
  const bool on_cpu = device.empty() || device == "cpu";
  if (!on_cpu) out << ", on " << device;
  for (const auto* key : {"dtype", "threads", "mode"}) {
    const auto value = fact(trace, key);
    if (!on_cpu && key == std::string_view("threads")) continue;
    if (!value.empty()) out << ", " << value << (key == std::string_view("threads") ? " threads" : "");
  }
  out << '\n';
  if (const auto schedule = fact(trace, "schedule"); !schedule.empty())
    out << "wide runs " << schedule << '\n';
  out << '\n';
}

json facts_json(const Trace& trace) {
  auto facts = trace.facts;
  facts.erase(std::string(profiler::kPeaksFact));   // "roofline" has them
  facts.erase(std::string(profiler::kOffersFact));  // "limits" says what they are good for
  return facts;
}

json capture_json(const Trace& trace, const profiler::Structure& structure) {
  const auto nodes = profiler::node_times(trace, structure);
  const auto kernels = profiler::kernels(trace, structure);
  return {{"contender", trace.contender},
          {"passes", trace.passes},
          {"facts", facts_json(trace)},
          {"completeness", to_json(trace.completeness)},
          {"activity", to_json(profiler::activity(trace, structure))},
          {"memory", to_json(profiler::memory_use(trace))},
          {"nodes", to_json(nodes, trace)},
          {"kernels", profiler::to_json(std::span(kernels))}};
}

}  // namespace

Explained explain(std::vector<Trace> captures, std::optional<Trace> other) {
  Explained result;
  result.traces = std::move(captures);
  result.against = other.has_value();
  if (other) {
    auto& wide = result.traces[0];
    other->base_ns = wide.base_ns + first_start(wide) - first_start(*other);
    result.traces.push_back(std::move(*other));
  }
  for (const auto& trace : result.traces) result.structures.push_back(profiler::structure(trace));
  const auto& wide = result.traces[0];
  for (std::size_t i = 1; i < result.traces.size(); ++i) {
    if (!result.structures[i].has_passes) continue;
    result.comparisons.push_back(
        profiler::compare(wide, result.structures[0], result.traces[i], result.structures[i]));
  }
  if (result.against) {
    result.difference =
        profiler::diff(result.traces.back(), result.structures.back(), wide, result.structures[0]);
  }
  return result;
}

json document(const Explained& result) {
  const auto& wide = result.traces[0];
  json captures = json::array(), comparisons = json::array();
  for (std::size_t i = 0; i < result.traces.size(); ++i)
    captures.push_back(capture_json(result.traces[i], result.structures[i]));
  for (const auto& comparison : result.comparisons) comparisons.push_back(to_json(comparison));
  json all{{"schema_version", 1},
           {"subject", wide.subject},
           {"n", wide.members},
           {"captures", captures},
           {"comparisons", comparisons}};
  if (result.roofline) all["roofline"] = to_json(*result.roofline, wide);
  if (result.limits) all["limits"] = to_json(*result.limits);
  if (result.against) all["difference"] = profiler::to_json(std::span(std::as_const(result.difference)));
  return all;
}

void print(std::ostream& out, const Explained& result, int top) {
  const auto& wide = result.traces[0];
  print_head(out, wide);
  print_captures(out, result.traces, result.structures);
  out << '\n';
  const bool aligned = std::any_of(result.comparisons.begin(), result.comparisons.end(),
                                   [](const auto& comparison) { return comparison.aligned; });
  if (!aligned && !wide.nodes.empty()) {
    print_nodes(out, wide, result.structures[0]);
    out << '\n';
  }
  for (const auto& comparison : result.comparisons) {
    if (comparison.aligned) print_nodes(out, comparison, wide);
    if (comparison.aligned) out << '\n';
    print_gain(out, comparison);
    out << '\n';
  }
  for (std::size_t i = 0; i < result.traces.size(); ++i) {
    print_kernels(out, result.traces[i], result.structures[i], top);
    out << '\n';
  }
  if (result.roofline) {
    print_roofline(out, *result.roofline, wide);
    out << '\n';
  }
  if (result.limits) {
    print_limits(out, *result.limits);
    out << '\n';
  }
  if (!result.against) return;
  const auto& other = result.traces.back();
  if (!result.structures.back().has_passes) {
    out << results::printable(other.contender)
        << " marks no passes, so that only its kernels are compared, all of them with one pass of wide; "
           "torch.profiler marks them when it has a schedule and step() is called\n";
  }
  out << "from " << results::printable(other.contender) << " to wide:\n";
  print_diff(out, result.difference, top);
}

}  // namespace wide::cli
