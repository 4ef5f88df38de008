#include "results/rows.h"

#include <sqlite3.h>

#include <cmath>

#include "results/json_fields.h"
#include "results/text.h"

namespace wide::results {

void require_sum(const std::optional<std::int64_t>& stored, const Checksum& read, std::string_view what,
                 std::int64_t id) {
  if (stored && *stored == read.value()) return;
  throw SQLite::Exception(std::string(what) + (id == 0 ? "" : std::to_string(id)) + " is not what was stored",
                          SQLITE_CORRUPT);
}

Binder& Binder::text(std::string_view value) {
  const std::string text = valid_utf8(value);
  statement_.bind(next_++, text);
  if (sum_ != nullptr) sum_->text(text);
  return *this;
}

Binder& Binder::json(const nlohmann::json& value) {
  return text(dump(value));
}

Binder& Binder::integer(std::int64_t value) {
  statement_.bind(next_++, value);
  if (sum_ != nullptr) sum_->integer(value);
  return *this;
}

Binder& Binder::real(double value) {
  if (std::isnan(value)) return null();
  statement_.bind(next_++, value);
  if (sum_ != nullptr) sum_->real(value);
  return *this;
}

Binder& Binder::blob(std::string_view bytes) {
  statement_.bind(next_++, static_cast<const void*>(bytes.data()), static_cast<int>(bytes.size()));
  if (sum_ != nullptr) sum_->text(bytes);
  return *this;
}

Binder& Binder::null() {
  statement_.bind(next_++);
  if (sum_ != nullptr && sums_null_) sum_->null();
  return *this;
}

std::string Columns::text() {
  std::string value(rows_.text(next_));
  if (auto* sum = pass()) sum->text(value);
  return value;
}

std::int64_t Columns::integer() {
  const std::int64_t value = rows_.integer(next_);
  if (auto* sum = pass()) sum->integer(value);
  return value;
}

double Columns::real() {
  const double value = rows_.real(next_);
  if (auto* sum = pass()) sum->real(value);
  return value;
}

std::optional<std::int64_t> Columns::optional_integer() {
  const auto value = rows_.optional_integer(next_);
  if (auto* sum = pass()) value ? sum->integer(*value) : sum->null();
  return value;
}

void Columns::skip_columns(int count) {
  for (; count > 0; --count)
    if (auto* sum = pass()) rows_.add(*sum, next_ - 1, next_);
}

ManyRows::ManyRows(SQLite::Database& db, const std::string& sql) : db_(db.getHandle()) {
  const int code = sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement_, nullptr);
  if (code != SQLITE_OK) throw SQLite::Exception(db_, code);
}

ManyRows::~ManyRows() {
  sqlite3_finalize(statement_);
}

void ManyRows::bind(int parameter, std::int64_t value) {
  sqlite3_bind_int64(statement_, parameter, value);
}

void ManyRows::bind(int parameter, const std::string& value) {
  sqlite3_bind_text(statement_, parameter, value.data(), static_cast<int>(value.size()), SQLITE_TRANSIENT);
}

bool ManyRows::step() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) throw SQLite::Exception(db_, code);
  sqlite3_reset(statement_);
  return false;
}

std::int64_t ManyRows::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

std::optional<std::int64_t> ManyRows::optional_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

double ManyRows::real(int column) const {
  if (is_null(column)) return kUnknown;
  return sqlite3_column_double(statement_, column);
}

std::string_view ManyRows::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

bool ManyRows::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

void ManyRows::add(Checksum& sum, int first, int end) const {
  if (end < 0) end = sqlite3_column_count(statement_);
  for (int i = first; i < end; ++i) {
    switch (sqlite3_column_type(statement_, i)) {
      case SQLITE_NULL:
        sum.null();
        break;
      case SQLITE_INTEGER:
        sum.integer(integer(i));
        break;
      case SQLITE_FLOAT:
        sum.real(sqlite3_column_double(statement_, i));
        break;
      default:
        sum.text(text(i));
    }
  }
}

std::string insert_into(std::string_view table, const std::string& columns) {
  std::string marks = "?";
  for (const char c : columns)
    if (c == ',') marks += ",?";
  return std::string("INSERT INTO ").append(table).append(" (" + columns + ") VALUES (" + marks + ")");
}

}  // namespace wide::results
