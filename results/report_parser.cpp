#include "results/report_parser.h"

#include <utility>
#include <vector>

#include "formats/error.h"
#include "results/table.h"

namespace wide::results {
namespace {

constexpr std::size_t kMaxReportDepth = 64;

/// Builds the document from the parser's events (the SAX interface of nlohmann::json); true goes on.
class DocumentBuilder {
 public:
  using json = nlohmann::json;

  explicit DocumentBuilder(const std::function<void(json&&)>& on_case) : on_case_(on_case) {}

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
    if (!is_new) throw Error("import", "an object has the field '" + printable(at->first) + "' twice");
    if (open_.size() == 1) in_cases_ = at->first == "cases";
    member_ = &at->second;
    return true;
  }

  template <typename Fault>
  bool parse_error(std::size_t, const std::string&, const Fault& fault) {
    throw fault;
  }

 private:
  template <typename Value>
  bool put(Value&& value) {
    next() = std::forward<Value>(value);
    pass_on();
    return true;
  }

  bool open(json::value_t type) {
    json& made = next() = json(type);
    open_.push_back(&made);
    return true;
  }

  bool close() {
    open_.pop_back();
    pass_on();
    return true;
  }

  /// What was just finished goes on, when it is a case.
  void pass_on() {
    if (!in_cases_ || open_.size() != 2 || !open_.back()->is_array()) return;
    auto& cases = open_.back()->get_ref<json::array_t&>();
    on_case_(std::move(cases.back()));
    cases.clear();
  }

  /// Where the next value goes. Containers that are open do not move: only the innermost one grows.
  json& next() {
    if (open_.empty()) return document_;
    if (open_.size() > kMaxReportDepth)
      throw Error("import", "nested deeper than 64 levels, which no report is");
    if (open_.back()->is_object()) return *member_;
    return open_.back()->get_ref<json::array_t&>().emplace_back();
  }

  const std::function<void(json&&)>& on_case_;
  json document_;
  bool in_cases_ = false;  ///< in the top object's field "cases"
  std::vector<json*> open_;
  json* member_ = nullptr;  ///< of the innermost object, when its value comes next
};

}  // namespace

nlohmann::json parse_report(const std::string& text, const std::function<void(nlohmann::json&&)>& on_case) {
  DocumentBuilder builder(on_case);
  nlohmann::json::sax_parse(text, &builder);
  return builder.take();
}

}  // namespace wide::results
