#include "presets/json_reader.h"

#include <algorithm>
#include <cmath>

#include "formats/document.h"
#include "formats/error.h"
#include "formats/fault.h"

namespace wide::presets {
namespace {

using Json = nlohmann::json;

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The value as the file has it, cut short: for messages only.
std::string shown(const Json& json) {
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  constexpr std::size_t kLongest = 60;
  return text.size() > kLongest ? text.substr(0, kLongest) + "…" : text;
}

// A key as a step of a JSON path; odd names are quoted.
std::string step(std::string_view key) {
  const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
  return plain ? "." + std::string(key) : "[" + shown(Json(std::string(key))) + "]";
}

}  // namespace

void JsonReader::fail(const std::string& message) const {
  throw Error("preset", file_ + ": " + path_ + ": " + message);
}

std::string JsonReader::file_name() const {
  if (!json_.is_string()) fail("must be a string, is " + shown(json_));
  auto text = json_.get<std::string>();
  if (text.empty()) fail("must not be empty");
  if (text.find('\0') != text.npos) fail("must not hold a NUL");
  return text;
}

std::string JsonReader::string() const {
  auto text = file_name();
  const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  if (std::any_of(text.begin(), text.end(), control)) fail("must not hold control characters");
  return text;
}

std::string JsonReader::one_of(const std::vector<std::string>& names) const {
  auto text = string();
  if (std::find(names.begin(), names.end(), text) == names.end()) {
    fail(shown(json_) + " is not known; use one of " + listed(names));
  }
  return text;
}

std::int64_t JsonReader::integer(std::int64_t least, std::int64_t most) const {
  const bool fits = json_.is_number_unsigned()
                        ? json_.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX)
                        : json_.is_number_integer();
  if (!fits) fail("must be a whole number, is " + shown(json_));
  const auto value = json_.get<std::int64_t>();
  if (value < least || value > most) {
    fail("must lie in " + std::to_string(least) + "…" + std::to_string(most) + ", is " + shown(json_));
  }
  return value;
}

double JsonReader::number(double least, double most) const {
  if (!json_.is_number()) fail("must be a number, is " + shown(json_));
  const double value = json_.get<double>();
  if (!std::isfinite(value) || value < least || value > most) {
    fail("must lie in " + shown(Json(least)) + "…" + shown(Json(most)) + ", is " + shown(json_));
  }
  return value;
}

void JsonReader::expect_object() const {
  if (!json_.is_object()) fail("must be an object, is " + shown(json_));
}

std::optional<JsonReader> JsonReader::find(std::string_view key) {
  expect_object();
  known_.emplace(key);
  const auto found = json_.find(std::string(key));
  if (found == json_.end()) return std::nullopt;
  return JsonReader(*found, file_, path_ + step(key));
}

JsonReader JsonReader::at(std::string_view key) {
  auto found = find(key);
  if (!found) fail("the key \"" + std::string(key) + "\" is missing");
  return *std::move(found);
}

std::vector<JsonReader> JsonReader::elements() const {
  std::vector<JsonReader> result;
  if (!json_.is_array()) {
    result.push_back(*this);
    return result;
  }
  if (json_.empty()) fail("must not be empty");
  for (std::size_t i = 0; i < json_.size(); ++i) {
    result.emplace_back(json_[i], file_, path_ + "[" + std::to_string(i) + "]");
  }
  return result;
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::members() const {
  expect_object();
  std::vector<std::pair<std::string, JsonReader>> result;
  for (const auto& [key, value] : json_.items()) {
    result.emplace_back(key, JsonReader(value, file_, path_ + step(key)));
  }
  return result;
}

void JsonReader::no_other_keys() const {
  expect_object();
  for (const auto& [key, value] : json_.items()) {
    if (known_.contains(key)) continue;
    fail("unknown key " + shown(Json(key)) +
         "; known here: " + listed(std::vector<std::string>(known_.begin(), known_.end())));
  }
}

nlohmann::json parse_json(std::string_view text, const std::string& file) {
  return formats::naming_file("preset", file, [&] { return formats::parse_document(text); });
}

}  // namespace wide::presets
