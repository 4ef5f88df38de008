// widebench gui: the window. It lies in libwide_window.so, which is opened only when it is asked for.
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "app/cli/values.h"
#include "app/cli/window_options.h"
#include "app/exit_code.h"
#include "presets/case_fields.h"

namespace wide::cli {

void add_gui_command(CLI::App& app, Context& context) {
  const auto options = std::make_shared<WindowRequest>();
  auto* command =
      app.add_subcommand("gui", "Open the window, with a model and checkpoints or a built-in subject");
  command->add_option("FILE|NAME", options->what,
                      "models, checkpoints, folders of them; or one built-in subject");
  command->add_option("--db", options->database, "Database; default $XDG_DATA_HOME/widebench/results.db")
      ->type_name("FILE");
  command->add_option("--device", options->device, "Where models run: cpu, cuda or auto (default)")
      ->check(CLI::IsMember(presets::kDevices));
  add_window_options(*command, *options);
  add_common_options(*command, context, /*json_flag=*/false);
  command->footer(
      examples({"widebench gui", "widebench gui resblock", "widebench gui m.pt2 s*.safetensors",
                "widebench gui --screenshot out.png --window-size 1280x800 --open graph --demo"}));
  set_action(*command, context, [options, &context] { return open_window(context, *options); });
}

}  // namespace wide::cli
