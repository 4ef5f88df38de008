#include "gui/views/over_n.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "gui/views/quantity.h"
#include "gui/views/sweep_rows.h"
#include "results/reliability.h"
#include "results/table.h"

namespace wide::gui {
namespace {

using profiler::Interval;
using results::CaseRecord;
using results::printable;

// What tells one curve from another, most telling first.
using CurveKey = std::array<std::string, 7>;

CurveKey key_of(const CaseRecord& record, const std::string& run) {
  return {printable(record.subject, 60),
          printable(record.strategy, 40),
          printable(record.dtype, 20),
          printable(record.device, 20),
          printable(record.mode, 20),
          shape_text(record.shape),
          printable(run, 40)};
}

// Parts in which curves differ; the subject always.
std::string title_of(const CurveKey& key, const std::array<bool, 7>& differs) {
  auto title = key[0];
  for (std::size_t i = 1; i < key.size(); ++i) {
    if (differs[i]) title.append(", ").append(key[i]);
  }
  return title;
}

// A number of bytes that the case was planned with; cases of older versions have none.
double planned_bytes(const CaseRecord& record, const char* key) {
  const auto found = record.plan.find(key);
  return found != record.plan.end() && found->is_number() ? found->get<double>() : results::kUnknown;
}

Interval value_of(const CaseRecord& record, OverN what) {
  const auto& time = record.wide.ci95.known() ? record.wide.ci95 : Interval{record.wide.median_us};
  const double members = 1e6 * static_cast<double>(record.n);  // times are in microseconds
  switch (what) {
    case OverN::kOverEager:
      return record.speedup;
    case OverN::kOverBestRival:
      return record.speedup_best_rival;
    case OverN::kTime:
      return time;
    case OverN::kThroughput:
      return {members / time.value, members / time.high, members / time.low};
    case OverN::kWeights:
      return {planned_bytes(record, "weight_bytes")};
    case OverN::kActivations:
      return {planned_bytes(record, "activation_bytes")};
    case OverN::kMemory:
      return {record.peak_memory_bytes ? static_cast<double>(*record.peak_memory_bytes) : results::kUnknown};
  }
  return {};
}

void add_point(Series& series, const CaseRecord& record, OverN what) {
  const auto n = static_cast<double>(record.n);
  if (record.n < 1) return;
  if (record.verdict != results::Verdict::kPass) {
    series.broken.push_back(n);
    return;
  }
  const auto value = value_of(record, what);
  if (!std::isfinite(value.value) || value.value <= 0) return;
  const auto at = std::lower_bound(series.n.begin(), series.n.end(), n) - series.n.begin();
  const bool band = value.known() && value.low > 0 && std::isfinite(value.high);
  series.n.insert(series.n.begin() + at, n);
  series.value.insert(series.value.begin() + at, value.value);
  series.low.insert(series.low.begin() + at, band ? value.low : value.value);
  series.high.insert(series.high.begin() + at, band ? value.high : value.value);
  series.unreliable.insert(series.unreliable.begin() + at,
                           !is_memory(what) && !results::unreliable(record).empty());
}

// `parts` of every so many powers of ten.
std::vector<double> round_ticks(double low, double high, const std::vector<double>& parts, double every) {
  std::vector<double> ticks;
  for (double power = std::floor(std::log10(low) / every) * every; power <= std::log10(high);
       power += every) {
    for (const double part : parts) {
      const double at = part * std::pow(10, power);
      if (at >= low && at <= high) ticks.push_back(at);
    }
  }
  return ticks;
}

std::string show_rate_of_members(const Interval& rate) {
  if (!std::isfinite(rate.value)) return kNotKnown;
  const auto figures = [](double value) {
    return std::abs(value) < 999.5 ? three_figures(value) : show_count({std::round(value)});
  };
  auto text = figures(rate.value) + " members/s";
  if (rate.known()) text.append(" [").append(figures(rate.low)).append(", ").append(figures(rate.high) + "]");
  return text;
}

}  // namespace

const char* name(OverN what) {
  constexpr std::array kNames = {
      "over N eager runs", "over the best rival", "latency: time of a pass", "members a second", "weights",
      "activations",       "peak memory"};
  return kNames[static_cast<std::size_t>(what)];
}

bool is_speedup(OverN what) {
  return what == OverN::kOverEager || what == OverN::kOverBestRival;
}

bool is_memory(OverN what) {
  return what == OverN::kWeights || what == OverN::kActivations || what == OverN::kMemory;
}

std::string show(OverN what, const Interval& value) {
  if (is_speedup(what)) return show_ratio(value);
  if (what == OverN::kTime) return show_time(value);
  return is_memory(what) ? show_bytes(value) : show_rate_of_members(value);
}

std::string tick_text(OverN what, double value) {
  if (is_speedup(what) && value == std::round(value)) return show_count({value}) + "×";
  return show(what, {value});
}

std::vector<Series> series_over_n(std::span<const RunCurves> runs, OverN what, std::size_t most) {
  std::map<CurveKey, Series> by_key;
  std::map<std::string, std::size_t> subjects;  // in the order they are first seen
  std::vector<CurveKey> order;
  for (const auto& run : runs) {
    for (const auto& record : run.cases) {
      if (!run.subject.empty() && record.subject != run.subject) continue;
      auto key = key_of(record, run.name);
      subjects.emplace(key[0], subjects.size());
      const auto [place, fresh] = by_key.try_emplace(key);
      if (fresh) order.push_back(std::move(key));
      add_point(place->second, record, what);
    }
  }
  std::erase_if(order,
                [&](const CurveKey& key) { return by_key[key].n.empty() && by_key[key].broken.empty(); });
  std::stable_sort(order.begin(), order.end(), [&](const CurveKey& a, const CurveKey& b) {
    const auto points = by_key[a].n.size(), others = by_key[b].n.size();
    return points != others ? points > others : runs.size() > 1 && subjects[a[0]] < subjects[b[0]];
  });
  if (order.size() > most) order.resize(most);
  std::array<bool, 7> differs{};
  for (const auto& key : order) {
    for (std::size_t i = 0; i < key.size(); ++i) differs[i] = differs[i] || key[i] != order.front()[i];
  }
  std::vector<Series> result;
  for (const auto& key : order) {
    result.push_back(std::move(by_key[key]));
    result.back().title = title_of(key, differs);
  }
  return result;
}

std::vector<Series> series_over_n(std::span<const CaseRecord> cases, OverN what, std::size_t most) {
  const RunCurves run{.name = "", .cases = cases};
  return series_over_n(std::span(&run, 1), what, most);
}

std::vector<double> crossings(const Series& series) {
  std::vector<double> found;
  for (std::size_t i = 0; i + 1 < series.n.size(); ++i) {
    if (series.unreliable[i] || series.unreliable[i + 1]) continue;
    const double from = std::log2(series.value[i]), to = std::log2(series.value[i + 1]);
    if ((from < 0) == (to < 0)) continue;
    const double left = std::log2(series.n[i]), right = std::log2(series.n[i + 1]);
    found.push_back(std::exp2(left + (right - left) * from / (from - to)));
  }
  return found;
}

std::vector<double> value_ticks(OverN what, double low, double high, std::size_t most) {
  std::vector<double> ticks;
  if (!(low > 0) || !(high > low) || !std::isfinite(high)) return ticks;
  const auto room = static_cast<double>(std::max<std::size_t>(most, 2));
  if (is_speedup(what)) {
    const double from = std::log2(low), to = std::log2(high);
    double step = 0.0625;
    while ((to - from) / step > room) step *= 2;
    for (double at = std::ceil(from / step); at * step <= to; ++at) ticks.push_back(std::exp2(at * step));
    return ticks;
  }
  // The densest that fits, but two at least.
  const double every = std::max(1.0, std::ceil(std::log10(high / low) / room));
  for (const auto& parts : {std::vector<double>{1, 2, 5}, std::vector<double>{1}}) {
    const auto denser = std::exchange(ticks, round_ticks(low, high, parts, parts.size() > 1 ? 1 : every));
    if (ticks.size() < 2) ticks = denser;
    if (ticks.size() <= most) break;
  }
  if (ticks.size() > 1) return ticks;
  ticks.clear();  // all within one step: as on a straight axis
  const double step = std::pow(10, std::floor(std::log10(high - low)));
  for (double at = std::ceil(low / step) * step; at <= high; at += step) ticks.push_back(at);
  return ticks;
}

OverNBounds bounds(const std::vector<Series>& series, OverN what) {
  double n_low = 1e300, n_high = 1, low = is_speedup(what) ? 1 : 1e300, high = is_speedup(what) ? 1 : 0;
  for (const auto& one : series) {
    for (const auto* counts : {&one.n, &one.broken}) {
      for (const double n : *counts) n_low = std::min(n_low, n), n_high = std::max(n_high, n);
    }
    for (const double value : one.low) low = std::min(low, value);
    for (const double value : one.high) high = std::max(high, value);
  }
  if (n_low > n_high) n_low = 1, n_high = 2;
  if (low > high) low = high = 1;
  const double margin = std::exp2(std::max(0.12, 0.08 * std::log2(high / low)));
  return {n_low / std::exp2(0.3), n_high * std::exp2(0.3), low / margin, high * margin};
}

Table points_table(const std::vector<Series>& series, OverN what) {
  constexpr std::array kKeys = {"over_eager", "over_best_rival", "time",       "members",
                                "weights",    "activations",     "peak_memory"};
  constexpr std::array kUnits = {"", "", "us", "per_second", "bytes", "bytes", "bytes"};
  const auto index = static_cast<std::size_t>(what);
  Table table({{"curve", "curve"},
               {"n", "N", CellKind::kNumber, show_count},
               {kKeys[index], name(what), CellKind::kInterval, show_ratio, kUnits[index]},
               {"unreliable", "unreliable"}});
  for (const auto& one : series) {
    for (std::size_t i = 0; i < one.n.size(); ++i) {
      const auto row = table.add_row();
      const bool band = one.low[i] < one.high[i];
      table.set(row, 0, one.title);
      table.set(row, 1, one.n[i]);
      table.set(row, 2, band ? Interval{one.value[i], one.low[i], one.high[i]} : Interval{one.value[i]});
      table.set(row, 3, one.unreliable[i] ? "yes" : "");
    }
  }
  table.refresh();
  return table;
}

}  // namespace wide::gui
