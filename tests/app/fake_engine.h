#pragma once
// An engine without libtorch: a few subjects, one device that works and one that does not.

#include "app/engine.h"

namespace wide::test {

app::Engine fake_engine();

}  // namespace wide::test
