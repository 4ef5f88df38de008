#pragma once
// JSON text of strangers as a document of nlohmann::json that is safe to walk, to copy, to print and to
// destroy. Every reader of JSON but those of models and of traces, which build no such document, goes through
// here.

#include <cstddef>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

namespace wide::formats {

/// Containers in containers. What walks a document calls itself for each.
inline constexpr std::size_t kDeepestDocument = 64;

/// The elements of an array in the top object that are not to be held all at once.
struct PassOn {
  std::string_view key;
  std::function<void(nlohmann::json&&)> element;
};

/// Parses RFC 8259 JSON, nothing looser. Throws Fault for what is none, naming the line; when containers are
/// nested deeper than kDeepestDocument, before the deeper ones are built; and when an object has a key twice,
/// of which each reader would take another.
///
/// Elements of the top array `pass_on.key` go to `pass_on.element` as they come, and are left out of the
/// document: what ten thousand of them need as a document is several times the text.
nlohmann::json parse_document(std::string_view text, const PassOn& pass_on = {});

}  // namespace wide::formats
