#pragma once
// Wide models by number, and errors as Python takes them apart.

#include <wide/model.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace wide::python {

[[noreturn]] inline void raise(const std::string& stage, const std::string& message) {
  throw std::runtime_error("widebench [" + stage + "] " + message);
}

template <typename Body>
auto with_errors(Body body) {
  try {
    return body();
  } catch (const widebench::Error& error) {
    std::string message = error.what();
    // Python knows where the members came from, and what they are now.
    if (error.stage() == "stale") message = message.substr(0, message.rfind(';')) + "; call refresh()";
    raise(error.stage(), message);
  }
}

std::int64_t keep(widebench::WideModel model);
/// The model, which lives while the pointer does. Raises for a number that is not known.
std::shared_ptr<widebench::WideModel> find(std::int64_t handle);
void forget(std::int64_t handle);
std::int64_t models_alive();

}  // namespace wide::python
