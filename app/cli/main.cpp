#include <cstdio>
#include <cstdlib>

#include "app/cli/cli.h"
#include "app/cli/commands.h"
#include "app/model_bench.h"
#include "core/run/tensor_memory.h"

int main(int argc, char** argv) {
  wide::use_tensor_memory();  // before any tensor is made
  const auto bench = [](const std::string& device) {
    return std::shared_ptr<wide::gui::Bench>(wide::app::model_bench(device));
  };
  const int code = wide::cli::run_main(argc, argv, wide::app::engine(), wide::cli::commands(), bench);
  // A quarter of the time of a short command would go to libtorch, which takes its tables apart. What must be
  // tidied up, files and processes, belongs to objects that are gone by now.
  std::fflush(nullptr);
  std::_Exit(code);
}
