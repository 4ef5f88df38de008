#include "results/json_fields.h"

#include "results/text.h"

namespace wide::results {

using nlohmann::json;

std::string dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
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
  facts.physical_cores = document.value("physical_cores", 0);
  facts.logical_cores = document.value("logical_cores", 0);
  for (const json& cache : document.value("caches", json::array())) {
    facts.caches.push_back({cache.value("name", ""), cache.value("bytes", std::uint64_t{0})});
  }
  facts.isa = document.value("isa", std::vector<std::string>{});
  facts.memory_bytes = document.value("memory_bytes", std::uint64_t{0});
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
