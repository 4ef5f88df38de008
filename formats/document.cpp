#include "formats/document.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "formats/fault.h"

namespace wide::formats {
namespace {

/// Builds the document from the parser's events (the SAX interface of nlohmann::json); true goes on.
class DocumentBuilder {
 public:
  using json = nlohmann::json;

  DocumentBuilder(std::string_view text, const PassOn& pass_on) : text_(text), pass_on_(pass_on) {}

  json take() { return std::move(document_); }

  bool null() { return put(nullptr); }
  bool boolean(bool value) { return put(value); }
  bool number_integer(json::number_integer_t value) { return put(value); }
  bool number_unsigned(json::number_unsigned_t value) { return put(value); }
  bool number_float(json::number_float_t value, const std::string&) { return put(value); }
  bool string(std::string& value) { return put(std::move(value)); }
  bool binary(json::binary_t&) { return false; }  // not in JSON text

  bool start_object(std::size_t) { return open(json::value_t::object); }
  bool end_object() { return close(); }
  bool start_array(std::size_t) { return open(json::value_t::array); }
  bool end_array() { return close(); }

  bool key(std::string& name) {
    auto& fields = open_.back()->get_ref<json::object_t&>();
    const auto [at, is_new] = fields.try_emplace(std::move(name));
    if (!is_new) throw Fault("the key " + quote(at->first) + " stands twice in one object; keep one");
    if (open_.size() == 1) is_passed_on_ = pass_on_.element && at->first == pass_on_.key;
    member_ = &at->second;
    return true;
  }

  template <typename Problem>
  bool parse_error(std::size_t position, const std::string&, const Problem&) {
    refuse(position);
  }

  [[noreturn]] void refuse(std::size_t position) const {
    const auto before = text_.substr(0, position);
    throw Fault("line " + std::to_string(1 + std::count(before.begin(), before.end(), '\n')) +
                ": no valid JSON (byte " + std::to_string(position) +
                "); check commas, quotes and brackets there");
  }

 private:
  template <typename Value>
  bool put(Value&& value) {
    next() = std::forward<Value>(value);
    pass_on();
    return true;
  }

  bool open(json::value_t type) {
    if (open_.size() == kDeepestDocument)
      throw Fault("nested deeper than " + std::to_string(kDeepestDocument) + " levels; no file of ours is");
    json& made = next() = json(type);
    open_.push_back(&made);
    return true;
  }

  bool close() {
    open_.pop_back();
    pass_on();
    return true;
  }

  /// What was just finished goes on, when it is an element to be passed on.
  void pass_on() {
    if (!is_passed_on_ || open_.size() != 2 || !open_.back()->is_array()) return;
    auto& elements = open_.back()->get_ref<json::array_t&>();
    pass_on_.element(std::move(elements.back()));
    elements.clear();
  }

  /// Where the next value goes. Containers that are open do not move: only the innermost one grows.
  json& next() {
    if (open_.empty()) return document_;
    if (open_.back()->is_object()) return *member_;
    return open_.back()->get_ref<json::array_t&>().emplace_back();
  }

  std::string_view text_;
  const PassOn& pass_on_;
  json document_;
  bool is_passed_on_ = false;  ///< in the top object's field whose elements are
  std::vector<json*> open_;
  json* member_ = nullptr;  ///< of the innermost object, when its value comes next
};

}  // namespace

nlohmann::json parse_document(std::string_view text, const PassOn& pass_on) {
  DocumentBuilder builder(text, pass_on);
  // The library takes a NUL for the end of the text.
  if (const auto nul = text.find('\0'); nul != text.npos) builder.refuse(nul + 1);
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace wide::formats
