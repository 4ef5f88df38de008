#pragma once
// One value of a record by its names: what a list of fields (case_record.h) says of each.

#include <concepts>
#include <string_view>
#include <type_traits>

#include "profiler/statistics.h"

namespace wide::results {

struct Field {
  std::string_view column;   ///< in the database and in CSV; of Limits both, with a comma between
  std::string_view json;     ///< in a report
  std::string_view object;   ///< in which object of the report's record; empty: in the record itself
  bool is_needed = false;    ///< a report without it is refused
  bool is_compared = false;  ///< compare() looks at it
  bool is_in_csv = true;
  bool is_metric = false;

  constexpr explicit Field(std::string_view name) : column(name), json(name) {}
  constexpr Field(std::string_view in_database, std::string_view in_report)
      : column(in_database), json(in_report) {}

  constexpr Field in(std::string_view name) const { return with(&Field::object, name); }
  constexpr Field needed() const { return with(&Field::is_needed, true); }
  constexpr Field compared() const { return with(&Field::is_compared, true); }
  constexpr Field not_in_csv() const { return with(&Field::is_in_csv, false); }
  /// A figure that older databases do not have. Its column has no default, and NULL goes into no sum, so that
  /// theirs hold; a report has it in "metrics", CSV in a column at the end.
  constexpr Field metric() const { return with(&Field::is_metric, true).in("metrics"); }

 private:
  template <typename Value>
  constexpr Field with(Value Field::*member, Value value) const {
    Field field = *this;
    field.*member = value;
    return field;
  }
};

/// The ends of an interval, as one field.
template <typename Number>
struct Limits {
  Number& low;
  Number& high;
};
template <typename>
inline constexpr bool is_limits = false;
template <typename Number>
inline constexpr bool is_limits<Limits<Number>> = true;

inline Limits<double> limits(profiler::Interval& interval) {
  return {interval.low, interval.high};
}
inline Limits<const double> limits(const profiler::Interval& interval) {
  return {interval.low, interval.high};
}

/// `Type` or const `Type`.
template <typename Given, typename Type>
concept RecordOf = std::same_as<std::remove_const_t<Given>, Type>;

}  // namespace wide::results
