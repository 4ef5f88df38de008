#include "presets/case_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace wide::presets {

nlohmann::json to_json(const profiler::StoppingRule& rule) {
  return {{"min_rounds", rule.min_rounds},       {"max_rounds", rule.max_rounds},
          {"max_seconds", rule.max_seconds},     {"relative_width", rule.relative_width},
          {"min_sample_us", rule.min_sample_us}, {"warmup_seconds", rule.warmup_seconds}};
}

profiler::StoppingRule read_stopping(JsonReader in, profiler::StoppingRule rule) {
  constexpr std::int64_t kMostRounds = 10'000'000;
  constexpr double kLongestSeconds = 86400;
  if (const auto value = in.find("min_rounds"))
    rule.min_rounds = static_cast<int>(value->integer(1, kMostRounds));
  if (const auto value = in.find("max_rounds"))
    rule.max_rounds = static_cast<int>(value->integer(1, kMostRounds));
  if (const auto value = in.find("max_seconds")) rule.max_seconds = value->number(0.001, kLongestSeconds);
  if (const auto value = in.find("relative_width")) rule.relative_width = value->number(1e-6, 10);
  if (const auto value = in.find("min_sample_us")) rule.min_sample_us = value->number(0, 1e9);
  if (const auto value = in.find("warmup_seconds")) rule.warmup_seconds = value->number(0, kLongestSeconds);
  in.no_other_keys();
  if (rule.max_rounds < rule.min_rounds) in.fail("max_rounds is less than min_rounds");
  return rule;
}

std::vector<std::string> read_names(const JsonReader& in, const std::vector<std::string>& known) {
  std::vector<std::string> names;
  if (in.json().is_array() && in.json().empty()) return names;
  for (const auto& element : in.elements()) {
    auto name = element.one_of(known);
    if (std::find(names.begin(), names.end(), name) != names.end())
      element.fail("\"" + name + "\" stands twice");
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace wide::presets
