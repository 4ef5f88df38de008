#pragma once
// The open model behind the window's panels, from libtorch and core.

#include <memory>
#include <string>

#include "app/bench.h"

namespace wide::app {

/// Models are built and run on the device, as open_device names it.
std::unique_ptr<gui::Bench> model_bench(const std::string& device = "cpu");

}  // namespace wide::app
