// Tests of the command line in this process; as `PROGRAM worker` it is the worker that their sweeps start.
#include <gtest/gtest.h>

#include <string_view>

#include "presets/fake_measure.h"
#include "presets/worker.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "worker")
    return wide::presets::run_worker(wide::test::fake_measure);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
