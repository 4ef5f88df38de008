// Tests of the command line in this process; as `PROGRAM worker` it is the worker that their sweeps start.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "presets/fake_measure.h"
#include "presets/worker.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "worker") {
    if (argc > 2 && std::string_view(argv[2]) == "--anew") {
      if (const char* bad_plan = std::getenv("FAKE_PLAN")) std::filesystem::remove(bad_plan);
      if (std::getenv("FAKE_PLANNING_DIES") != nullptr) std::_Exit(1);
    }
    const int code = wide::presets::run_worker(wide::test::fake_measure);
    std::fflush(nullptr);
    std::_Exit(code);  // a sanitizer looks for leaks in fake_widebench's workers; here are too many of them
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
