#pragma once
// A run's cases as aligned text for a terminal.

#include <string>
#include <string_view>
#include <vector>

#include "results/record.h"
#include "results/store.h"

namespace wide::results {

/// One block per subject (first seen first), one line per case: N, strategy, wide time, best rival, speed-ups
/// with intervals, verdict. Ends with a line of totals. Every name goes through printable().
std::string table(const std::vector<CaseRecord>& cases);

/// One line per run: id, start, preset, device, cases, status.
std::string table(const std::vector<RunSummary>& runs);

/// `text` made safe for a terminal: C0 and C1 controls, bidirectional controls and line separators are taken
/// out, invalid UTF-8 becomes U+FFFD, and more than `limit` characters are cut with "…".
std::string printable(std::string_view text, std::size_t limit = 60);

/// "812 ns", "12.3 us", "4.56 ms", "1.20 s"; "-" for NaN.
std::string duration(double microseconds);

}  // namespace wide::results
