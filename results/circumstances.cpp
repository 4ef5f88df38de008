// Circumstances as JSON: in reports, and in one column of the database.
#include <cmath>
#include <limits>
#include <set>

#include "formats/error.h"
#include "results/record.h"
#include "results/text.h"

namespace wide::results {
namespace {

using nlohmann::json;

class Fields {
 public:
  explicit Fields(const json& from) : from_(from) {
    if (!from.is_object()) refuse("they are no object");
  }
  void text(const char* name, std::string& into) {
    if (const auto* one = find(name, [](const json& j) { return j.is_string(); }))
      into = one->get<std::string>();
  }
  void number(const char* name, double& into) {
    if (const auto* one = find(name, [](const json& j) { return j.is_number(); })) into = one->get<double>();
  }
  void count(const char* name, int& into) {
    const auto fits = [](const json& j) {
      return j.is_number_unsigned() &&
             j.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<int>::max()};
    };
    if (const auto* one = find(name, fits)) into = one->get<int>();
  }
  void flag(const char* name, std::optional<bool>& into) {
    if (const auto* one = find(name, [](const json& j) { return j.is_boolean(); })) into = one->get<bool>();
  }
  void no_others() const {
    for (const auto& item : from_.items()) {
      if (!known_.contains(item.key())) refuse("there is no such field: '" + item.key() + "'");
    }
  }

 private:
  [[noreturn]] static void refuse(const std::string& why) { throw Error("import", "circumstances: " + why); }
  template <typename Fits>
  const json* find(const char* name, const Fits& fits) {
    known_.insert(name);
    const auto found = from_.find(name);
    if (found == from_.end()) return nullptr;
    if (!fits(*found)) refuse("'" + std::string(name) + "' is not what it should be");
    return &*found;
  }

  const json& from_;
  std::set<std::string> known_;
};

}  // namespace

json to_json(const Circumstances& circumstances) {
  auto result = json::object();
  const auto number = [&](const char* name, double value) {
    if (std::isfinite(value)) result[name] = value;
  };
  const auto text = [&](const char* name, const std::string& value) {
    if (!value.empty()) result[name] = valid_utf8(value);
  };
  const auto count = [&](const char* name, int value) {
    if (value > 0) result[name] = static_cast<unsigned>(value);
  };
  text("disturbed", circumstances.disturbed);
  count("attempts", circumstances.attempts);
  number("steal", circumstances.steal);
  number("others", circumstances.others);
  number("preempted", circumstances.preempted);
  text("regime", circumstances.regime);
  if (circumstances.steady) result["steady"] = *circumstances.steady;
  count("threads", circumstances.threads);
  number("spread", circumstances.spread);
  count("processes", circumstances.processes);
  return result;
}

Circumstances circumstances_from_json(const json& from) {
  Circumstances result;
  Fields fields(from);
  fields.text("disturbed", result.disturbed);
  fields.count("attempts", result.attempts);
  fields.number("steal", result.steal);
  fields.number("others", result.others);
  fields.number("preempted", result.preempted);
  fields.text("regime", result.regime);
  fields.flag("steady", result.steady);
  fields.count("threads", result.threads);
  fields.number("spread", result.spread);
  fields.count("processes", result.processes);
  fields.no_others();
  return result;
}

}  // namespace wide::results
