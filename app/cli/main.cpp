#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "app/cli/cli.h"
#include "app/cli/commands.h"
#include "app/exit_code.h"
#include "app/model_bench.h"
#include "core/run/tensor_memory.h"

namespace {

// Before libraries set themselves up: MKL, in libtorch, ends the process where there is no working directory,
// in words that say nothing of it.
void refuse_deleted_folder() {
  char folder[PATH_MAX];
  if (::getcwd(folder, sizeof folder) != nullptr || errno != ENOENT) return;
  constexpr std::string_view kText =
      "error: the working directory was deleted; change to one that is there\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kText.data(), kText.size());
  ::_exit(wide::app::kExitUsage);
}

[[gnu::section(".preinit_array"), gnu::used]] void (*const first)() = &refuse_deleted_folder;

}  // namespace

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
