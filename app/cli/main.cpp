#include "app/cli/cli.h"
#include "app/cli/commands.h"
#include "app/model_bench.h"

int main(int argc, char** argv) {
  const auto bench = [] { return std::shared_ptr<wide::gui::Bench>(wide::app::model_bench()); };
  return wide::cli::run_main(argc, argv, wide::app::engine(), wide::cli::commands(), bench);
}
