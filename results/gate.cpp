#include "results/gate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "formats/error.h"
#include "results/counted.h"
#include "results/markdown.h"
#include "results/table.h"

// Note [Gate]
// A first look with a low bar: whatever seems slower by half the smallest effect of interest is an alert, and
// so is, where the baseline shows how much runs differ, what may well be slower by that effect: a noisy case
// is not let through for being noisy, nor is one of which nothing is known, since it was disturbed. Alerts
// are measured again, each time by a new process and after all the others, so that the luck of one process or
// minute does not decide. Only the fresh measurements are judged: the first one was chosen for being slow.
//
// How often a case must be measured depends on how much its processes differ, so it is judged several times:
// after 6 repeats, 12, 24, … and the last. Each judgement has an equal share of the chance of a false alarm
// (Bonferroni), so that looking often does not raise it. A case is done when it is found slower, or, from the
// third repeat on, when it is as fast as the baseline beyond reasonable doubt. Holm's correction counts every
// case of the first look at every judgement, since the baseline's own luck took part in the choice.
//
// A confirmed regression or a missing case fails, and what cannot be measured again is told to the caller;
// what stays undecided is said, and fails if asked for. Wrong numbers go before all of it: how fast they are
// computed is no question, so that measuring ends there.

namespace wide::results {
namespace {

constexpr int kRepeatsBeforeDropping = 3;
constexpr int kRepeatsBeforeJudging = 6;
constexpr double kDoubt = 0.65;  // of a 95 % interval's reach is that of an upper limit of 90 %

/// Nothing says how fast it is: all runs of a side were disturbed, or contradict themselves.
bool has_no_number(const CaseChange& change) {
  return !change.ratio.known();
}

/// Whether the case seems slower, or may well be; `known`: how much runs differ was seen, so its interval
/// means something.
bool seems_slower(const CaseChange& change, double minimum_effect, bool known) {
  if (has_no_number(change)) return true;
  if (change.change == Change::kSlower || change.ratio.value > 1 + minimum_effect / 2) return true;
  return known &&
         change.ratio.value * std::pow(change.ratio.high / change.ratio.value, kDoubt) > 1 + minimum_effect;
}

bool knows_spread(const Comparison& look) {
  return look.spread_from == "repeated runs";
}

/// After so many repeats the alerts are judged: 6, 12, 24, … and the last.
std::set<int> judgements(int repeats) {
  std::set<int> after{repeats};
  for (int count = kRepeatsBeforeJudging; count < repeats; count *= 2) after.insert(count);
  return after;
}

/// Cases of the baseline that passed there, but were skipped in the run: as good as missing.
bool was_skipped(const CaseChange& change) {
  return std::any_of(change.reasons.begin(), change.reasons.end(),
                     [](const auto& reason) { return reason.starts_with("second: skipped"); });
}

std::set<std::string> alerts_of(const Comparison& look, double minimum_effect) {
  std::set<std::string> keys;
  for (const CaseChange& change : look.cases) {
    if (change.change != Change::kNotComparable && seems_slower(change, minimum_effect, knows_spread(look)))
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
CompareOptions second_options(const Comparison& first_look, const CompareOptions& options,
                              std::size_t judgements) {
  CompareOptions result = options;
  int judged = 0;
  for (const CaseChange& change : first_look.cases) judged += change.change != Change::kNotComparable;
  result.family = judged;
  result.alpha = 2 * options.alpha / judgements;  // only slower is asked for: one side of a two-sided test
  if (first_look.spread_from != "an assumption") result.least_spread = first_look.spread;
  result.prior = first_look.prior;
  return result;
}

struct Repeats {
  Side baseline, fresh;
  std::set<std::string> left;  ///< alerts that still stand
  bool own_program = false;    ///< the baseline's own program is measured in turns
};

Comparison second_look(const Repeats& repeats, const Comparison& first_look, const GateOptions& options) {
  return compare(only(repeats.baseline, repeats.left), only(repeats.fresh, repeats.left),
                 second_options(first_look, options.compare, judgements(options.repeats).size()));
}

/// The baseline's own runs say nothing of the case: measuring again cannot help.
bool lacks_baseline(const CaseChange& change) {
  return has_no_number(change) && std::ranges::any_of(change.reasons, [](const auto& reason) {
           return reason.starts_with("first: ");
         });
}

/// Moves the verdicts of this look that are final into the outcome: all at the last one; what is slower, or
/// can never be compared, at the others.
void settle(const Comparison& look, bool is_last, Repeats& repeats, GateOutcome& outcome) {
  auto decided = std::move(outcome.second_look.cases);
  outcome.second_look = look;
  for (const CaseChange& change : look.cases) {
    const bool is_final = change.change == Change::kSlower || change.change == Change::kNotComparable ||
                          (!repeats.own_program && lacks_baseline(change));
    if (!is_last && !is_final) continue;
    decided.push_back(change);
    repeats.left.erase(change.key);
  }
  outcome.second_look.cases = std::move(decided);
  outcome.second_look.counts.clear();
  for (const CaseChange& change : outcome.second_look.cases) ++outcome.second_look.counts[change.change];
}

void drop_what_is_fine(const Comparison& look, const GateOptions& options, bool known, Repeats& repeats) {
  for (const CaseChange& change : look.cases) {
    if (change.change != Change::kNotComparable &&
        !seems_slower(change, options.compare.minimum_effect, known)) {
      repeats.left.erase(change.key);
    }
  }
}

void note_wrong_numbers(const Imported& run, GateOutcome& outcome) {
  for (const CaseRecord& record : run.cases)
    if (record.verdict == Verdict::kFail) outcome.wrong.insert(record.key);
}

void note_troubles(const Imported& run, GateOutcome& outcome) {
  note_wrong_numbers(run, outcome);
  for (const CaseRecord& record : run.cases) {
    const bool fine = record.verdict == Verdict::kPass || record.verdict == Verdict::kSkipped;
    if (!fine && record.verdict != Verdict::kFail) outcome.broken.insert(record.key);
  }
}

/// Fills the second look. False: stopped.
bool measure_again(const Side& baseline, const GateOptions& options, const MeasureAgain& again,
                   GateOutcome& outcome) {
  Repeats repeats{baseline, {outcome.first_look.second + ", measured again", {}}, outcome.alerts, false};
  const auto judged_after = judgements(options.repeats);
  for (int repeat = 0; repeat < options.repeats && !repeats.left.empty(); ++repeat) {
    auto fresh = again(repeats.left, repeat);
    if (!fresh) return false;
    note_troubles(fresh->run, outcome);
    if (fresh->baseline) note_troubles(*fresh->baseline, outcome);
    if (!outcome.wrong.empty()) return true;
    repeats.fresh.runs.push_back(std::move(fresh->run));
    if (fresh->baseline) {
      if (!std::exchange(repeats.own_program, true)) repeats.baseline.runs.clear();
      repeats.baseline.runs.push_back(std::move(*fresh->baseline));
    }
    const int done = repeat + 1;
    if (done < kRepeatsBeforeDropping && done < options.repeats) continue;
    const Comparison look = second_look(repeats, outcome.first_look, options);
    if (judged_after.contains(done)) settle(look, done == options.repeats, repeats, outcome);
    const bool known = knows_spread(outcome.first_look) || knows_spread(look);
    if (done < options.repeats) drop_what_is_fine(look, options, known, repeats);
  }
  return true;
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
  for (const Imported& measured : run.runs) note_wrong_numbers(measured, outcome);
  if (outcome.wrong.empty()) outcome.alerts = alerts_of(look, options.compare.minimum_effect);
}

void conclude(const std::set<std::string>& standing, GateOutcome& outcome) {
  outcome.open.insert(outcome.open.end(), standing.begin(), standing.end());
  for (const CaseChange& change : outcome.second_look.cases) {
    if (change.change == Change::kSlower) {
      outcome.slower.push_back(change.key);
    } else if (change.change == Change::kNotComparable && was_skipped(change)) {
      outcome.missing.push_back(change.key);
    } else if (change.change == Change::kInconclusive || change.change == Change::kNotComparable) {
      outcome.open.push_back(change.key);
    }
  }
  if (!outcome.wrong.empty()) {
    outcome.verdict = GateVerdict::kWrongNumbers;
  } else if (!outcome.slower.empty() || !outcome.missing.empty()) {
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

std::vector<std::string> sorted(const std::set<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

std::string headline(const GateOutcome& outcome) {
  std::string text = "gate: " + std::string(name(outcome.verdict)) + ": ";
  text += counted(outcome.first_look.cases.size(), "case") + ", " + std::to_string(outcome.alerts.size()) +
          " measured again, " + std::to_string(outcome.slower.size()) + " slower, " +
          std::to_string(outcome.missing.size()) + " missing, " + std::to_string(outcome.open.size()) +
          " undecided";
  if (!outcome.wrong.empty()) text += ", " + std::to_string(outcome.wrong.size()) + " with wrong numbers";
  if (!outcome.broken.empty()) text += ", " + std::to_string(outcome.broken.size()) + " not measured again";
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
    case GateVerdict::kWrongNumbers:
      return "wrong numbers";
  }
  return "";
}

const CaseRecord* wrong_case(const std::vector<CaseRecord>& cases) {
  for (const CaseRecord& record : cases)
    if (record.verdict == Verdict::kFail) return &record;
  return nullptr;
}

bool any_passed(const Side& side) {
  return std::ranges::any_of(side.runs, [](const Imported& run) {
    return std::ranges::any_of(run.cases,
                               [](const CaseRecord& one) { return one.verdict == Verdict::kPass; });
  });
}

void require_usable(const Side& baseline) {
  for (const Imported& run : baseline.runs) {
    if (const auto* wrong = wrong_case(run.cases)) {
      throw Error("gate", "the baseline computed wrong numbers in '" + printable(wrong->key, 150) +
                              "': nothing can be held against it; save another with --save-baseline");
    }
  }
  if (!any_passed(baseline))
    throw Error("gate",
                "no case of the baseline passed: nothing can be held against it; save another with "
                "--save-baseline");
}

GateOutcome gate(const Side& baseline, const Side& run, const GateOptions& options,
                 const MeasureAgain& again) {
  require_usable(baseline);
  GateOutcome outcome;
  first_look(baseline, run, options, outcome);
  if (outcome.alerts.empty() || !again || options.repeats < 1) {
    conclude(std::exchange(outcome.alerts, {}), outcome);
  } else if (measure_again(baseline, options, again, outcome)) {
    conclude({}, outcome);
  } else {
    outcome.verdict = GateVerdict::kStopped;
  }
  return outcome;
}

nlohmann::json to_json(const GateOutcome& outcome) {
  return {{"verdict", name(outcome.verdict)}, {"slower", outcome.slower},
          {"missing", outcome.missing},       {"undecided", outcome.open},
          {"wrong_numbers", outcome.wrong},   {"not_measured_again", outcome.broken},
          {"measured_again", outcome.alerts}};
}

std::string text(const GateOutcome& outcome) {
  std::string result = text(outcome.first_look);
  if (!outcome.second_look.cases.empty()) result += "\n" + text(outcome.second_look, true);
  result += "\n";
  list(result, "WRONG    ", sorted(outcome.wrong), false);
  list(result, "BROKEN   ", sorted(outcome.broken), false);
  list(result, "SLOWER   ", outcome.slower, false);
  list(result, "MISSING  ", outcome.missing, false);
  list(result, "UNDECIDED", outcome.open, false);
  return result + headline(outcome) + "\n";
}

std::string markdown(const GateOutcome& outcome) {
  std::string result = "## " + headline(outcome) + "\n\n";
  list(result, "wrong numbers", sorted(outcome.wrong), true);
  list(result, "not measured again", sorted(outcome.broken), true);
  list(result, "slower", outcome.slower, true);
  list(result, "missing", outcome.missing, true);
  list(result, "undecided", outcome.open, true);
  if (!outcome.second_look.cases.empty()) result += "\n" + markdown(outcome.second_look, true);
  return result + "\n" + markdown(outcome.first_look);
}

}  // namespace wide::results
