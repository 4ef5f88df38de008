#pragma once
// A device beside the CPU, for tests: libtorch's place for backends of others, PrivateUse1. Its operators are
// those of the CPU, but its memory is not the CPU's: whoever reads a tensor's address crashes, and whoever
// mixes its tensors with tensors of the CPU gets an error.

#include "core/aten/device.h"

namespace wide::test {

/// Registers the device at its first call.
ComputeDevice fake_device();

/// How often work was given to a stream other than the current one.
int times_on_another_stream();

}  // namespace wide::test
