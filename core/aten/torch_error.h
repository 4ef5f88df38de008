#pragma once
// libtorch's exceptions become ours: one line, with the node that failed.

#include <c10/util/Exception.h>

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <typeinfo>

#include "formats/error.h"

namespace wide {

/// The first line of libtorch's message, without its backtrace.
inline std::string first_line(const c10::Error& error) {
  std::string text = error.what_without_backtrace();
  return text.substr(0, text.find('\n'));
}

/// The machine's memory was at fault.
inline bool is_out_of_memory(const c10::Error& error) {
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error)) return true;
  const auto message = first_line(error);
  return message.find("not enough memory") != std::string::npos ||
         message.find("can't allocate memory") != std::string::npos;
}

/// What libtorch threw in another way than by c10::Error: a number that does not fit its type
/// (std::runtime_error itself), a size that is none. Not what is derived from it, which is somebody else's.
inline bool is_plain(const std::exception& error) {
  return typeid(error) == typeid(std::runtime_error) || typeid(error) == typeid(std::length_error) ||
         typeid(error) == typeid(std::out_of_range) || typeid(error) == typeid(std::invalid_argument);
}

/// Runs `body`; a c10::Error becomes wide::Error(stage, where() + ": " + message). Running out of memory
/// stays std::bad_alloc-like: the allocator's message is kept and std::bad_alloc is thrown.
template <typename Where, typename Body>
void with_torch_errors(const char* stage, Where where, Body body) {
  try {
    body();
  } catch (const c10::Error& error) {
    if (is_out_of_memory(error)) throw std::bad_alloc();
    throw Error(stage, where() + ": " + first_line(error));
  } catch (const std::exception& error) {
    if (!is_plain(error)) throw;
    throw Error(stage, where() + ": " + error.what());
  }
}

}  // namespace wide
