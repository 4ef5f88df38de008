// Circumstances as JSON: in reports, and in one column of the database.
#include <limits>
#include <set>

#include "formats/error.h"
#include "results/json_fields.h"
#include "results/record.h"
#include "results/text.h"

namespace wide::results {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& why) {
  throw Error("import", "circumstances: " + why);
}

/// A value as it is written; null: it is not known.
struct Known {
  static json of(const std::string& text) { return text.empty() ? json() : json(valid_utf8(text)); }
  static json of(int count) { return count > 0 ? json(static_cast<unsigned>(count)) : json(); }
  static json of(double number) { return finite(number); }
  static json of(const std::optional<bool>& flag) { return flag ? json(*flag) : json(); }
};

/// Whether a value is one that may be read into the second.
struct Fits {
  static bool into(const json& value, const std::string&) { return value.is_string(); }
  static bool into(const json& value, double) { return value.is_number(); }
  static bool into(const json& value, const std::optional<bool>&) { return value.is_boolean(); }
  static bool into(const json& value, int) {
    return value.is_number_unsigned() && value.get<std::uint64_t>() <= std::numeric_limits<int>::max();
  }
};

}  // namespace

json to_json(const Circumstances& circumstances) {
  auto result = json::object();
  visit_fields(circumstances, [&](const Field& field, const auto& value) {
    if (auto one = Known::of(value); !one.is_null()) result.emplace(field.json, std::move(one));
  });
  return result;
}

Circumstances circumstances_from_json(const json& from) {
  if (!from.is_object()) refuse("they are no object");
  Circumstances result;
  std::set<std::string_view> names;
  visit_fields(result, [&](const Field& field, auto& value) {
    names.insert(field.json);
    const auto found = from.find(field.json);
    if (found == from.end()) return;
    if (!Fits::into(*found, value)) refuse("'" + std::string(field.json) + "' is not what it should be");
    if constexpr (requires { value.has_value(); }) {
      value = found->template get<bool>();
    } else {
      found->get_to(value);
    }
  });
  for (const auto& item : from.items()) {
    if (!names.contains(item.key())) refuse("there is no such field: '" + item.key() + "'");
  }
  return result;
}

}  // namespace wide::results
