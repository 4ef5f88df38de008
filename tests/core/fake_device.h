#pragma once
// A device beside the CPU, for tests: libtorch's place for backends of others, PrivateUse1. Its operators are
// those of the CPU, but its memory is not the CPU's: whoever reads a tensor's address crashes, and whoever
// mixes its tensors with tensors of the CPU gets an error.

#include <cstdint>

#include "core/aten/device.h"

namespace wide::test {

/// Registers the device at its first call.
ComputeDevice fake_device();

/// Told of all that the device does, one after the other; times are of the steady clock, nanoseconds.
using Watcher = void (*)(const char* what, std::int64_t start, std::int64_t end, std::int64_t stream);
void watch_fake_device(Watcher watcher);
/// What the watcher is told of copies.
inline constexpr const char* kCopy = "copy";

/// How often a number was read from there, for which a GPU's work has to end.
int waits_for_numbers();

/// How often work was given to a stream other than the current one.
int times_on_another_stream();

}  // namespace wide::test
