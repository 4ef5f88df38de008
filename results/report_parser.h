#pragma once
// JSON text of a report from anywhere, as a document that is safe to walk. Only results/ includes this.

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace wide::results {

/// Throws wide::Error ("import"), without a path, when containers are nested deeper than 64 levels, so that
/// whoever walks the document does not run out of stack, and when an object has a field twice, of which each
/// reader would take another; nlohmann::json::exception for what is no JSON.
///
/// Elements of the top field "cases" go to `on_case` as they come, and are left out of the document: what ten
/// thousand of them need as a document is several times the text.
nlohmann::json parse_report(const std::string& text, const std::function<void(nlohmann::json&&)>& on_case);

}  // namespace wide::results
