#include "results/gate.h"

#include <algorithm>
#include <utility>

#include "formats/error.h"
#include "results/markdown.h"
#include "results/table.h"

// Note [Gate]
// A first look with a low bar: whatever seems slower by half the smallest effect of interest is an alert.
// Alerts are measured again, each time by a new process and after all the others, so that the luck of one
// process or minute does not decide. What is then as fast as the baseline is dropped after three repeats; the
// rest is judged once, at the end, and only by the fresh measurements: the first one was chosen for being
// slow. Holm's correction still counts every case of the first look, since the baseline's own luck took part
// in the choice. Only a confirmed regression or a missing case fails; what stays undecided is said, and fails
// if asked for.

namespace wide::results {
namespace {

constexpr int kRepeatsBeforeDropping = 3;

bool seems_slower(const CaseChange& change, double minimum_effect) {
  return change.change == Change::kSlower || change.ratio.value > 1 + minimum_effect / 2;
}

/// Cases of the baseline that passed there, but were skipped in the run: as good as missing.
bool was_skipped(const CaseChange& change) {
  return std::any_of(change.reasons.begin(), change.reasons.end(),
                     [](const auto& reason) { return reason.starts_with("second: skipped"); });
}

std::set<std::string> alerts_of(const Comparison& look, double minimum_effect) {
  std::set<std::string> keys;
  for (const CaseChange& change : look.cases) {
    if (change.change != Change::kNotComparable && seems_slower(change, minimum_effect))
      keys.insert(change.key);
  }
  return keys;
}

Side only(const Side& side, const std::set<std::string>& keys) {
  Side result{side.name, {}};
  for (const Imported& run : side.runs) {
    Imported& kept = result.runs.emplace_back();
    kept.run = run.run;
    for (const CaseRecord& record : run.cases) {
      if (keys.contains(record.key)) kept.cases.push_back(record);
    }
  }
  return result;
}

/// The options of the second look: all cases of the first count, and runs differ at least as much as they
/// did.
CompareOptions second_options(const Comparison& first_look, const CompareOptions& options) {
  CompareOptions result = options;
  int judged = 0;
  for (const CaseChange& change : first_look.cases) judged += change.change != Change::kNotComparable;
  result.family = judged;
  result.alpha = 2 * options.alpha;  // only slower is asked for: one side of a two-sided test
  if (first_look.spread_from != "an assumption") result.least_spread = first_look.spread;
  result.prior = first_look.prior;
  return result;
}

struct Repeats {
  Side baseline, fresh;
  std::set<std::string> left;  ///< alerts that still stand
  bool stopped = false;
};

Comparison second_look(const Repeats& repeats, const Comparison& first_look, const GateOptions& options) {
  return compare(only(repeats.baseline, repeats.left), only(repeats.fresh, repeats.left),
                 second_options(first_look, options.compare));
}

void drop_what_is_fine(const GateOutcome& outcome, const GateOptions& options, Repeats& repeats) {
  std::set<std::string> standing;
  for (const CaseChange& change : second_look(repeats, outcome.first_look, options).cases) {
    if (change.change == Change::kNotComparable || seems_slower(change, options.compare.minimum_effect))
      standing.insert(change.key);
  }
  repeats.left = std::move(standing);
}

Repeats measure_again(const Side& baseline, const GateOutcome& outcome, const GateOptions& options,
                      const MeasureAgain& again) {
  Repeats result{baseline, {outcome.first_look.second + ", measured again", {}}, outcome.alerts, false};
  bool own_program = false;
  for (int repeat = 0; repeat < options.repeats && !result.left.empty(); ++repeat) {
    auto fresh = again(result.left, repeat);
    if (!fresh) {
      result.stopped = true;
      return result;
    }
    result.fresh.runs.push_back(std::move(fresh->run));
    if (fresh->baseline) {
      if (!std::exchange(own_program, true)) result.baseline.runs.clear();
      result.baseline.runs.push_back(std::move(*fresh->baseline));
    }
    if (repeat + 1 >= kRepeatsBeforeDropping && repeat + 1 < options.repeats)
      drop_what_is_fine(outcome, options, result);
  }
  return result;
}

void first_look(const Side& baseline, const Side& run, const GateOptions& options, GateOutcome& outcome) {
  outcome.first_look = compare(baseline, run, options.compare);
  const Comparison& look = outcome.first_look;
  if (!look.barriers.empty() && !options.compare.across_machines) {
    throw Error("gate", "the baseline cannot be compared with this run: " + look.barriers.front() +
                            "; measure a baseline here, or allow it with --across-machines");
  }
  if (look.cases.empty())
    throw Error("gate", "the baseline and this run have no case in common; name another baseline");
  for (const Missing& missing : look.only_in_first) outcome.missing.push_back(missing.key);
  for (const CaseChange& change : look.cases) {
    if (change.change != Change::kNotComparable) continue;
    (was_skipped(change) ? outcome.missing : outcome.open).push_back(change.key);
  }
  outcome.alerts = alerts_of(look, options.compare.minimum_effect);
}

void settle(GateOutcome& outcome, const std::set<std::string>& standing, bool measured) {
  if (!measured) outcome.open.insert(outcome.open.end(), standing.begin(), standing.end());
  for (const CaseChange& change : outcome.second_look.cases) {
    if (change.change == Change::kSlower) {
      outcome.slower.push_back(change.key);
    } else if (change.change == Change::kInconclusive || change.change == Change::kNotComparable) {
      outcome.open.push_back(change.key);
    }
  }
  if (!outcome.slower.empty() || !outcome.missing.empty()) {
    outcome.verdict = GateVerdict::kRegressed;
  } else if (!outcome.open.empty()) {
    outcome.verdict = GateVerdict::kInconclusive;
  }
}

void list(std::string& text, const std::string& title, const std::vector<std::string>& keys, bool markup) {
  constexpr std::size_t kMost = 50;
  for (std::size_t i = 0; i < keys.size() && i < kMost; ++i) {
    text +=
        markup ? "- **" + title + "** " + escaped_markdown(keys[i]) : title + "  " + printable(keys[i], 150);
    text += "\n";
  }
  if (keys.size() > kMost) text += "… and " + std::to_string(keys.size() - kMost) + " more\n";
}

std::string headline(const GateOutcome& outcome) {
  std::string text = "gate: " + std::string(name(outcome.verdict)) + ": ";
  text += std::to_string(outcome.first_look.cases.size()) + " cases, " +
          std::to_string(outcome.alerts.size()) + " measured again, " +
          std::to_string(outcome.slower.size()) + " slower, " + std::to_string(outcome.missing.size()) +
          " missing, " + std::to_string(outcome.open.size()) + " undecided";
  return text;
}

}  // namespace

std::string_view name(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::kPassed:
      return "passed";
    case GateVerdict::kRegressed:
      return "regressed";
    case GateVerdict::kInconclusive:
      return "inconclusive";
    case GateVerdict::kStopped:
      return "stopped";
  }
  return "";
}

GateOutcome gate(const Side& baseline, const Side& run, const GateOptions& options,
                 const MeasureAgain& again) {
  GateOutcome outcome;
  first_look(baseline, run, options, outcome);
  if (outcome.alerts.empty() || !again || options.repeats < 1) {
    settle(outcome, outcome.alerts, false);
    return outcome;
  }
  const Repeats repeats = measure_again(baseline, outcome, options, again);
  if (repeats.stopped) {
    outcome.verdict = GateVerdict::kStopped;
    return outcome;
  }
  if (!repeats.left.empty()) {
    outcome.second_look = second_look(repeats, outcome.first_look, options);
  }
  settle(outcome, {}, true);
  return outcome;
}

nlohmann::json to_json(const GateOutcome& outcome) {
  const auto second =
      outcome.second_look.cases.empty() ? nlohmann::json(nullptr) : to_json(outcome.second_look);
  return {{"verdict", name(outcome.verdict)},
          {"slower", outcome.slower},
          {"missing", outcome.missing},
          {"undecided", outcome.open},
          {"measured_again", outcome.alerts},
          {"first_look", to_json(outcome.first_look)},
          {"second_look", second}};
}

std::string text(const GateOutcome& outcome) {
  std::string result = text(outcome.first_look);
  if (!outcome.second_look.cases.empty()) result += "\n" + text(outcome.second_look, true);
  result += "\n";
  list(result, "SLOWER   ", outcome.slower, false);
  list(result, "MISSING  ", outcome.missing, false);
  list(result, "UNDECIDED", outcome.open, false);
  return result + headline(outcome) + "\n";
}

std::string markdown(const GateOutcome& outcome) {
  std::string result = "## " + headline(outcome) + "\n\n";
  list(result, "slower", outcome.slower, true);
  list(result, "missing", outcome.missing, true);
  list(result, "undecided", outcome.open, true);
  if (!outcome.second_look.cases.empty()) result += "\n" + markdown(outcome.second_look, true);
  return result + "\n" + markdown(outcome.first_look);
}

}  // namespace wide::results
