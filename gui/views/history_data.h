#pragma once
// The history of runs: what is stored, two sides compared, a subject over time. Each read is for a job.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gui/views/table.h"
#include "results/compare.h"
#include "results/store.h"
#include "results/trend.h"

namespace wide::gui {

struct HistoryData {
  std::filesystem::path database;
  bool exists = false;                    ///< false: there is no database yet, which is no error
  std::vector<results::RunSummary> runs;  ///< newest first
  std::vector<results::Baseline> baselines;
  std::set<std::int64_t> profiles;  ///< runs that hold captures only
  Table table;                      ///< a row per run, in the order of `runs`
  std::string stamp;                ///< stamp_of() before it was read

  /// Its row; runs.size() when there is none.
  std::size_t row_of(std::int64_t run) const;
};

/// Columns: run, started, label, subjects, preset, device, cases, passed, status, tags, baselines, pinned,
/// machine, origin.
Table runs_table();

/// Another text after somebody, maybe another process, stored something; quick.
std::string stamp_of(const std::filesystem::path& database);

/// Whether something was stored since it was read, or who measured a run of it has ended; quick.
bool is_stale(const HistoryData& data);

/// `runs` newest first; `profiles` are those that hold captures only.
HistoryData make_history(std::vector<results::RunSummary> runs, std::set<std::int64_t> profiles = {});
/// Throws wide::Error when the file is there and cannot be read.
HistoryData read_history(const std::filesystem::path& database);

/// One run with its cases; samples are left out.
struct RunData {
  results::RunRecord run;
  std::vector<results::CaseRecord> cases;
  Table table;                        ///< as sweep_table()
  std::vector<std::string> subjects;  ///< each once, in order
  std::string captured;               ///< key of the first case with captures; empty: none has any
};
/// `wanted` 0: the newest one that measured, where there is one. Throws wide::Error.
RunData read_run(const std::filesystem::path& database, std::int64_t wanted);
/// The newest one that was measured here, and that has `subject` (empty: any), which is built in or a model
/// of one's own; nothing where there is none. Throws wide::Error.
std::optional<RunData> newest_run(const std::filesystem::path& database, const std::string& subject,
                                  bool built_in);
/// Whether the case is of that subject.
bool is_of(const results::CaseRecord& record, const std::string& subject, bool built_in);

/// A comparison and its rows.
struct CompareData {
  results::Comparison comparison;
  Table table;
};

/// Columns: subject, n, strategy, change, ratio, first, second, dtype, device, mode, p, against, reasons.
Table compare_table();
CompareData make_comparison(results::Comparison comparison);
/// The first run of `runs` with each of the others, in their order. Throws wide::Error.
std::vector<CompareData> compare_runs(const std::filesystem::path& database,
                                      const std::vector<std::int64_t>& runs, bool across_machines);

/// "2 slower, 11 same; cost on the whole -1.20 % [-2.00, -0.40]"; below zero the second is faster.
std::string headline(const results::Comparison& comparison);

/// Writes the run's report in a format of results::export_formats(). Throws wide::Error.
void export_run(const std::filesystem::path& database, std::int64_t run, const std::string& format,
                const std::filesystem::path& file);

/// "widebench runs compare 3 5 --db FILE".
std::string compare_command(const std::filesystem::path& database, const std::vector<std::int64_t>& runs,
                            bool across_machines);

/// "2026-05-01T12:34:56Z" as "2026-05-01 12:34".
std::string short_time(const std::string& iso);

}  // namespace wide::gui
