#pragma once
// A graph as JSON, for programs that are to run the very same model: operators with all their arguments.

#include <nlohmann/json.hpp>

#include "core/ir/graph.h"

namespace wide::app {

/// {"inputs": [{"name", "kind", "target"}], "nodes": [{"op", "arguments", "results"}], "outputs": [{"value",
/// "kind", "target"}]}. Arguments stand in the order of the operator's schema, defaults filled in. A use of a
/// value is {"value": NAME}; constants are JSON's own, or an object with one key: "dtype", "layout",
/// "memory_format", "device", "complex", or "float" for what JSON cannot write. A result that nobody uses is
/// null. Throws wide::Error ("export") for arithmetic on symbolic sizes, which no ATen operator does.
nlohmann::json to_json(const Graph& graph);

}  // namespace wide::app
