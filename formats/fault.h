#pragma once
// How the parsers of this folder report: a fault is thrown where it is seen, and the levels above add the
// place.

#include <filesystem>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "formats/error.h"

namespace wide::formats {

/// What is wrong, and what to try, without the file: `naming_file` adds that at the library's border.
class Fault : public Error {
 public:
  explicit Fault(const std::string& message) : Error("load", message) {}
};

/// `text` from a file, made fit for one line of a terminal: quoted, control bytes and non-ASCII as \xNN, at
/// most 120 bytes.
std::string quote(std::string_view text);

/// Runs `body`; a Fault leaves with "`place()`: " in front. `place` is only called then.
template <class Place, class Body>
decltype(auto) within(const Place& place, const Body& body) {
  try {
    return body();
  } catch (const Fault& fault) {
    throw Fault(std::string(place()) + ": " + fault.what());
  }
}

/// Runs `body`; a Fault or lack of memory leaves as wide::Error of `stage`, naming `file`.
template <class Body>
decltype(auto) naming_file(const char* stage, std::string_view file, const Body& body) {
  try {
    return body();
  } catch (const Fault& fault) {
    throw Error(stage, std::string(file) + ": " + fault.what());
  } catch (const std::bad_alloc&) {
    throw Error(
        stage, std::string(file) + ": not enough memory to hold the file; free memory or use a smaller file");
  }
}

/// The path as it may stand in a message: as given, unless it holds bytes that a terminal must not see.
std::string display_name(const std::filesystem::path& path);

}  // namespace wide::formats
