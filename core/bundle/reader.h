#pragma once
// JSON documents of strangers: what is wanted of them, or an error that names file and key.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "formats/error.h"

namespace wide {

class Reader {
 public:
  /// Errors are of `stage`, name `where` and end with `advice`.
  Reader(std::string stage, std::string_view where, std::string advice)
      : stage_(std::move(stage)), where_(where), advice_(std::move(advice)) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(stage_, where_ + ": " + what + "; " + advice_);
  }

  const nlohmann::json& get(const nlohmann::json& from, const char* key, nlohmann::json::value_t type) const {
    const auto found = from.is_object() ? from.find(key) : from.end();
    const bool wants_integer = type == nlohmann::json::value_t::number_integer;
    if (found == from.end() || (found->type() != type && !(wants_integer && found->is_number_integer())))
      fail("\"" + std::string(key) + "\" is missing or of the wrong kind");
    return *found;
  }
  std::int64_t integer(const nlohmann::json& from, const char* key, std::int64_t least,
                       std::int64_t most) const {
    const auto& found = get(from, key, nlohmann::json::value_t::number_integer);
    const bool beyond = found.is_number_unsigned() && found.get<std::uint64_t>() > INT64_MAX;
    const auto value = beyond ? INT64_MAX : found.get<std::int64_t>();
    if (beyond || value < least || value > most)
      fail("\"" + std::string(key) + "\" is " + found.dump() + ", not in " + std::to_string(least) + "…" +
           std::to_string(most));
    return value;
  }
  std::string text(const nlohmann::json& from, const char* key) const {
    return get(from, key, nlohmann::json::value_t::string).get<std::string>();
  }
  void check_version(const nlohmann::json& document, int known) const {
    const auto version = integer(document, "schema_version", 1, INT32_MAX);
    if (version != known)
      fail("is of version " + std::to_string(version) + ", this program reads " + std::to_string(known));
  }

 private:
  std::string stage_, where_, advice_;
};

}  // namespace wide
