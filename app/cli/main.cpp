#include "app/cli/cli.h"
#include "app/cli/commands.h"
#ifdef WIDEBENCH_GUI
#include "app/model_bench.h"
#endif

int main(int argc, char** argv) {
#ifdef WIDEBENCH_GUI
  const auto bench = [] { return std::shared_ptr<wide::gui::Bench>(wide::app::model_bench()); };
#else
  const std::function<std::shared_ptr<wide::gui::Bench>()> bench;
#endif
  return wide::cli::run_main(argc, argv, wide::app::engine(), wide::cli::commands(), bench);
}
