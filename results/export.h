#pragma once
// A run in the formats of other tools. Every text of a run is a stranger's: each format escapes it its own
// way.

#include <string>
#include <string_view>
#include <vector>

#include "profiler/trace/limits.h"
#include "results/report.h"
#include "results/trend.h"

namespace wide::results {

/// What the captures of a case say of its limits.
struct CaseLimits {
  std::string key;  ///< of the case
  profiler::Limits limits;
};

/// One line a contender of a case: times, speed-ups, verdict. RFC 4180, first line names the columns.
std::string to_csv(const RunRecord& run, const std::vector<CaseRecord>& cases);
/// Tables for a README or a pull request.
std::string to_markdown(const RunRecord& run, const std::vector<CaseRecord>& cases);
/// One test a case; wrong numbers are failures, what could not be measured are errors.
std::string to_junit(const RunRecord& run, const std::vector<CaseRecord>& cases);
/// For github-action-benchmark, "customSmallerIsBetter": wide time of every passed case.
nlohmann::json to_github_benchmark(const std::vector<CaseRecord>& cases);
/// Bencher Metric Format: latency (ns) and speedup of every passed case.
nlohmann::json to_bencher(const std::vector<CaseRecord>& cases);
/// Speed-ups over N of every subject, one picture.
std::string to_svg(const std::vector<CaseRecord>& cases);
/// One file that needs no network: headline, plots, table, what holds the speed-up back, how to reproduce.
/// `history` and `limits` may be empty.
std::string to_html(const RunRecord& run, const std::vector<CaseRecord>& cases,
                    const std::vector<Trend>& history, const std::vector<CaseLimits>& limits = {});

/// The names runs export takes: "json", "csv", "markdown", "junit", "html", "svg", "github", "bencher".
const std::vector<std::string>& export_formats();
/// The run in one of them, with its last newline. Throws wide::Error for another name.
std::string exported(std::string_view format, const RunRecord& run, const std::vector<CaseRecord>& cases,
                     const std::vector<Trend>& history);

}  // namespace wide::results
