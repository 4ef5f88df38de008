#pragma once
// Cases as rows. Only results/ includes this; errors are SQLite::Exception, the caller holds the transaction.

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "results/checksum.h"
#include "results/record.h"

namespace wide::results {

/// Binds values one after the other. NaN and absent become NULL; text is made valid UTF-8.
class Binder {
 public:
  explicit Binder(SQLite::Statement& statement) : statement_(statement) {}
  Binder& text(std::string_view value);
  Binder& json(const nlohmann::json& value);
  Binder& integer(std::int64_t value);
  Binder& real(double value);
  Binder& interval(const Interval& value);  ///< three columns
  Binder& blob(std::string_view bytes);
  Binder& null();
  /// What is bound from here on goes into `sum`, too.
  Binder& into(Checksum& sum) {
    sum_ = &sum;
    return *this;
  }

 private:
  SQLite::Statement& statement_;
  Checksum* sum_ = nullptr;
  int next_ = 1;
};

/// Reads the columns of the current row one after the other. NULL reads as NaN.
class Columns {
 public:
  explicit Columns(SQLite::Statement& statement) : statement_(statement) {}
  std::string text();
  nlohmann::json json() { return nlohmann::json::parse(text()); }
  std::int64_t integer();
  int small() { return static_cast<int>(integer()); }
  double real();
  Interval interval();
  std::optional<std::int64_t> optional_integer();
  /// What is read from here on goes into `sum`, too; nullptr: into none.
  Columns& into(Checksum* sum) {
    sum_ = sum;
    return *this;
  }

 private:
  SQLite::Column next() { return statement_.getColumn(next_++); }
  SQLite::Statement& statement_;
  Checksum* sum_ = nullptr;
  int next_ = 0;
};

/// Throws SQLITE_CORRUPT, naming `what`, unless `stored` is the sum of what was read; nothing stored: an
/// older schema wrote it.
void require_sum(const std::optional<std::int64_t>& stored, const Checksum& read, const std::string& what);

/// Writes cases; keeps its statements, so that ten thousand cases compile them once.
class CaseWriter {
 public:
  explicit CaseWriter(SQLite::Database& db);
  void insert(std::int64_t run, const CaseRecord& record);

 private:
  void insert_contenders(std::int64_t id, const CaseRecord& record, Checksum& sum);
  void insert_checks(std::int64_t id, const CaseRecord& record, Checksum& sum);
  void insert_samples(std::int64_t id, const CaseRecord& record, Checksum& sum);

  SQLite::Database& db_;
  SQLite::Statement case_, contender_, check_, sample_, sums_;
};

std::vector<CaseRecord> select_cases(SQLite::Database& db, std::int64_t run, bool with_samples);

/// A run of this machine that measured a subject, and the case; without samples.
struct MeasuredCase {
  std::int64_t run = 0;
  CaseRecord record;
};

/// Of runs that were measured here for their own sake, oldest first.
std::vector<MeasuredCase> select_subject(SQLite::Database& db, const std::string& subject);

}  // namespace wide::results
