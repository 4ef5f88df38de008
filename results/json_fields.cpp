#include "results/json_fields.h"

#include <cmath>
#include <limits>
#include <ostream>

#include "formats/error.h"
#include "results/text.h"

namespace wide::results {

using nlohmann::json;

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

namespace {

/// A whole number of a type, 0 for a missing one. Throws wide::Error for all else: to convert what does not
/// fit is undefined.
template <typename Number>
Number whole(const json& document, const char* name) {
  const auto found = document.find(name);
  if (found == document.end()) return 0;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  const bool positive = found->is_number_unsigned() || (found->is_number_integer() && *found >= 0);
  if (positive && found->get<std::uint64_t>() <= kMost)
    return static_cast<Number>(found->get<std::uint64_t>());
  throw Error("import", std::string("'") + name + "' is no whole number that it may be");
}

}  // namespace

json finite(double value) {
  return std::isfinite(value) ? json(value) : json();
}

json interval_json(const profiler::Interval& interval) {
  return {{"value", finite(interval.value)}, {"ci95", {finite(interval.low), finite(interval.high)}}};
}

void write_object(std::ostream& out, const json& fields, std::string_view key, std::size_t count,
                  const std::function<json(std::size_t)>& element) {
  auto text = fields.dump(2, ' ', false, json::error_handler_t::replace);
  text.resize(text.size() - 2);  // "\n}"
  out << text << ",\n  \"" << key << "\": [";
  for (std::size_t i = 0; i < count; ++i) out << (i == 0 ? "\n    " : ",\n    ") << dump(element(i));
  out << (count == 0 ? "]\n}" : "\n  ]\n}");
}

json facts_json(const profiler::Facts& facts) {
  json caches = json::array();
  for (const auto& cache : facts.caches)
    caches.push_back({{"name", valid_utf8(cache.name)}, {"bytes", cache.bytes}});
  json isa = json::array();
  for (const auto& flag : facts.isa) isa.push_back(valid_utf8(flag));
  json extra = json::object();
  for (const auto& [name, value] : facts.extra) extra[valid_utf8(name)] = valid_utf8(value);
  return {{"cpu", valid_utf8(facts.cpu)},
          {"physical_cores", facts.physical_cores},
          {"logical_cores", facts.logical_cores},
          {"caches", std::move(caches)},
          {"isa", std::move(isa)},
          {"memory_bytes", facts.memory_bytes},
          {"os", valid_utf8(facts.os)},
          {"kernel", valid_utf8(facts.kernel)},
          {"compiler", valid_utf8(facts.compiler)},
          {"extra", std::move(extra)}};
}

profiler::Facts facts_from_json(const json& document) {
  profiler::Facts facts;
  facts.cpu = document.value("cpu", "");
  facts.physical_cores = whole<int>(document, "physical_cores");
  facts.logical_cores = whole<int>(document, "logical_cores");
  for (const json& cache : document.value("caches", json::array())) {
    facts.caches.push_back({cache.value("name", ""), whole<std::uint64_t>(cache, "bytes")});
  }
  facts.isa = document.value("isa", std::vector<std::string>{});
  facts.memory_bytes = whole<std::uint64_t>(document, "memory_bytes");
  facts.os = document.value("os", "");
  facts.kernel = document.value("kernel", "");
  facts.compiler = document.value("compiler", "");
  facts.extra = document.value("extra", std::map<std::string, std::string>{});
  return facts;
}

json environment_json(const std::map<std::string, std::string>& environment) {
  json document = json::object();
  for (const auto& [name, value] : environment) document[valid_utf8(name)] = valid_utf8(value);
  return document;
}

std::map<std::string, std::string> environment_from_json(const json& document) {
  return document.get<std::map<std::string, std::string>>();
}

}  // namespace wide::results
