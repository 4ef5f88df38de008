#include "profiler/trace/chrome_sax.h"

#include <cmath>
#include <limits>

namespace wide::profiler {
namespace {

constexpr std::size_t kLongestName = 4096;  // a name longer than that is cut

std::int64_t whole(double value) {
  constexpr double kLargest = 9.2e18;
  return std::abs(value) < kLargest ? static_cast<std::int64_t>(value) : -1;
}

}  // namespace

template <typename Value>
void ChromeSax::put(Value&& value) {
  if (open_.empty()) {
    head_ = std::forward<Value>(value);
  } else if (open_.back()->is_array()) {
    open_.back()->push_back(std::forward<Value>(value));
  } else {
    (*open_.back())[key_] = std::forward<Value>(value);
  }
}

std::int64_t ChromeSax::text_id(const std::string& text) {
  return texts_.emplace(text, -2 - static_cast<std::int64_t>(texts_.size())).first->second;
}

void ChromeSax::enter(bool object) {
  if (where_.size() >= depth_limit_) throw Error("trace", "is nested too deeply");
  const auto outer = where_.empty() ? Where::kHead : where_.back();
  if (where_.empty() && !object) {  // a bare list of events, as older tools write
    saw_events_ = true;
    where_.push_back(Where::kEvents);
  } else if (where_.size() == 1 && outer == Where::kHead && !object && key_ == "traceEvents") {
    saw_events_ = true;
    where_.push_back(Where::kEvents);
  } else if (outer == Where::kHead) {
    put(object ? nlohmann::json::object() : nlohmann::json::array());
    auto* made = open_.empty()              ? &head_
                 : open_.back()->is_array() ? &open_.back()->back()
                                            : &(*open_.back())[key_];
    open_.push_back(made);
    where_.push_back(Where::kHead);
  } else if (outer == Where::kEvents && object) {
    current_ = {};
    where_.push_back(Where::kEvent);
  } else if (outer == Where::kEvent && object && key_ == "args") {
    where_.push_back(Where::kArguments);
  } else {
    where_.push_back(Where::kSkip);
  }
}

void ChromeSax::leave() {
  if (where_.back() == Where::kHead) open_.pop_back();
  if (where_.back() == Where::kEvent) event_(current_);
  where_.pop_back();
}

void ChromeSax::number(double value, std::int64_t integer) {
  if (where_.empty()) return;
  if (where_.back() == Where::kEvent) {
    if (key_ == "ts") current_.ts = value;
    if (key_ == "dur") current_.dur = value;
    if (key_ == "pid") current_.pid = integer;
    if (key_ == "tid") current_.tid = integer;
  } else if (where_.back() == Where::kArguments) {
    if (key_ == "correlation") current_.correlation = integer;
    if (key_ == "External id") current_.external = integer;
    if (key_ == "stream") current_.stream = integer;
    if (key_ == "device") current_.device = integer;
    if (key_ == "node index") current_.node = integer;
    if (key_ == "member") current_.member = integer;
    if (key_ == "members") current_.members = integer;
    if (key_ == "pass") current_.pass = integer;
    if (key_ == "value" || key_ == "Total Allocated") current_.value = value;
  }
}

bool ChromeSax::string(std::string& value) {
  if (value.size() > kLongestName) value.resize(kLongestName);
  if (where_.empty() || where_.back() == Where::kHead) {
    put(value);
  } else if (where_.back() == Where::kEvent) {
    if (key_ == "ph") current_.phase = value.empty() ? '\0' : value[0];
    if (key_ == "cat") current_.category = value;
    if (key_ == "name") current_.name = value;
    if (key_ == "pid") current_.pid = text_id(value);
    if (key_ == "tid") current_.tid = text_id(value);
  } else if (where_.back() == Where::kArguments) {
    if (key_ == "kind") current_.kind = value;
    if (key_ == "name") current_.label = value;
  }
  return true;
}

bool ChromeSax::number_integer(std::int64_t value) {
  if (where_.empty() || where_.back() == Where::kHead) put(value);
  number(static_cast<double>(value), value);
  return true;
}

bool ChromeSax::number_unsigned(std::uint64_t value) {
  if (where_.empty() || where_.back() == Where::kHead) put(value);
  constexpr auto kLargest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  number(static_cast<double>(value), value > kLargest ? -1 : static_cast<std::int64_t>(value));
  return true;
}

bool ChromeSax::number_float(double value, const std::string&) {
  if (where_.empty() || where_.back() == Where::kHead) put(value);
  number(value, whole(value));
  return true;
}

bool ChromeSax::null() {
  if (where_.empty() || where_.back() == Where::kHead) put(nullptr);
  return true;
}

bool ChromeSax::boolean(bool value) {
  if (where_.empty() || where_.back() == Where::kHead) {
    put(value);
  } else if (where_.back() == Where::kArguments && key_ == "conversion") {
    current_.conversion = value;
  }
  return true;
}

bool ChromeSax::binary(nlohmann::json::binary_t&) {
  return true;
}

bool ChromeSax::key(std::string& text) {
  key_.swap(text);
  return true;
}

bool ChromeSax::start_object(std::size_t) {
  enter(true);
  return true;
}

bool ChromeSax::start_array(std::size_t) {
  enter(false);
  return true;
}

bool ChromeSax::end_object() {
  leave();
  return true;
}

bool ChromeSax::end_array() {
  leave();
  return true;
}

bool ChromeSax::parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) {
  throw Error("trace", "is no JSON from byte " + std::to_string(position) + " on");
}

}  // namespace wide::profiler
