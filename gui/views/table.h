#pragma once
// A table of any length that is sorted and filtered without being looked at: columns of interned texts and of
// numbers, and an order of row numbers. 100,000 rows are sorted or filtered in a few hundredths of a second.

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "profiler/statistics.h"

namespace wide::gui {

enum class CellKind : std::uint8_t { kText, kNumber, kInterval };

struct Column {
  std::string key;    ///< names it in filters and exports: "speedup"
  std::string title;  ///< heading: "over eager"
  CellKind kind = CellKind::kText;
  /// How a number is shown, with its unit; of an interval all three. Not known (NaN) is shown as "–".
  std::string (*show)(const profiler::Interval&) = nullptr;
  std::string unit = {};  ///< of the raw numbers in exports: "us"
  int spare = 0;          ///< where there is no room, the highest are left out first; 0: never
};

class Table {
 public:
  explicit Table(std::vector<Column> columns);

  const std::vector<Column>& columns() const { return columns_; }
  /// Index of the column with this key; columns().size() when there is none.
  std::size_t column(std::string_view key) const;
  std::size_t rows() const { return rows_; }
  /// No row says anything there.
  bool is_empty(std::size_t column) const { return !data_[column].filled; }
  void clear();  ///< keeps columns, order and filter

  /// A new row of empty texts and unknown numbers; returns its index. shown() has it after refresh().
  std::size_t add_row();
  void set(std::size_t row, std::size_t column, std::string_view text);
  void set(std::size_t row, std::size_t column, double number);
  void set(std::size_t row, std::size_t column, const profiler::Interval& interval);

  /// Unknown numbers come last either way; equal ones keep the order in which they were added.
  void sort(std::size_t column, bool descending);
  void unsort();
  std::size_t sorted_by() const { return sorted_by_; }  ///< columns().size(): in the order of adding
  bool descending() const { return descending_; }
  /// Words that a row must hold in some text, `key:word` in that column, `key>2`, `>=`, `<`, `<=`, `=` of a
  /// number; a leading - turns a term around. Case does not count. An unknown key finds nothing, see
  /// filter_fault().
  void filter(std::string_view query);
  const std::string& query() const { return query_; }
  /// What in the filter could not be understood; empty: nothing.
  const std::string& filter_fault() const { return fault_; }
  /// To be called after rows were added or changed: filters and sorts anew.
  void refresh();

  /// Rows to show, in their order.
  const std::vector<std::uint32_t>& shown() const { return shown_; }
  std::string cell(std::size_t row, std::size_t column) const;
  std::string_view text(std::size_t row, std::size_t column) const;
  double number(std::size_t row, std::size_t column) const;
  profiler::Interval interval(std::size_t row, std::size_t column) const;

 private:
  struct Data {
    // Texts: each kept once, cells hold its number.
    std::vector<std::string> texts;
    std::vector<std::string> lowered;
    std::unordered_map<std::string, std::uint32_t> ids;
    std::vector<std::uint32_t> order;  ///< of the texts, as they are sorted; of fewer texts: not known
    std::vector<std::uint32_t> cells;
    // Numbers; low and high of intervals only.
    std::vector<double> values, low, high;
    bool filled = false;  ///< some cell was given a text or a number that is known
  };
  struct Term;
  Term parse_term(std::string_view word);
  std::vector<std::uint64_t> keys(std::size_t column);

  std::vector<Column> columns_;
  std::vector<Data> data_;
  std::size_t rows_ = 0;
  std::vector<std::uint32_t> shown_;
  std::string query_, fault_;
  std::size_t sorted_by_;  ///< columns_.size(): not sorted
  bool descending_ = false;
};

/// Which columns are left out, so that the others fit into `room`: those that can be spared, highest first,
/// but for what fits beside the others in the end.
/// `widths` of all columns; 0: not shown anyway.
std::vector<bool> left_out(const Table& table, std::span<const float> widths, float room);

/// The rows that are shown, as RFC 4180 with a first line of titles; an interval takes three columns.
std::string to_csv(const Table& table);
/// The same as an array of objects by key; an interval is {value, low, high}, unknown is null.
nlohmann::json to_json(const Table& table);

}  // namespace wide::gui
