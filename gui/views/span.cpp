#include "gui/views/span.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "formats/error.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using profiler::Kind;
using profiler::Slice;
using profiler::Trace;

// All of a trace but for its slices.
Trace without_slices(const Trace& trace) {
  Trace result;
  result.subject = trace.subject, result.contender = trace.contender, result.members = trace.members;
  result.base_ns = trace.base_ns, result.tracks = trace.tracks, result.nodes = trace.nodes;
  result.completeness = trace.completeness, result.facts = trace.facts, result.devices = trace.devices;
  // Of whole captures, not of a part.
  result.completeness.traced_us = result.completeness.untraced_us = 0;
  return result;
}

// Passes that lie wholly within, by number.
std::set<std::int64_t> whole_passes(const Trace& trace, std::int64_t from, std::int64_t to) {
  std::set<std::int64_t> whole;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const auto pass = trace.slices.pass(i);
    if (trace.slices.kind(i) != Kind::kPass || pass < 0) continue;
    if (trace.slices.start(i) >= from && trace.slices.end(i) <= to) whole.insert(pass);
  }
  return whole;
}

Trace cut(const Trace& trace, std::int64_t from, std::int64_t to) {
  auto result = without_slices(trace);
  const auto whole = whole_passes(trace, from, to);
  result.passes = std::ssize(whole);
  std::vector<profiler::NameId> names(trace.names.size(), 0);
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = result.names.intern(trace.names[static_cast<profiler::NameId>(i)]);
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    Slice slice = trace.slices[i];
    if (slice.start < from || slice.start >= to) continue;
    const bool counts = whole.contains(slice.pass);
    if (slice.kind == Kind::kPass && !counts) continue;
    // Where there is a whole pass, what belongs to a part of one does not count.
    if (result.passes > 0 && !counts) continue;
    if (!counts) slice.pass = -1;
    slice.name = names[slice.name], slice.detail = names[slice.detail];
    result.slices.push(slice);
  }
  return result;
}

}  // namespace

ProfileData within(const ProfileData& data, const Measure& stretch, const Step& step) {
  std::vector<Trace> parts;
  std::size_t found = 0;
  for (std::size_t i = 0; i < data.traces.size(); ++i) {
    step(0.1, "cutting out the stretch");
    const auto origin = data.timeline.origins[i];
    parts.push_back(cut(data.traces[i], origin + static_cast<std::int64_t>(std::llround(stretch.from)),
                        origin + static_cast<std::int64_t>(std::llround(stretch.to))));
    found += parts.back().slices.size();
    if (data.roofline && i == data.wide) {
      parts.back().facts[profiler::kPeaksFact] = profiler::to_text(data.roofline->peaks);
      parts.back().facts["dtype"] = data.roofline->dtype;
    }
  }
  if (found == 0) throw Error("profile", "nothing begins within the marked stretch; mark a longer one");
  return make_profile(std::move(parts), "", step);
}

Histogram histogram(const Trace& trace, const profiler::Structure& structure, const std::string& kernel,
                    std::size_t steps) {
  std::vector<bool> wanted(trace.names.size());
  for (std::size_t i = 0; i < wanted.size(); ++i)
    wanted[i] = results::printable(trace.names[static_cast<profiler::NameId>(i)], 300) == kernel;
  std::vector<double> times;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    if (!structure.work[i] || !wanted[trace.slices.name(i)] || !structure.counts(trace, i)) continue;
    times.push_back(static_cast<double>(structure.own[i]) / 1e3);
  }
  Histogram result;
  result.calls = times.size();
  if (times.empty() || steps == 0) return result;
  constexpr double kShortest = 1e-3;  // a nanosecond: shorter is not told apart
  const auto [least, most] = std::minmax_element(times.begin(), times.end());
  result.low_us = *least, result.high_us = *most;
  const double low = std::max(kShortest, *least), high = std::max(low * 1.001, *most);
  const double span = std::log(high / low);
  result.counts.assign(steps, 0);
  for (std::size_t i = 0; i <= steps; ++i)
    result.edges.push_back(low * std::exp(span * static_cast<double>(i) / static_cast<double>(steps)));
  for (const double time : times) {
    const double at = std::log(std::max(low, time) / low) / span * static_cast<double>(steps);
    ++result.counts[std::min(steps - 1, static_cast<std::size_t>(std::max(0.0, at)))];
  }
  return result;
}

std::vector<SlicePlace> slowest(const ProfileData& data, const std::optional<Measure>& stretch,
                                std::size_t most) {
  struct Timed {
    std::int64_t time;
    SlicePlace place;
  };
  const auto longer = [](const Timed& a, const Timed& b) { return a.time > b.time; };
  std::vector<Timed> found;
  for (std::size_t lane = 0; lane < data.timeline.lanes.size(); ++lane) {
    const auto& here = data.timeline.lanes[lane];
    const auto& structure = data.structures[here.capture];
    for (std::size_t row = 0; row < here.rows.size(); ++row) {
      for (std::size_t i = 0; i < here.rows[row].size(); ++i) {
        const auto item = here.rows[row].item(i);
        const auto start = static_cast<double>(here.rows[row].start(i));
        if (!structure.work[item] || (stretch && (start < stretch->from || start >= stretch->to))) continue;
        found.push_back({structure.own[item], {lane, row, i}});
        if (found.size() < 4 * most) continue;  // the longest so far: memory stays small
        std::nth_element(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(most), found.end(),
                         longer);
        found.resize(most);
      }
    }
  }
  std::stable_sort(found.begin(), found.end(), longer);
  if (found.size() > most) found.resize(most);
  std::vector<SlicePlace> places;
  for (const auto& one : found) places.push_back(one.place);
  return places;
}

}  // namespace wide::gui
