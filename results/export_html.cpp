// The HTML report and the SVG overview: one file each, no script that runs, no request to anywhere.
#include <cmath>
#include <map>

#include "results/escape.h"
#include "results/export.h"
#include "results/json_fields.h"
#include "results/plot.h"
#include "results/reliability.h"
#include "results/table.h"

namespace wide::results {
namespace {

constexpr std::size_t kMostPlots = 60;  // of a kind; a report of thousands of cases stays a page that opens

constexpr const char* kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
)";

constexpr const char* kStyle = R"(<style>
:root{color-scheme:light dark;--line:#8884}
body{font:14px/1.45 system-ui,sans-serif;max-width:1180px;margin:0 auto;padding:1.5rem}
h1{font-size:1.5rem;margin:0}h2{font-size:1.1rem;margin:1.8rem 0 .6rem;border-bottom:1px solid var(--line)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{padding:.22rem .6rem;text-align:left;border-bottom:1px solid var(--line)}
.number{text-align:right}.plots{display:flex;flex-wrap:wrap;gap:.6rem}
.plots svg{border:1px solid var(--line);border-radius:6px}
.faster{color:#2a8f4a}.slower,.bad{color:#c8402f}.unreliable{color:#a86400}code,pre{font-family:ui-monospace,monospace}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:#8881;padding:.6rem;border-radius:6px}
.cards{display:flex;flex-wrap:wrap;gap:.6rem;margin:1rem 0}
.card{border:1px solid var(--line);border-radius:6px;padding:.5rem .9rem}.card b{display:block;font-size:1.25rem}
</style>
)";

std::string interval_html(const Interval& interval) {
  if (!std::isfinite(interval.value)) return "–";
  std::string text = fixed(interval.value, 2) + "×";
  if (interval.known()) {
    text.append(" [").append(fixed(interval.low, 2)).append(", ").append(fixed(interval.high, 2)).append("]");
  }
  return text;
}

void card(std::string& out, const std::string& value, const std::string& what) {
  out.append("<div class=\"card\"><b>").append(value).append("</b>").append(what).append("</div>");
}

/// Geometric mean of the speed-ups that have an interval.
std::string mean_speedup(const std::vector<CaseRecord>& cases, Interval CaseRecord::*which) {
  double sum = 0;
  int count = 0;
  for (const CaseRecord& record : cases) {
    if (!(record.*which).known() || !((record.*which).value > 0)) continue;
    sum += std::log((record.*which).value);
    ++count;
  }
  return count == 0 ? "–" : fixed(std::exp(sum / count), 2) + "×";
}

void summary(std::string& out, const RunRecord& run, const std::vector<CaseRecord>& cases) {
  std::map<Verdict, int> counts;
  for (const CaseRecord& record : cases) ++counts[record.verdict];
  out += "<div class=\"cards\">";
  card(out, std::to_string(cases.size()), "cases");
  for (const auto& [verdict, count] : counts) card(out, std::to_string(count), std::string(name(verdict)));
  card(out, mean_speedup(cases, &CaseRecord::speedup), "over N eager runs (geometric mean)");
  card(out, mean_speedup(cases, &CaseRecord::speedup_best_rival), "over the best rival (geometric mean)");
  out += "</div><table>";
  const auto row = [&](const char* what, const std::string& value) {
    if (value.empty()) return;
    out.append("<tr><th>")
        .append(what)
        .append("</th><td>")
        .append(escaped_markup(value, 500))
        .append("</td></tr>");
  };
  row("started", run.started);
  row("machine",
      run.machine.cpu + ", " + std::to_string(run.machine.physical_cores) + " cores, " + run.machine.os);
  row("device", run.device);
  row("preset", run.preset);
  row("label", run.label);
  row("origin", run.origin == "measured" ? "" : run.origin + ": a claim, not measured here");
  row("status", std::string(name(run.status)));
  for (const auto& tag : run.tags) row("tag", tag);
  for (const auto& note : run.notes) row("note", note.created + " " + note.text);
  for (const auto& [library, version] : run.machine.extra) row("library", library + " " + version);
  out += "</table>";
}

void plots(std::string& out, const std::string& title, const std::vector<std::string>& drawn,
           std::size_t all) {
  if (drawn.empty()) return;
  out.append("<h2>").append(title).append("</h2>");
  if (drawn.size() < all)
    out.append("<p>the first ")
        .append(std::to_string(drawn.size()))
        .append(" of ")
        .append(std::to_string(all))
        .append("</p>");
  out += "<div class=\"plots\">";
  for (const auto& plot : drawn) out += plot;
  out += "</div>";
}

void group_plots(std::string& out, const std::vector<CaseRecord>& cases) {
  std::vector<std::string> speedups, rounds;
  const auto groups = group_by_n(cases);
  for (const CaseGroup& group : groups) {
    if (speedups.size() < kMostPlots) {
      if (auto plot = speedup_plot(group); !plot.empty()) speedups.push_back(std::move(plot));
    }
    if (rounds.size() < kMostPlots) {
      if (auto plot = rounds_plot(group); !plot.empty()) rounds.push_back(std::move(plot));
    }
    if (speedups.size() == kMostPlots && rounds.size() == kMostPlots) break;
  }
  plots(out, "Speed-up over N", speedups, speedups.size() < kMostPlots ? speedups.size() : groups.size());
  plots(out, "Distribution of rounds", rounds, rounds.size() < kMostPlots ? rounds.size() : groups.size());
}

void history_plots(std::string& out, const std::vector<Trend>& history) {
  std::vector<std::string> drawn;
  std::size_t all = 0;
  for (const Trend& trend : history) {
    for (const TrendSeries& series : trend.series) {
      if (series.points.size() < 2) continue;
      ++all;
      if (drawn.size() == kMostPlots) continue;
      if (auto plot = history_plot(series); !plot.empty()) drawn.push_back(std::move(plot));
    }
  }
  plots(out, "History", drawn, all);
}

void case_table(std::string& out, const std::vector<CaseRecord>& cases) {
  out +=
      "<h2>Cases</h2><table><tr><th>subject</th><th class=\"number\">N</th><th>strategy</th>"
      "<th class=\"number\">wide</th><th class=\"number\">over eager</th><th>best rival</th>"
      "<th class=\"number\">over the best rival</th><th>verdict</th></tr>";
  const auto cell = [&](const std::string& text, const char* kind = "") {
    out.append("<td class=\"").append(kind).append("\">").append(text).append("</td>");
  };
  const auto judged = effects(cases);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const CaseRecord& record = cases[i];
    const auto effect = judged[i];
    out += "<tr>";
    cell(escaped_markup(record.subject, 100));
    cell(std::to_string(record.n), "number");
    cell(escaped_markup(record.strategy, 60));
    cell(duration(record.wide.median_us), "number");
    cell(interval_html(record.speedup), "number");
    cell(escaped_markup(record.best_rival, 60));
    cell(interval_html(record.speedup_best_rival), "number");
    if (record.verdict == Verdict::kPass) {
      const bool shown = record.speedup_best_rival.known();
      const char* kind = effect == profiler::Effect::kFaster   ? "faster"
                         : effect == profiler::Effect::kSlower ? "slower"
                                                               : "";
      const auto why = unreliable(record);
      if (why.empty()) {
        cell(shown ? std::string(profiler::name(effect)) : "pass", kind);
      } else {
        cell("inconclusive, " + std::string(kUnreliable) + " (" + escaped_markup(why, 200) + ")",
             "unreliable");
      }
    } else {
      cell(std::string(name(record.verdict)) +
               (record.reason.empty() ? "" : ": " + escaped_markup(record.reason, 200)),
           "bad");
    }
    out += "</tr>\n";
  }
  out += "</table>";
}

void limit_rows(std::string& out, const char* title, const std::vector<profiler::Limit>& list,
                const std::string& rival) {
  if (list.empty()) return;
  out.append("<table><tr><th>").append(title).append("</th><th class=\"number\">");
  out.append(rival.empty() ? "baseline" : escaped_markup(rival, 40));
  out +=
      "</th><th class=\"number\">wide</th><th class=\"number\">share</th><th class=\"number\">lost</th>"
      "<th>bound by</th><th>best known action</th><th class=\"number\">speed-up then</th></tr>";
  for (const auto& one : list) {
    const auto& action = one.action;
    out.append("<tr><td>").append(escaped_markup(one.name, 100)).append("</td><td class=\"number\">");
    out.append(one.rival_us > 0 ? duration(one.rival_us) : "–").append("</td><td class=\"number\">");
    out.append(duration(one.wide_us)).append("</td><td class=\"number\">");
    out.append(fixed(100 * one.share, 1)).append(" %</td><td class=\"number\">");
    out.append(one.roof_us > 0 ? duration(one.lost_us) : "–").append("</td><td>");
    out.append(profiler::name(one.bound)).append("</td><td>");
    if (action.what.empty()) {
      out += "none known";
    } else {
      out.append(escaped_markup(action.what, 100)).append(", −").append(duration(action.saved_us));
      out.append(" ").append(escaped_markup(action.basis, 40));
    }
    out.append("</td><td class=\"number\">");
    out.append(action.speedup > 0 ? fixed(action.speedup, 2) + "×" : "–").append("</td></tr>\n");
  }
  out += "</table>";
}

void limits_section(std::string& out, const std::vector<CaseLimits>& all) {
  for (const CaseLimits& one : all) {
    const auto& limits = one.limits;
    out.append("<h2>What holds the speed-up back: ").append(escaped_markup(one.key, 150)).append("</h2>");
    if (limits.speedup() > 0) {
      out.append("<p>").append(fixed(limits.speedup(), 2)).append("× over ");
      out.append(escaped_markup(limits.rival, 40)).append(": ").append(duration(limits.wide_us));
      out.append(" against ").append(duration(limits.rival_us)).append(" a pass</p>");
    }
    for (const auto& doubt : limits.doubts) {
      out.append("<p class=\"unreliable\">").append(kUnreliable).append("; ");
      out.append(escaped_markup(doubt, 200)).append("</p>");
    }
    limit_rows(out, "node", limits.nodes, limits.rival);
    limit_rows(out, "module", limits.modules, limits.rival);
  }
}

void recipe(std::string& out, const RunRecord& run) {
  const auto block = reproduce_json(run);
  out += "<h2>Reproduce</h2><pre>";
  for (const auto& [name, value] : run.environment)
    out.append(escaped_markup(name)).append("=").append(escaped_markup(value, 1000)).append("\n");
  out.append(escaped_markup(run.command_line, 4000)).append("\n");
  out.append(escaped_markup(block.at("again").get<std::string>(), 500)).append("</pre><p>seeds ");
  out.append(escaped_markup(block.at("seeds").dump(), 500))
      .append(", widebench ")
      .append(escaped_markup(run.tool_version));
  out.append(" ").append(escaped_markup(run.git_commit)).append("</p>");
}

}  // namespace

std::string to_html(const RunRecord& run, const std::vector<CaseRecord>& cases,
                    const std::vector<Trend>& history, const std::vector<CaseLimits>& limits) {
  std::string out = kHead;
  out.append("<title>Widebench ").append(escaped_markup(run.preset, 60)).append(" ");
  out.append(escaped_markup(run.started, 40))
      .append("</title>")
      .append(kStyle)
      .append("</head><body>\n<h1>Widebench: ");
  out.append(escaped_markup(run.preset.empty() ? "run" : run.preset, 60)).append("</h1>");
  summary(out, run, cases);
  group_plots(out, cases);
  history_plots(out, history);
  case_table(out, cases);
  limits_section(out, limits);
  recipe(out, run);
  return out + "</body></html>\n";
}

std::string to_svg(const std::vector<CaseRecord>& cases) {
  constexpr int kColumns = 3, kWide = 360, kHigh = 210;
  std::vector<std::string> drawn;
  for (const CaseGroup& group : group_by_n(cases)) {
    if (drawn.size() == kMostPlots) break;
    if (auto plot = speedup_plot(group); !plot.empty()) drawn.push_back(std::move(plot));
  }
  const int count = static_cast<int>(drawn.size());
  const int rows = std::max(1, (count + kColumns - 1) / kColumns);
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + std::to_string(kColumns * kWide) +
                    "\" height=\"" + std::to_string(rows * kHigh) + "\" color=\"#222\">" +
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>";
  for (int i = 0; i < count; ++i) {
    out += "<g transform=\"translate(" + std::to_string(i % kColumns * kWide) + " " +
           std::to_string(i / kColumns * kHigh) + ")\">" + drawn[static_cast<std::size_t>(i)] + "</g>\n";
  }
  return out + "</svg>\n";
}

}  // namespace wide::results
