#pragma once
// Runs as rows. Only results/ includes this; errors are SQLite::Exception, the caller holds the transaction.

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "results/record.h"
#include "results/store.h"

namespace wide::results {

/// Stores run, settings, machine, tags and notes; returns the run's id.
std::int64_t insert_run(SQLite::Database& db, const RunRecord& run);

void insert_tag(SQLite::Database& db, std::int64_t run, const std::string& tag);
void insert_note(SQLite::Database& db, std::int64_t run, const Note& note);

/// Gives what an older schema wrote, which knew no sums, its sums.
void fill_run_sums(SQLite::Database& db);

/// The run is there.
RunRecord select_run(SQLite::Database& db, std::int64_t id);

/// All runs, newest last.
std::vector<RunSummary> select_summaries(SQLite::Database& db);

/// The runs of one row each: no settings, machine, tags and notes. By id.
struct RunRow {
  RunRecord run;
  std::string machine_key;
};
std::map<std::int64_t, RunRow> select_rows(SQLite::Database& db);

}  // namespace wide::results
