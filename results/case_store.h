#pragma once
// Cases as rows. Only results/ includes this; errors are SQLite::Exception, the caller holds the transaction.

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "results/record.h"
#include "results/rows.h"
#include "results/run_store.h"
#include "results/store.h"

namespace wide::results {

/// Gives what an older schema wrote, which knew no sums, its sums.
void fill_case_sums(SQLite::Database& db);

/// Writes cases; keeps its statements, so that ten thousand cases compile them once.
class CaseWriter {
 public:
  explicit CaseWriter(SQLite::Database& db);
  void insert(std::int64_t run, const CaseRecord& record);

 private:
  void insert_contenders(std::int64_t id, const CaseRecord& record, Checksum& sum);
  void insert_checks(std::int64_t id, const CaseRecord& record, Checksum& sum);
  void insert_samples(std::int64_t id, const CaseRecord& record, Checksum& sum);
  void insert_circumstances(std::int64_t id, const CaseRecord& record);

  SQLite::Database& db_;
  SQLite::Statement case_, contender_, check_, sample_, sums_, circumstances_;
};

/// How much of a case is read. Its sum is checked all the same, but for that of samples which are left out.
enum class CaseParts : std::uint8_t { kAll, kNoSamples, kCompared };

std::vector<CaseRecord> select_cases(SQLite::Database& db, std::int64_t run, CaseParts parts);

/// Cases of a subject in those of `runs` that were measured here for their own sake, oldest first.
std::vector<TrendPoint> select_subject(SQLite::Database& db, const std::string& subject,
                                       const std::map<std::int64_t, RunRow>& runs);

}  // namespace wide::results
