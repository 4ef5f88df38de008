#pragma once
// A run's cases as aligned text for a terminal.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "results/record.h"
#include "results/store.h"

namespace wide::results {

/// One block per subject (first seen first), one line per case: N, strategy, wide's time, each rival's time,
/// speed-ups over N eager runs and over the best rival with intervals, the best rival, verdict. Ends with the
/// reasons of rivals that could not run, and a line of totals. Every name goes through printable().
std::string table(const std::vector<CaseRecord>& cases);

/// One line per run: id, start, preset, device, cases, status.
std::string table(const std::vector<RunSummary>& runs);
/// "mlp", "linear, mlp", "conv2d, linear and 32 more"; for people.
std::string subjects_text(const RunSummary& run);

/// `text` made safe for a terminal: C0 and C1 controls, bidirectional controls and line separators are taken
/// out, invalid UTF-8 becomes U+FFFD, and more than `limit` characters are cut with "…".
std::string printable(std::string_view text, std::size_t limit = 60);

/// "3.32x [3.25, 3.41]", "3.32x" without an interval, "-" when unknown.
std::string speedup_text(const Interval& speedup);

/// "pass, faster", "pass, inconclusive: the same work measured twice differs …", "fail: member 3 is off by
/// …".
std::string verdict_text(const CaseRecord& record, profiler::Effect effect);

/// Name and reason of each rival that was asked for and could not be measured, as the case's plan tells under
/// "peers".
std::vector<std::pair<std::string, std::string>> unmeasured_rivals(const CaseRecord& record);

/// "812 ns", "12.3 us", "4.56 ms", "1.20 s"; "-" for NaN.
std::string duration(double microseconds);

}  // namespace wide::results
