// widebench pack: the checkpoints of N members as one file of stacked tensors.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "app/cli/context.h"
#include "app/cli/existing_file.h"
#include "app/exit_code.h"
#include "core/aten/torch_bridge.h"
#include "core/frontend/members.h"
#include "core/frontend/torchscript.h"
#include "formats/error.h"
#include "formats/exported_program.h"
#include "formats/fault.h"
#include "formats/file.h"
#include "formats/packed.h"
#include "results/counted.h"
#include "results/table.h"

namespace wide::cli {
namespace {

struct PackArguments {
  std::vector<std::string> files;
  std::string output;
  bool stack_all = false, force = false;
};

// Members and what holds their bytes.
struct MembersToPack {
  std::vector<formats::PackMember> members;
  std::vector<std::shared_ptr<const std::vector<std::byte>>> files;
  std::vector<at::Tensor> tensors;
};

struct Program {
  std::string name, file;
  std::map<std::string, at::Tensor> weights, constants;
};

Program read_program(const std::filesystem::path& file, const std::string& name) {
  if (is_torchscript(file)) {
    throw Error("pack", file.string() + ": is TorchScript; save its state dict as safetensors and pack that");
  }
  Program program{name, file.string(), {}, {}};
  const auto read = formats::read_exported_program(file);
  for (const auto& [fqn, stored] : read.weights) program.weights.emplace(fqn, to_tensor(stored));
  for (const auto& [fqn, stored] : read.constants) program.constants.emplace(fqn, to_tensor(stored));
  return program;
}

bool same_bytes(const at::Tensor& first, const at::Tensor& second) {
  if (first.scalar_type() != second.scalar_type() || first.sizes() != second.sizes()) return false;
  const auto a = first.contiguous(), b = second.contiguous();
  return std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0;
}

bool is_archive(const std::filesystem::path& path) {
  return formats::naming_file("pack", path.string(), [&] {
    const formats::OpenFile file(path);
    const auto first = file.read(0, std::min<std::uint64_t>(4, file.size()));
    return std::string_view(reinterpret_cast<const char*>(first.data()), first.size()) == "PK\3\4";
  });
}

// A program's parameters and persistent buffers, which is what its state dict holds, and `constants` of it,
// which others have otherwise.
void add_program(MembersToPack& all, const Program& program, const std::set<std::string>& constants) {
  formats::PackMember member{program.name, program.file, {}, {}};
  const auto add = [&](const std::string& fqn, const at::Tensor& tensor) {
    all.tensors.push_back(tensor);
    member.entries.push_back(to_entry(fqn, tensor));
  };
  for (const auto& [fqn, tensor] : program.weights) add(fqn, tensor);
  for (const auto& fqn : constants)
    if (const auto own = program.constants.find(fqn); own != program.constants.end()) add(fqn, own->second);
  all.members.push_back(std::move(member));
}

// The constants that not all programs have alike.
std::set<std::string> differing(const std::map<std::size_t, Program>& programs) {
  std::set<std::string> result;
  for (const auto& [i, program] : programs) {
    for (const auto& [fqn, tensor] : program.constants) {
      const auto& first = programs.begin()->second.constants;
      const auto other = first.find(fqn);
      if (other == first.end() || !same_bytes(other->second, tensor)) result.insert(fqn);
    }
  }
  return result;
}

void add_checkpoint(MembersToPack& all, const std::filesystem::path& path, const std::string& name) {
  auto file = formats::Safetensors::read(path);
  all.files.push_back(file.storage());
  if (const auto packed = formats::Packed::of(file, path.string())) {
    for (std::size_t i = 0; i < packed->members().size(); ++i) all.members.push_back(packed->member(i));
    return;
  }
  all.members.push_back({name, path.string(), file.entries(), std::string(file.header())});
}

int run(const Context& context, const PackArguments& options) {
  check_may_write(options.output, options.force);
  const std::vector<std::filesystem::path> files(options.files.begin(), options.files.end());
  const auto names = member_names(files);
  MembersToPack all;
  std::map<std::size_t, Program> programs;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (is_archive(files[i])) programs.emplace(i, read_program(files[i], names[i]));
  const auto constants = differing(programs);
  for (std::size_t i = 0; i < files.size() && !constants.empty(); ++i) {
    if (programs.contains(i)) continue;
    throw Error("pack", files[i].string() +
                            ": is a checkpoint, and the programs beside it differ in the constant '" +
                            *constants.begin() + "', which it lacks; give all members as .pt2");
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (const auto program = programs.find(i); program != programs.end()) {
      add_program(all, program->second, constants);
    } else {
      add_checkpoint(all, files[i], names[i]);
    }
  }
  const auto done = formats::write_packed(options.output, all.members, {.stack_all = options.stack_all});
  if (context.json) {
    nlohmann::json document{{"file", options.output},  {"members", nlohmann::json::array()},
                            {"stacked", done.stacked}, {"once", done.once},
                            {"bytes", done.bytes},     {"bytes_apart", done.bytes_apart}};
    for (const auto& member : all.members) document["members"].push_back(member.name);
    context.print(document);
  }
  context.human() << fmt::format(
      "{}: {} tensors stacked, {} alike in all and kept once; {:.1f} MB, apart {:.1f} MB\nwritten to "
      "{}\n",
      results::counted(all.members.size(), "member"), done.stacked, done.once,
      static_cast<double>(done.bytes) / 1e6, static_cast<double>(done.bytes_apart) / 1e6,
      results::printable(options.output, 4096));
  return app::kExitDone;
}

}  // namespace

void add_pack_command(CLI::App& app, Context& context) {
  const auto options = std::make_shared<PackArguments>();
  auto* command =
      app.add_subcommand("pack", "Put the checkpoints of N members into one file of stacked tensors");
  command
      ->add_option("FILE", options->files,
                   "checkpoints (.safetensors) or exported models (.pt2, with the constants in which they "
                   "differ), one member each, named by file stem; members of a packed file are packed again")
      ->required();
  command->add_option("-o,--output", options->output, "safetensors to write")->required()->type_name("FILE");
  command->add_flag("--stack-all", options->stack_all,
                    "stack also the tensors that all members have alike, which are kept once otherwise");
  command->add_flag("--force", options->force, "replace the output where it is there already");
  add_common_options(*command, context);
  command->footer(
      examples({"widebench pack seed*.safetensors -o members.safetensors",
                "widebench unpack members.safetensors -o members",
                "widebench run --model m.pt2 --weights members.safetensors --inputs in.safetensors "
                "--outputs out.safetensors"}));
  set_action(*command, context, [options, &context] { return run(context, *options); });
}

}  // namespace wide::cli
