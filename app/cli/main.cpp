#include "app/cli/cli.h"
#include "app/cli/commands.h"

int main(int argc, char** argv) {
  return wide::cli::run_main(argc, argv, wide::app::engine(), wide::cli::commands());
}
