#include "gui/views/table.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "gui/views/lowered.h"
#include "gui/views/natural_order.h"
#include "gui/views/quantity.h"

namespace wide::gui {
namespace {

using profiler::Interval;
using profiler::kUnknown;

constexpr auto kLast = std::numeric_limits<std::uint64_t>::max();

// Bits that are ordered as the numbers are; NaN after all.
std::uint64_t ordered_bits(double value, bool descending) {
  if (std::isnan(value)) return kLast;
  if (value == 0) value = 0;  // -0 is 0
  const auto bits = std::bit_cast<std::uint64_t>(descending ? -value : value);
  constexpr auto kSign = std::uint64_t{1} << 63;
  return (bits & kSign) != 0 ? ~bits : bits | kSign;
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

struct Table::Term {
  enum class Test : std::uint8_t { kHolds, kLess, kAtMost, kEqual, kAtLeast, kMore };
  bool negated = false;
  std::size_t column = 0;  ///< columns().size(): any text
  Test test = Test::kHolds;
  std::string word;
  double number = 0;
  std::vector<std::vector<bool>> texts;  ///< by column and text: does it hold the word

  bool compares(double value) const {
    switch (test) {
      case Test::kLess:
        return value < number;
      case Test::kAtMost:
        return value <= number;
      case Test::kEqual:
        return value == number;
      case Test::kAtLeast:
        return value >= number;
      case Test::kMore:
        return value > number;
      case Test::kHolds:
        break;
    }
    return false;
  }
};

Table::Table(std::vector<Column> columns)
    : columns_(std::move(columns)), data_(columns_.size()), sorted_by_(columns_.size()) {
  clear();
}

std::size_t Table::column(std::string_view key) const {
  const auto found =
      std::find_if(columns_.begin(), columns_.end(), [&](const auto& c) { return c.key == key; });
  return static_cast<std::size_t>(found - columns_.begin());
}

void Table::clear() {
  rows_ = 0;
  shown_.clear();
  for (std::size_t i = 0; i < data_.size(); ++i) {
    data_[i] = {};
    if (columns_[i].kind == CellKind::kText) {
      data_[i].texts = data_[i].lowered = {""};
      data_[i].ids = {{"", 0}};
    }
  }
}

std::size_t Table::add_row() {
  for (std::size_t i = 0; i < data_.size(); ++i) {
    auto& data = data_[i];
    if (columns_[i].kind == CellKind::kText) {
      data.cells.push_back(0);
      continue;
    }
    data.values.push_back(kUnknown);
    if (columns_[i].kind == CellKind::kInterval) data.low.push_back(kUnknown), data.high.push_back(kUnknown);
  }
  return rows_++;
}

void Table::set(std::size_t row, std::size_t column, std::string_view text) {
  auto& data = data_[column];
  const auto [place, fresh] =
      data.ids.try_emplace(std::string(text), static_cast<std::uint32_t>(data.texts.size()));
  if (fresh) {
    data.texts.emplace_back(text);
    data.lowered.push_back(lowered(text));
  }
  data.cells[row] = place->second;
  data.filled = data.filled || !text.empty();
}

void Table::set(std::size_t row, std::size_t column, double number) {
  data_[column].values[row] = number;
  data_[column].filled = data_[column].filled || std::isfinite(number);
}

void Table::set(std::size_t row, std::size_t column, const Interval& interval) {
  set(row, column, interval.value);
  data_[column].low[row] = interval.low;
  data_[column].high[row] = interval.high;
}

void Table::sort(std::size_t column, bool descending) {
  sorted_by_ = column;
  descending_ = descending;
  refresh();
}

void Table::unsort() {
  sorted_by_ = columns_.size();
  refresh();
}

void Table::filter(std::string_view query) {
  query_ = query;
  refresh();
}

// [-][key(:|=|<|<=|>|>=)]value
Table::Term Table::parse_term(std::string_view word) {
  Term term;
  term.column = columns_.size();
  if (word.size() > 1 && word.front() == '-') term.negated = true, word.remove_prefix(1);
  const auto at = word.find_first_of(":=<>");
  if (at == std::string_view::npos || at == 0) {
    term.word = lowered(word);
    return term;
  }
  const auto key = word.substr(0, at);
  term.column = column(key);
  if (term.column == columns_.size()) {
    fault_ = "there is no column \"";
    fault_.append(key).append("\"; there are");
    for (const auto& known : columns_) fault_.append(" ").append(known.key);
    return term;
  }
  const bool or_equal = at + 1 < word.size() && word[at + 1] == '=' && word[at] != ':' && word[at] != '=';
  const auto value = word.substr(at + (or_equal ? 2 : 1));
  if (columns_[term.column].kind == CellKind::kText) {
    term.word = lowered(value);
    return term;
  }
  const auto number = number_of(value);
  if (!number) {
    fault_ = "\"";
    fault_.append(value).append("\" is no number to compare ").append(key).append(" with");
    return term;
  }
  term.number = *number;
  using Test = Term::Test;
  term.test = word[at] == '<'   ? (or_equal ? Test::kAtMost : Test::kLess)
              : word[at] == '>' ? (or_equal ? Test::kAtLeast : Test::kMore)
                                : Test::kEqual;
  return term;
}

std::vector<std::uint64_t> Table::keys(std::size_t column) {
  auto& data = data_[column];
  std::vector<std::uint64_t> result(rows_);
  if (columns_[column].kind != CellKind::kText) {
    for (std::size_t i = 0; i < rows_; ++i) result[i] = ordered_bits(data.values[i], descending_);
    return result;
  }
  if (data.order.size() != data.texts.size()) data.order = natural_order(data.lowered);
  const auto& order = data.order;
  std::vector<std::uint64_t> rank(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank[order[i]] = descending_ ? order.size() - i : i;
    if (data.texts[order[i]].empty()) rank[order[i]] = kLast;
  }
  for (std::size_t i = 0; i < rows_; ++i) result[i] = rank[data.cells[i]];
  return result;
}

void Table::refresh() {
  fault_.clear();
  std::vector<Term> terms;
  for (std::string_view rest = query_; !rest.empty();) {
    const auto begin = rest.find_first_not_of(" \t");
    if (begin == std::string_view::npos) break;
    const auto end = std::min(rest.find_first_of(" \t", begin), rest.size());
    terms.push_back(parse_term(rest.substr(begin, end - begin)));
    rest.remove_prefix(end);
  }
  for (auto& term : terms) {
    term.texts.resize(columns_.size());
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      if (columns_[c].kind != CellKind::kText || (term.column != columns_.size() && term.column != c))
        continue;
      for (const auto& text : data_[c].lowered)
        term.texts[c].push_back(text.find(term.word) != std::string::npos);
    }
  }
  const auto passes = [&](const Term& term, std::size_t row) {
    bool holds = false;
    if (term.test != Term::Test::kHolds) {
      holds = term.compares(data_[term.column].values[row]);
    } else {
      for (std::size_t c = 0; c < columns_.size() && !holds; ++c)
        holds = !term.texts[c].empty() && term.texts[c][data_[c].cells[row]];
    }
    return holds != term.negated;
  };
  shown_.clear();
  if (!fault_.empty()) return;
  for (std::size_t row = 0; row < rows_; ++row) {
    if (std::all_of(terms.begin(), terms.end(), [&](const Term& term) { return passes(term, row); }))
      shown_.push_back(static_cast<std::uint32_t>(row));
  }
  if (sorted_by_ >= columns_.size()) return;
  const auto by = keys(sorted_by_);
  std::vector<std::pair<std::uint64_t, std::uint32_t>> pairs;
  pairs.reserve(shown_.size());
  for (const auto row : shown_) pairs.emplace_back(by[row], row);
  std::sort(pairs.begin(), pairs.end());
  for (std::size_t i = 0; i < pairs.size(); ++i) shown_[i] = pairs[i].second;
}

std::string Table::cell(std::size_t row, std::size_t column) const {
  const auto& data = data_[column];
  if (columns_[column].kind == CellKind::kText) return data.texts[data.cells[row]];
  const auto value = interval(row, column);
  if (std::isnan(value.value)) return kNotKnown;
  return columns_[column].show != nullptr ? columns_[column].show(value) : std::to_string(value.value);
}

std::string_view Table::text(std::size_t row, std::size_t column) const {
  return data_[column].texts[data_[column].cells[row]];
}

double Table::number(std::size_t row, std::size_t column) const {
  return data_[column].values[row];
}

Interval Table::interval(std::size_t row, std::size_t column) const {
  const auto& data = data_[column];
  if (columns_[column].kind == CellKind::kInterval) return {data.values[row], data.low[row], data.high[row]};
  return {data.values[row], kUnknown, kUnknown};
}

std::vector<bool> left_out(const Table& table, std::span<const float> widths, float room) {
  const auto& columns = table.columns();
  std::vector<bool> out(columns.size());
  float wanted = 0;
  for (const float width : widths) wanted += width;
  while (wanted > room) {
    std::size_t next = columns.size();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (out[i] || columns[i].spare == 0 || widths[i] <= 0) continue;
      if (next == columns.size() || columns[i].spare > columns[next].spare) next = i;
    }
    if (next == columns.size()) break;
    out[next] = true;
    wanted -= widths[next];
  }
  // What went before a wider one may fit now.
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (out[i]) left.push_back(i);
  }
  std::stable_sort(left.begin(), left.end(),
                   [&](std::size_t a, std::size_t b) { return columns[a].spare < columns[b].spare; });
  for (const auto i : left) {
    if (wanted + widths[i] > room) continue;
    out[i] = false;
    wanted += widths[i];
  }
  return out;
}

}  // namespace wide::gui
