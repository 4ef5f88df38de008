#pragma once
// The open model behind the window's panels, from libtorch and core.

#include <memory>

#include "app/bench.h"

namespace wide::app {

std::unique_ptr<gui::Bench> model_bench();

}  // namespace wide::app
