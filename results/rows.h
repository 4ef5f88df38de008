#pragma once
// Values on their way into statements of SQLite and out of their rows, and into sums. Only results/ includes
// this.

#include <SQLiteCpp/SQLiteCpp.h>

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "formats/document.h"
#include "results/case_record.h"
#include "results/checksum.h"

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
  Binder& blob(std::string_view bytes);
  Binder& null();
  /// What is bound from here on goes into `sum`, too.
  Binder& into(Checksum& sum) {
    sum_ = &sum;
    return *this;
  }
  /// One of the fields that visit_fields() gives.
  template <typename Value>
  void operator()(const Field& field, const Value& value) {
    sums_null_ = !field.is_metric;
    put(value);
    sums_null_ = true;
  }

 private:
  void put(const std::string& value) { text(value); }
  void put(const nlohmann::json& value) { json(value); }
  void put(Verdict value) { text(name(value)); }
  void put(std::integral auto value) { integer(static_cast<std::int64_t>(value)); }
  void put(double value) { real(value); }
  void put(const Limits<const double>& value) { real(value.low).real(value.high); }
  void put(const std::optional<std::int64_t>& value) { value ? integer(*value) : null(); }

  SQLite::Statement& statement_;
  Checksum* sum_ = nullptr;
  bool sums_null_ = true;
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
  bool is_null(int column) const;
  /// Adds the columns `first` … `end` - 1 as Columns would; `end` < 0: up to the last.
  void add(Checksum& sum, int first = 0, int end = -1) const;

 private:
  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
};

/// Reads the columns of the current row one after the other. NULL reads as NaN.
class Columns {
 public:
  explicit Columns(const ManyRows& rows, int first = 0) : rows_(rows), next_(first) {}
  std::string text();
  nlohmann::json json() { return formats::parse_document(text()); }
  std::int64_t integer();
  int small() { return static_cast<int>(integer()); }
  double real();
  std::optional<std::int64_t> optional_integer();
  /// What is read from here on goes into `sum`, too; nullptr: into none.
  Columns& into(Checksum* sum) {
    sum_ = sum;
    return *this;
  }
  /// One of the fields that visit_fields() gives.
  template <typename Value>
  void operator()(const Field& field, Value&& value) {
    sums_null_ = !field.is_metric;
    get(value);
    sums_null_ = true;
  }
  /// Passes over one, which goes into the sum all the same.
  template <typename Value>
  void skip(const Field& field, const Value&) {
    sums_null_ = !field.is_metric;
    skip_columns(is_limits<Value> ? 2 : 1);
    sums_null_ = true;
  }

 private:
  void get(std::string& value) { value = text(); }
  void get(nlohmann::json& value) { value = json(); }
  void get(Verdict& value) { value = parse_verdict(text()).value_or(Verdict::kError); }
  template <std::integral Integer>
  void get(Integer& value) {
    value = static_cast<Integer>(integer());
  }
  void get(double& value) { value = real(); }
  void get(const Limits<double>& value) {
    value.low = real();
    value.high = real();
  }
  void get(std::optional<std::int64_t>& value) { value = optional_integer(); }
  void skip_columns(int count);
  /// Goes to the next column; gives what the one passed is added to, or nullptr.
  Checksum* pass() {
    const int passed = next_++;
    return sums_null_ || !rows_.is_null(passed) ? sum_ : nullptr;
  }

  const ManyRows& rows_;
  Checksum* sum_ = nullptr;
  bool sums_null_ = true;
  int next_;
};

/// Throws SQLITE_CORRUPT, naming `what` and the row `id` where it has one, unless `stored` is the sum of what
/// was read.
void require_sum(const std::optional<std::int64_t>& stored, const Checksum& read, std::string_view what,
                 std::int64_t id = 0);

/// "subject,kind,n,…": the columns of a record's row, in the order of visit_fields().
template <typename Record>
std::string columns_of() {
  std::string text;
  const Record record{};
  visit_fields(record, [&](const Field& field, const auto&) {
    text.append(text.empty() ? "" : ",").append(field.column);
  });
  return text;
}

/// "INSERT INTO TABLE (COLUMNS) VALUES (?,?,…)".
std::string insert_into(std::string_view table, const std::string& columns);

}  // namespace wide::results
