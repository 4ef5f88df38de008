#pragma once
// Cases as rows. Only results/ includes this; errors are SQLite::Exception, the caller holds the transaction.

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <string_view>
#include <vector>

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

 private:
  SQLite::Statement& statement_;
  int next_ = 1;
};

/// Reads the columns of the current row one after the other. NULL reads as NaN.
class Columns {
 public:
  explicit Columns(SQLite::Statement& statement) : statement_(statement) {}
  std::string text() { return next().getString(); }
  nlohmann::json json() { return nlohmann::json::parse(text()); }
  std::int64_t integer() { return next().getInt64(); }
  int small() { return next().getInt(); }
  double real();
  Interval interval();
  std::optional<std::int64_t> optional_integer();

 private:
  SQLite::Column next() { return statement_.getColumn(next_++); }
  SQLite::Statement& statement_;
  int next_ = 0;
};

/// Writes cases; keeps its statements, so that ten thousand cases compile them once.
class CaseWriter {
 public:
  explicit CaseWriter(SQLite::Database& db);
  void insert(std::int64_t run, const CaseRecord& record);

 private:
  void insert_contenders(std::int64_t id, const CaseRecord& record);
  void insert_checks(std::int64_t id, const CaseRecord& record);
  void insert_samples(std::int64_t id, const CaseRecord& record);

  SQLite::Database& db_;
  SQLite::Statement case_, contender_, check_, sample_;
};

std::vector<CaseRecord> select_cases(SQLite::Database& db, std::int64_t run, bool with_samples);

}  // namespace wide::results
