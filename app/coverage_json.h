#pragma once
// How a wide model's nodes run, for people and for programs.

#include <nlohmann/json.hpp>
#include <string>

#include "core/model/wide_model.h"

namespace wide::app {

nlohmann::json to_json(const Coverage& coverage);
/// A line of totals, and one for each operator that runs one member after the other.
std::string describe(const Coverage& coverage, std::int64_t members);

}  // namespace wide::app
