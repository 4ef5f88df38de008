#pragma once
// Plans as JSON: saved, edited by hand, loaded.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "core/tune/auto_plan.h"

namespace wide {

/// {"schema_version": 1, "members", "schedule": {"chunk", "workers", "threads"}, "nodes": [{"value",
/// "strategy", "operands": [layout…], "results": [layout…]}…], "rest": […]}
nlohmann::json to_json(const StoredPlan& plan);

/// Throws wide::Error ("plan") naming `where` and what is missing or of the wrong kind.
StoredPlan plan_from_json(const nlohmann::json& json, std::string_view where);

/// Throws wide::Error ("plan") naming the file.
StoredPlan read_plan(const std::filesystem::path& file);
/// Replaces the file as a whole. Throws wide::Error ("plan").
void write_plan(const std::filesystem::path& file, const StoredPlan& plan);

}  // namespace wide
