#pragma once
// Cases as rows. Only results/ includes this; errors are SQLite::Exception, the caller holds the transaction.

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "formats/document.h"
#include "results/checksum.h"
#include "results/record.h"
#include "results/run_store.h"
#include "results/store.h"

struct sqlite3;
struct sqlite3_stmt;

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

/// The rows of a query. SQLite::Statement counts references for every column, which takes longer than
/// reading.
class ManyRows {
 public:
  ManyRows(SQLite::Database& db, const std::string& sql);
  ~ManyRows();
  ManyRows(const ManyRows&) = delete;
  ManyRows& operator=(const ManyRows&) = delete;

  void bind(int parameter, std::int64_t value);
  void bind(int parameter, const std::string& value);
  bool step();  ///< false: there are no more, and the statement begins anew
  std::int64_t integer(int column) const;
  std::optional<std::int64_t> optional_integer(int column) const;
  double real(int column) const;            ///< NULL reads as NaN
  std::string_view text(int column) const;  ///< until the next step
  /// Adds the columns `first` … `end` - 1 as Columns would; `end` < 0: up to the last.
  void add(Checksum& sum, int first = 0, int end = -1) const;

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

/// Reads the columns of the current row one after the other. NULL reads as NaN.
class Columns {
 public:
  explicit Columns(const ManyRows& rows) : rows_(rows) {}
  std::string text();
  nlohmann::json json() { return formats::parse_document(text()); }
  std::int64_t integer();
  int small() { return static_cast<int>(integer()); }
  double real();
  Interval interval();
  std::optional<std::int64_t> optional_integer();
  /// Passes over columns, which go into the sum all the same.
  Columns& skip(int count);
  /// What is read from here on goes into `sum`, too; nullptr: into none.
  Columns& into(Checksum* sum) {
    sum_ = sum;
    return *this;
  }

 private:
  const ManyRows& rows_;
  Checksum* sum_ = nullptr;
  int next_ = 0;
};

/// Throws SQLITE_CORRUPT, naming `what` and the row `id` where it has one, unless `stored` is the sum of what
/// was read.
void require_sum(const std::optional<std::int64_t>& stored, const Checksum& read, std::string_view what,
                 std::int64_t id = 0);

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
