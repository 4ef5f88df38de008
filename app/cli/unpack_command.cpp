// widebench unpack: a packed file as the checkpoints that were packed.
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/context.h"
#include "app/cli/existing_file.h"
#include "app/exit_code.h"
#include "formats/error.h"
#include "formats/packed.h"
#include "results/table.h"

namespace wide::cli {
namespace {

namespace fs = std::filesystem;

struct UnpackArguments {
  std::string file, folder;
  std::vector<std::string> members;
  bool force = false;
};

formats::Packed read_packed(const std::string& file) {
  auto packed = formats::Packed::of(formats::Safetensors::read(file), file);
  if (!packed)
    throw Error("unpack", file + ": is one checkpoint, not a packed file; nothing is to be unpacked");
  return *std::move(packed);
}

// All of them, or those that were named.
std::vector<std::size_t> chosen(const formats::Packed& packed, const UnpackArguments& options) {
  const auto& names = packed.members();
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (options.members.empty() || std::ranges::find(options.members, names[i]) != options.members.end())
      result.push_back(i);
  }
  for (const auto& wanted : options.members) {
    if (std::ranges::find(names, wanted) != names.end()) continue;
    std::string there;
    for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 8); ++i)
      there += (i ? ", " : "") + names[i];
    throw Error("unpack", options.file + ": has no member '" + wanted + "'; there are " +
                              results::printable(there, 400) + (names.size() > 8 ? ", …" : ""));
  }
  return result;
}

int run(const Context& context, const UnpackArguments& options) {
  const auto packed = read_packed(options.file);
  const auto members = chosen(packed, options);
  std::vector<fs::path> files;
  for (const auto i : members) {
    files.push_back(fs::path(options.folder) / (packed.members()[i] + ".safetensors"));
    check_may_write(files.back(), options.force);
    check_not_read(std::array{files.back().string()}, std::array{options.file});
  }
  for (std::size_t k = 0; k < members.size(); ++k) {
    std::error_code failed;
    fs::create_directories(files[k].parent_path(), failed);
    if (failed)
      throw Error("write", files[k].parent_path().string() + ": cannot be made: " + failed.message());
    packed.write_member(members[k], files[k]);
  }
  if (context.json) {
    nlohmann::json document{{"folder", options.folder}, {"files", nlohmann::json::array()}};
    for (const auto& file : files) document["files"].push_back(file.string());
    context.print(document);
  }
  context.human() << files.size() << (files.size() == 1 ? " checkpoint" : " checkpoints") << " written to "
                  << results::printable(options.folder, 4096) << '\n';
  return app::kExitDone;
}

}  // namespace

void add_unpack_command(CLI::App& app, Context& context) {
  const auto options = std::make_shared<UnpackArguments>();
  auto* command =
      app.add_subcommand("unpack", "Write the members of a packed file as the checkpoints that were packed");
  command->add_option("FILE", options->file, "safetensors of `widebench pack`")->required();
  command
      ->add_option("-o,--output", options->folder,
                   "folder to write MEMBER.safetensors into; made when it is not there")
      ->required()
      ->type_name("FOLDER");
  command->add_option("--member", options->members, "this member only; several may be named")
      ->type_name("NAME");
  command->add_flag("--force", options->force, "replace files that are there already");
  add_common_options(*command, context);
  command->footer(examples({"widebench unpack members.safetensors -o members",
                            "widebench unpack members.safetensors -o best --member seed3"}));
  set_action(*command, context, [options, &context] { return run(context, *options); });
}

}  // namespace wide::cli
