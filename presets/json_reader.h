#pragma once
// Strict reading of JSON settings: every error names the file and the JSON path, and a key not asked for is
// one.

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace wide::presets {

/// A JSON value together with where it stands. Objects remember which keys were asked for.
class JsonReader {
 public:
  /// `json` must outlive the reader; `file` is the name shown in errors.
  JsonReader(const nlohmann::json& json, std::string file, std::string path = "$")
      : json_(json), file_(std::move(file)), path_(std::move(path)) {}

  /// Throws wide::Error ("preset"): `file: path: message`.
  [[noreturn]] void fail(const std::string& message) const;

  std::string string() const;                                 ///< not empty, no control characters
  std::string file_name() const;                              ///< not empty, no NUL: what a path may be
  std::string one_of(const std::vector<std::string>&) const;  ///< a string out of a list
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  double number(double least, double most) const;  ///< finite, within [least, most]
  const nlohmann::json& json() const { return json_; }

  /// Members of an object; asking marks the key as known.
  std::optional<JsonReader> find(std::string_view key);
  JsonReader at(std::string_view key);  ///< throws where the key is absent
  /// Elements of an array, which must not be empty; a value that is no array counts as an array of one.
  std::vector<JsonReader> elements() const;
  /// All members of an object, in the order of their names, with their keys.
  std::vector<std::pair<std::string, JsonReader>> members() const;
  /// Throws where an object has a key that nobody asked for.
  void no_other_keys() const;

 private:
  void expect_object() const;
  const nlohmann::json& json_;
  std::string file_;
  std::string path_;
  std::set<std::string, std::less<>> known_;
};

/// formats::parse_document() with faults as wide::Error ("preset") that name `file`.
nlohmann::json parse_json(std::string_view text, const std::string& file);

}  // namespace wide::presets
