#pragma once
// The reading of trace JSON, event by event, without building a tree of a file that may hold millions.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "formats/error.h"

namespace wide::profiler {

/// One element of traceEvents, as far as it is read. Numbers absent: NaN or -1; texts absent: "".
struct RawEvent {
  char phase = 0;
  std::string category, name;
  std::int64_t pid = 0, tid = 0;  ///< texts become numbers below -1, the same text the same number
  double ts = std::numeric_limits<double>::quiet_NaN();  ///< microseconds
  double dur = 0;                                        ///< microseconds; absent: 0
  // args
  std::string kind, label;  ///< "kind" and "name"
  std::int64_t correlation = 0, external = 0, stream = -1, device = -1;
  std::int64_t node = -1, member = -1, members = 0, pass = -1;
  bool conversion = false;
  double value = 0;  ///< of a counter, or "Total Allocated" of Kineto's memory events
};

/// Takes nlohmann's events apart. Everything beside traceEvents is small and goes into `head`.
class ChromeSax final : public nlohmann::json_sax<nlohmann::json> {
 public:
  using Event = std::function<void(const RawEvent&)>;
  ChromeSax(std::size_t depth, Event event) : depth_limit_(depth), event_(std::move(event)) {}

  /// The file's other members: baseTimeNanoseconds, deviceProperties, widebench.
  const nlohmann::json& head() const { return head_; }
  bool saw_events() const { return saw_events_; }

  bool null() override;
  bool boolean(bool value) override;
  bool number_integer(std::int64_t value) override;
  bool number_unsigned(std::uint64_t value) override;
  bool number_float(double value, const std::string& text) override;
  bool string(std::string& value) override;
  bool binary(nlohmann::json::binary_t& value) override;
  bool start_object(std::size_t size) override;
  bool key(std::string& text) override;
  bool end_object() override;
  bool start_array(std::size_t size) override;
  bool end_array() override;
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& error) override;

 private:
  enum class Where : std::uint8_t { kHead, kEvents, kEvent, kArguments, kSkip };
  void enter(bool object);
  void leave();
  void number(double value, std::int64_t integer);
  std::int64_t text_id(const std::string& text);
  template <typename Value>
  void put(Value&& value);

  std::size_t depth_limit_;
  Event event_;
  nlohmann::json head_;
  std::vector<nlohmann::json*> open_;  ///< containers of the head that are not closed yet
  std::vector<Where> where_;
  std::string key_;
  RawEvent current_;
  bool saw_events_ = false;
  std::map<std::string, std::int64_t> texts_;
};

}  // namespace wide::profiler
