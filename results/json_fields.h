#pragma once
// JSON of values that both the database and the report keep. Only results/ includes this.

#include <functional>
#include <iosfwd>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "profiler/machine.h"
#include "profiler/statistics.h"

namespace wide::results {

/// One line; invalid UTF-8 becomes U+FFFD, numbers that are not finite become null. Equal values give equal
/// text.
std::string dump(const nlohmann::json& value);

/// null when not finite.
nlohmann::json finite(double value);

/// {"value": …, "ci95": [low, high]}; numbers that are not finite become null.
nlohmann::json interval_json(const profiler::Interval& interval);

/// Writes an object: `fields`, which is one, and after them an array `key` of `count` elements, one a line,
/// which are made as they are written. As one document they would take several times their text.
void write_object(std::ostream& out, const nlohmann::json& fields, std::string_view key, std::size_t count,
                  const std::function<nlohmann::json(std::size_t)>& element);

nlohmann::json facts_json(const profiler::Facts& facts);
/// Throws nlohmann::json::exception when a field has the wrong type, wide::Error for a number that does not
/// fit; missing ones stay unknown.
profiler::Facts facts_from_json(const nlohmann::json& document);

nlohmann::json environment_json(const std::map<std::string, std::string>& environment);
/// Throws nlohmann::json::exception when it is no object of texts.
std::map<std::string, std::string> environment_from_json(const nlohmann::json& document);

}  // namespace wide::results
