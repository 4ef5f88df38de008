#pragma once
// Values on their way into statements of SQLite and out of their rows, and into sums. Only results/ includes
// this.

#include <SQLiteCpp/SQLiteCpp.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/document.h"
#include "results/checksum.h"
#include "results/record.h"

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

}  // namespace wide::results
