#pragma once
// JSON from untrusted bytes: bounded before it is built, duplicate keys refused, every access checked.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace wide::formats {

/// A JSON value. Plain data, whose destruction allocates nothing: it also works when memory has run out.
struct Json {
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;  ///< sorted by key, each key once
  /// The number of a token without a sign is std::uint64_t, with a sign std::int64_t; neither fits: double.
  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> value;
};

struct Json::Member {
  std::string key;
  Json value;
};

struct JsonLimits {
  std::size_t bytes = std::size_t{256} << 20;
  std::size_t depth = 200;
  std::size_t values = std::size_t{16} << 20;  ///< of any kind; 40 to 72 bytes of memory each, and its text
};

/// Parses RFC 8259 JSON, nothing looser. Throws Fault with the byte position.
Json parse_json(std::string_view text, const JsonLimits& limits = {});

/// The value of `key`, which must be there. Throws Fault when `object` is no object or lacks it.
const Json& member(const Json& object, std::string_view key);

/// The value of `key`, or null where it is absent or `null`. Throws Fault when `object` is no object.
const Json* optional_member(const Json& object, std::string_view key);

/// The text when `value` is a string, else null.
const std::string* text_if(const Json* value);

// The value as the type in the name; `what` names it in the Fault that is thrown otherwise.
const Json::Object& as_object(const Json& value, std::string_view what);
const Json::Array& as_array(const Json& value, std::string_view what);
const std::string& as_text(const Json& value, std::string_view what);
/// Without a sign.
std::uint64_t as_natural(const Json& value, std::string_view what);
std::int64_t as_integer(const Json& value, std::string_view what);
/// An integer of more than 64 bits.
bool is_beyond_integers(const Json& value);
bool as_boolean(const Json& value, std::string_view what);
/// Also the strings "Infinity", "-Infinity" and "NaN", as torch writes them.
double as_real(const Json& value, std::string_view what);

/// A union: an object with exactly one key, its tag. The references live as long as `value`.
struct Tagged {
  const std::string& tag;
  const Json& value;
};
Tagged as_tagged(const Json& value, std::string_view what);

}  // namespace wide::formats
