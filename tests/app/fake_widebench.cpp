// The program with a fake engine: what the process tests start, interrupt and kill.
#include "app/fake_widebench.h"

#include "app/cli/cli.h"
#include "app/fake_engine.h"

int main(int argc, char** argv) {
  return wide::cli::run_main(argc, argv, wide::test::fake_engine(), wide::test::fake_commands());
}
