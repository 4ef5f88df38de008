#pragma once
// What the made-up device tells the made-up driver that it did.

#include <cstdint>

#include "cuda/cupti_api.h"

namespace wide::test {

/// As a Watcher of tests/core/fake_device.h.
void device_did(const char* what, std::int64_t start, std::int64_t end, std::int64_t stream);

/// What the device is given between these is recorded as a CUDA Graph, whose number comes back.
void begin_graph();
int end_graph();
/// What was recorded is launched as a whole. What the device does between these, to play it, is not told of.
void begin_graph_launch();
void end_graph_launch(int graph);

const cuda::CuptiApi& made_up_cupti();

}  // namespace wide::test
