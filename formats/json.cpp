#include "formats/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "formats/fault.h"

namespace wide::formats {
namespace {

using Events = nlohmann::json_sax<nlohmann::json>;

/// Builds the document event by event, so that a limit stops it before memory is spent.
class Builder final : public Events {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return add(std::monostate()); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) override { return false; }  // JSON text has none
  bool start_object(std::size_t) override { return open(Json::Object()); }
  bool start_array(std::size_t) override { return open(Json::Array()); }

  bool key(std::string& name) override {
    std::get<Json::Object>(open_.back()->value).push_back({std::move(name), {}});
    return true;
  }

  bool end_object() override {
    auto& object = std::get<Json::Object>(open_.back()->value);
    std::ranges::sort(object, {}, &Json::Member::key);
    const auto twin = std::ranges::adjacent_find(object, {}, &Json::Member::key);
    if (twin != object.end())
      throw Fault("key " + quote(twin->key) + " stands twice in one JSON object; re-save the file");
    return end_array();
  }
  bool end_array() override {
    open_.pop_back();
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    const std::string_view text = error.what();
    const std::string at = " at byte " + std::to_string(position);
    if (text.find("UTF-8") != std::string_view::npos)
      throw Fault("invalid UTF-8 in JSON" + at + "; re-save the file");
    if (error.id == kNumberOutOfRange)
      throw Fault("a number out of range in JSON" + at + "; re-save the file");
    throw Fault("not valid JSON" + at + "; re-save the file");
  }

  Json take() { return std::move(root_); }

 private:
  static constexpr int kNumberOutOfRange = 406;

  template <class Value>
  Json* place(Value&& value) {
    if (++values_ > limits_.values)
      throw Fault("more than " + std::to_string(limits_.values) +
                  " JSON values; the file is too large for this program");
    Json* slot = &root_;
    if (!open_.empty()) {
      if (auto* array = std::get_if<Json::Array>(&open_.back()->value)) {
        slot = &array->emplace_back();
      } else {
        slot = &std::get<Json::Object>(open_.back()->value).back().value;
      }
    }
    slot->value = std::forward<Value>(value);
    return slot;
  }
  template <class Value>
  bool add(Value&& value) {
    place(std::forward<Value>(value));
    return true;
  }
  template <class Container>
  bool open(Container container) {
    if (open_.size() >= limits_.depth)
      throw Fault("JSON nested deeper than " + std::to_string(limits_.depth) + " levels; re-save the file");
    open_.push_back(place(std::move(container)));
    return true;
  }

  const JsonLimits& limits_;
  Json root_;
  std::vector<Json*>
      open_;  // containers from the root to the one being filled; stable, for only the last one grows
  std::size_t values_ = 0;
};

[[noreturn]] void wrong_type(const Json& value, std::string_view what, std::string_view wanted) {
  static constexpr std::array kTypes = {"null",     "a boolean", "an integer", "an integer",
                                        "a number", "a string",  "an array",   "an object"};
  throw Fault(std::string(what) + " is " + kTypes[value.value.index()] + " where " + std::string(wanted) +
              " is needed");
}

template <class Type>
const Type& as(const Json& json, std::string_view what, std::string_view wanted) {
  if (const auto* value = std::get_if<Type>(&json.value)) return *value;
  wrong_type(json, what, wanted);
}

}  // namespace

Json parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.bytes)
    throw Fault("JSON of " + std::to_string(text.size()) + " bytes, more than the limit of " +
                std::to_string(limits.bytes));
  // The library takes a NUL for the end of the text and skips a byte order mark; both are faults here.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos)
    throw Fault("not valid JSON at byte " + std::to_string(nul + 1) + " (a NUL); re-save the file");
  if (text.starts_with("\xEF\xBB\xBF")) throw Fault("JSON begins with a byte order mark; re-save the file");
  Builder builder(limits);
  nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &builder);
  return builder.take();
}

const Json* optional_member(const Json& object, std::string_view key) {
  if (!std::holds_alternative<Json::Object>(object.value))
    wrong_type(object, "the value around key " + quote(key), "an object");
  const auto& members = std::get<Json::Object>(object.value);
  const auto found = std::ranges::lower_bound(members, key, {}, &Json::Member::key);
  if (found == members.end() || found->key != key) return nullptr;
  return std::holds_alternative<std::monostate>(found->value.value) ? nullptr : &found->value;
}

const Json& member(const Json& object, std::string_view key) {
  if (const Json* found = optional_member(object, key)) return *found;
  throw Fault("key " + quote(key) + " is missing; re-save the file");
}

const std::string* text_if(const Json* value) {
  return value ? std::get_if<std::string>(&value->value) : nullptr;
}

const Json::Object& as_object(const Json& value, std::string_view what) {
  return as<Json::Object>(value, what, "an object");
}

const Json::Array& as_array(const Json& value, std::string_view what) {
  return as<Json::Array>(value, what, "an array");
}

const std::string& as_text(const Json& value, std::string_view what) {
  return as<std::string>(value, what, "a string");
}

bool as_boolean(const Json& value, std::string_view what) {
  return as<bool>(value, what, "true or false");
}

std::uint64_t as_natural(const Json& value, std::string_view what) {
  return as<std::uint64_t>(value, what, "a natural number");
}

std::int64_t as_integer(const Json& value, std::string_view what) {
  if (const auto* negative = std::get_if<std::int64_t>(&value.value)) return *negative;
  const std::uint64_t number = as<std::uint64_t>(value, what, "an integer");
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    throw Fault(std::string(what) + " is " + std::to_string(number) + ", beyond 64-bit integers");
  return static_cast<std::int64_t>(number);
}

bool is_beyond_integers(const Json& value) {
  if (const auto* number = std::get_if<double>(&value.value)) return std::abs(*number) >= 0x1p63;
  const auto* number = std::get_if<std::uint64_t>(&value.value);
  return number && *number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
}

double as_real(const Json& value, std::string_view what) {
  if (const auto* number = std::get_if<double>(&value.value)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&value.value)) return static_cast<double>(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&value.value)) return static_cast<double>(*number);
  const std::string& text = as<std::string>(value, what, "a number");
  if (text == "Infinity") return std::numeric_limits<double>::infinity();
  if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  wrong_type(value, what, "a number");
}

Tagged as_tagged(const Json& value, std::string_view what) {
  const auto* object = std::get_if<Json::Object>(&value.value);
  if (!object || object->size() != 1)
    throw Fault(std::string(what) + " is not an object with exactly one key; re-save the file");
  return {object->front().key, object->front().value};
}

}  // namespace wide::formats
