#include "gui/views/timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "gui/views/lowered.h"
#include "gui/views/time_view.h"
#include "profiler/trace/intervals.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using profiler::Structure;
using profiler::Trace;

constexpr std::size_t kMostRows = 24;  // calls deeper than this are drawn in the last row
constexpr std::string_view kWideName = "wide";

std::int64_t origin_of(const Trace& trace) {
  constexpr auto kNever = std::numeric_limits<std::int64_t>::max();
  std::int64_t first = kNever, first_pass = kNever;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    first = std::min(first, trace.slices.start(i));
    if (trace.slices.kind(i) == profiler::Kind::kPass)
      first_pass = std::min(first_pass, trace.slices.start(i));
  }
  if (first_pass != kNever) return first_pass;
  return first == kNever ? 0 : first;
}

// A row per depth; what overlaps without lying within goes a row further down.
void fill_rows(const Trace& trace, const Structure& structure, std::span<const std::uint32_t> order,
               std::int64_t origin, std::vector<std::uint8_t>& row_of, TimelineLane& lane) {
  std::vector<profiler::Span> work;
  for (const auto i : order) {
    const auto start = trace.slices.start(i) - origin, end = trace.slices.end(i) - origin;
    const auto parent = structure.parent[i];
    std::size_t row = parent < 0 ? 0 : row_of[static_cast<std::size_t>(parent)] + std::size_t{1};
    while (row < lane.rows.size() && !lane.rows[row].empty() &&
           lane.rows[row].end(lane.rows[row].size() - 1) > start)
      ++row;
    row = std::min(row, kMostRows - 1);
    if (lane.rows.size() <= row) lane.rows.resize(row + 1);
    row_of[i] = static_cast<std::uint8_t>(row);
    lane.rows[row].push(start, end, i);
    if (structure.work[i]) work.push_back({start, end});
  }
  for (auto& row : lane.rows) row.finish();
  for (const auto& span : profiler::united(std::move(work))) lane.work.push(span.start, span.end, 0);
  lane.work.finish();
}

void add_lanes(const Trace& trace, const Structure& structure, std::size_t capture, Timeline& timeline) {
  const auto origin = timeline.origins[capture];
  std::vector<std::uint8_t> row_of(trace.slices.size(), 0);
  const std::span<const std::uint32_t> order = structure.order;
  for (std::size_t first = 0; first < order.size();) {
    auto last = first;
    const auto track = trace.slices.track(order[first]);
    while (last < order.size() && trace.slices.track(order[last]) == track) ++last;
    TimelineLane lane;
    lane.capture = capture, lane.track = track;
    if (track < trace.tracks.size()) {
      lane.title = results::printable(trace.tracks[track].name, 60);
      lane.stream = trace.tracks[track].is_stream();
    }
    fill_rows(trace, structure, order.subspan(first, last - first), origin, row_of, lane);
    for (const auto& row : lane.rows) {
      if (!row.empty()) timeline.length = std::max(timeline.length, row.end(row.size() - 1));
    }
    timeline.lanes.push_back(std::move(lane));
    first = last;
  }
  timeline.slices += trace.slices.size();
}

std::vector<bool> names_with(const Trace& trace, const std::string& text) {
  std::vector<bool> result(trace.names.size());
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = lowered(trace.names[static_cast<profiler::NameId>(i)]).find(text) != std::string::npos;
  return result;
}

std::vector<bool> nodes_with(const Trace& trace, const std::string& text) {
  std::vector<bool> result(trace.nodes.size());
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = lowered(trace.nodes[i].name).find(text) != std::string::npos;
  return result;
}

std::string members_text(const profiler::Slice& slice) {
  if (slice.member < 0 || slice.members < 1) return "";
  if (slice.members == 1) return "member " + std::to_string(slice.member);
  return "members " + std::to_string(slice.member) + " to " +
         std::to_string(slice.member + slice.members - 1);
}

}  // namespace

Timeline make_timeline(std::span<const Trace> traces, std::span<const Structure> structures, bool aligned) {
  Timeline timeline;
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  for (const auto& trace : traces) {
    timeline.origins.push_back(origin_of(trace));
    earliest = std::min(earliest, trace.base_ns + timeline.origins.back());
  }
  if (!aligned) {
    for (std::size_t i = 0; i < traces.size(); ++i) timeline.origins[i] = earliest - traces[i].base_ns;
  }
  for (const bool wide : {false, true}) {
    for (std::size_t i = 0; i < traces.size(); ++i) {
      if ((traces[i].contender == kWideName) == wide) add_lanes(traces[i], structures[i], i, timeline);
    }
  }
  return timeline;
}

profiler::Slice slice_at(const Timeline& timeline, std::span<const Trace> traces, SlicePlace place) {
  const auto& lane = timeline.lanes[place.lane];
  return traces[lane.capture].slices[lane.rows[place.row].item(place.index)];
}

std::optional<std::int64_t> launch_delay(const Trace& trace, std::size_t slice) {
  const auto correlation = trace.slices.correlation(slice);
  if (correlation == 0 || !profiler::on_device(trace.slices.kind(slice))) return std::nullopt;
  for (std::size_t i = 0; i < trace.slices.size(); ++i) {
    const auto kind = trace.slices.kind(i);
    const bool launch = kind == profiler::Kind::kRuntime || kind == profiler::Kind::kDriver;
    if (launch && trace.slices.correlation(i) == correlation)
      return trace.slices.start(slice) - trace.slices.start(i);
  }
  return std::nullopt;
}

std::vector<std::string> describe(const Trace& trace, const Structure& structure, std::size_t i) {
  const auto slice = trace.slices[i];
  std::vector<std::string> lines;
  lines.push_back(results::printable(trace.names[slice.name], 200));
  std::string what(profiler::name(slice.kind));
  if (structure.copy[i]) what.append(", moves data");
  lines.push_back(what);
  if (slice.node >= 0 && static_cast<std::size_t>(slice.node) < trace.nodes.size()) {
    const auto& node = trace.nodes[static_cast<std::size_t>(slice.node)];
    auto line = results::printable(node.name, 200);
    if (!node.strategy.empty()) line.append(", ").append(results::printable(node.strategy, 60));
    lines.push_back(line);
  }
  if (const auto members = members_text(slice); !members.empty()) lines.push_back(members);
  std::string time = "takes ";
  time.append(span_text(static_cast<double>(slice.duration)));
  if (structure.self[i] != slice.duration)
    time.append(", ").append(span_text(static_cast<double>(structure.self[i]))).append(" by itself");
  lines.push_back(time);
  if (const auto delay = launch_delay(trace, i)) {
    std::string text = "began ";
    text.append(span_text(static_cast<double>(*delay))).append(" after its launch");
    lines.push_back(text);
  }
  if (slice.pass >= 0) lines.push_back("pass " + std::to_string(slice.pass));
  return lines;
}

void Search::clear() {
  text_.clear();
  before_.clear();
  found_ = 0;
}

void Search::look_for(std::string_view text, const Timeline& timeline, std::span<const Trace> traces) {
  clear();
  text_ = lowered(text);
  if (text_.empty()) return;
  std::vector<std::vector<bool>> names, nodes;
  for (const auto& trace : traces) {
    names.push_back(names_with(trace, text_));
    nodes.push_back(nodes_with(trace, text_));
  }
  for (const auto& lane : timeline.lanes) {
    const auto& slices = traces[lane.capture].slices;
    const auto& by_name = names[lane.capture];
    const auto& by_node = nodes[lane.capture];
    auto& rows = before_.emplace_back();
    for (const auto& row : lane.rows) {
      std::vector<std::uint32_t> before(row.size() + 1, 0);
      for (std::size_t i = 0; i < row.size(); ++i) {
        const auto item = row.item(i);
        const auto node = slices.node(item);
        const bool hit =
            by_name[slices.name(item)] || (node >= 0 && static_cast<std::size_t>(node) < by_node.size() &&
                                           by_node[static_cast<std::size_t>(node)]);
        before[i + 1] = before[i] + (hit ? 1 : 0);
      }
      found_ += before.back();
      rows.push_back(std::move(before));
    }
  }
}

std::size_t Search::within(std::size_t lane, std::size_t row, std::size_t first, std::size_t count) const {
  if (before_.empty()) return 0;
  const auto& before = before_[lane][row];
  return before[first + count] - before[first];
}

std::optional<SlicePlace> Search::next(const Timeline& timeline, double time, bool forwards) const {
  std::optional<SlicePlace> best, around;
  double best_time = 0, around_time = 0;
  const auto better = [&](double a, double b) { return forwards ? a < b : a > b; };
  for (std::size_t lane = 0; lane < before_.size(); ++lane) {
    for (std::size_t r = 0; r < before_[lane].size(); ++r) {
      const auto& row = timeline.lanes[lane].rows[r];
      const auto& before = before_[lane][r];
      if (before.back() == 0) continue;
      // The found ones are where `before` steps: the first after `time`, the last before it, and the row's
      // very first and last one for going around.
      const auto index_of = [&](std::uint32_t rank) {
        return static_cast<std::size_t>(std::upper_bound(before.begin(), before.end(), rank) -
                                        before.begin()) -
               1;
      };
      std::size_t low = 0, high = row.size();  // items [0, low) start at or before (before) `time`
      while (low < high) {
        const auto middle = (low + high) / 2;
        const auto start = static_cast<double>(row.start(middle));
        if (forwards ? start <= time : start < time) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      const auto total = before.back(), rank = before[low];
      const auto consider = [&](std::uint32_t which, std::optional<SlicePlace>& place, double& at) {
        const auto index = index_of(which);
        const auto start = static_cast<double>(row.start(index));
        if (!place || better(start, at)) place = SlicePlace{lane, r, index}, at = start;
      };
      if (forwards && rank < total) consider(rank, best, best_time);
      if (!forwards && rank > 0) consider(rank - 1, best, best_time);
      consider(forwards ? 0 : total - 1, around, around_time);
    }
  }
  return best ? best : around;
}

Measured measured(const TimelineLane& lane, const Measure& stretch) {
  Measured result;
  result.busy_ns = lane.work.busy(stretch.from, stretch.to);
  for (const auto& row : lane.rows) {
    const auto first = row.first_after(stretch.from), last = row.first_after(stretch.to);
    result.slices += last - first;
    if (last < row.size() && static_cast<double>(row.start(last)) < stretch.to) ++result.slices;
  }
  return result;
}

double snapped(const Timeline& timeline, double time, double tolerance) {
  double best = time, distance = tolerance;
  const auto consider = [&](std::int64_t edge) {
    const auto at = static_cast<double>(edge);
    if (std::abs(at - time) <= distance) best = at, distance = std::abs(at - time);
  };
  for (const auto& lane : timeline.lanes) {
    for (const auto& row : lane.rows) {
      const auto i = row.first_after(time);
      if (i < row.size()) consider(row.start(i)), consider(row.end(i));
      if (i > 0) consider(row.end(i - 1));
    }
  }
  return best;
}

}  // namespace wide::gui
