// widebench export: a subject or a user's model, with weights, inputs and outputs, as a folder for other
// programs.
#include <memory>

#include "app/cli/existing_file.h"
#include "app/cli/model_options.h"
#include "app/cli/values.h"
#include "app/exit_code.h"
#include "app/export_folder.h"
#include "app/made_up_inputs.h"
#include "core/aten/torch_bridge.h"
#include "formats/bundle_files.h"
#include "formats/error.h"
#include "presets/zoo/zoo.h"
#include "results/table.h"

namespace wide::cli {
namespace {

struct ExportArguments {
  std::string subject, model, inputs, folder, dtype = "float32";
  std::vector<std::string> weights, sizes;
  std::int64_t members = 4;
  std::uint64_t seed = 0;
  bool force = false;
};

// "batch=8" …
std::map<std::string, std::int64_t> parse_sizes(const std::vector<std::string>& given) {
  std::map<std::string, std::int64_t> sizes;
  for (const auto& text : given) {
    const auto equals = text.find('=');
    const auto digits = equals == std::string::npos ? "" : text.substr(equals + 1);
    if (digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos)
      throw Error("usage", "--size " + text + ": give NAME=NUMBER, as in --size batch=8");
    if (digits.size() > 9)
      throw Error("usage", "--size " + text + ": is too large; sizes have up to 9 digits");
    if (!sizes.emplace(text.substr(0, equals), std::stoll(digits)).second)
      throw Error("usage", "--size " + text + ": " + text.substr(0, equals) + " has a size already");
  }
  return sizes;
}

// Nothing of the user's is replaced unasked, and what is read not at all.
void write(const ExportArguments& options, const app::ExportSource& source, WideModel& model,
           std::span<const ModelInput> inputs) {
  std::vector<std::string> written;
  for (const auto& file : app::exported_files(options.folder, source, model)) {
    check_may_write(file, options.force);
    written.push_back(file.string());
  }
  auto read = source.weights;
  read.insert(read.end(), {options.model, options.inputs});
  check_not_read(written, read);
  app::write_export(options.folder, source, model, inputs);
}

void export_subject(const ExportArguments& options) {
  const auto& subject = zoo::find_subject(options.subject);
  const auto sizes = parse_sizes(options.sizes);
  const auto architecture = zoo::build(subject.name, sizes);
  auto all = nlohmann::json::object();
  for (const auto& [name, size] : subject.sizes) all[name] = size.value;
  for (const auto& [name, size] : sizes) all[name] = size;
  const auto dtype = parse_dtype(options.dtype).value();
  WideModel model(architecture.graph, zoo::make_members(architecture, options.members, options.seed, dtype));
  const auto inputs = zoo::make_inputs(architecture, options.members, options.seed, dtype);
  write(options,
        {.subject = subject.name,
         .about = {{"kind", subject.kind},
                   {"n", options.members},
                   {"shape", all},
                   {"dtype", options.dtype},
                   {"seed", options.seed}}},
        model, inputs);
}

void export_model(const Context& context, ExportArguments options) {
  // Others read a bundle's program and members, not its plans.
  if (const auto bundle = formats::bundle_files(options.model); bundle && options.weights.empty())
    options.model = bundle->program, options.weights = {bundle->members};
  if (!options.sizes.empty()) throw Error("usage", "--size is for built-in subjects, not for --model");
  ModelOptions given;
  given.models = {options.model};
  given.weights = options.weights;
  given.seed = options.seed;
  auto model = load_model(context, given);
  const auto inputs = app::inputs_for(model, options.inputs, options.seed);
  write(options,
        {.subject = model.graph().name,
         .model = options.model,
         .weights = options.weights,
         .about = {{"kind", "model"}, {"n", model.members()}, {"seed", options.seed}}},
        model, inputs);
}

int run(const Context& context, const ExportArguments& options) {
  if (options.subject.empty() == options.model.empty()) {
    throw Error("usage",
                "name a built-in subject or give --model, not both; `widebench benchmark` lists the "
                "subjects");
  }
  options.subject.empty() ? export_model(context, options) : export_subject(options);
  if (context.json) {
    context.out << nlohmann::json{{"folder", options.folder}}.dump() << '\n';
  }
  context.human() << "written to " << results::printable(options.folder, 4096) << '\n';
  return app::kExitDone;
}

}  // namespace

void add_export_command(CLI::App& app, Context& context) {
  const auto options = std::make_shared<ExportArguments>();
  auto* command = app.add_subcommand(
      "export", "Write a model with weights, inputs and outputs into a folder, for other programs to run");
  command->add_option("NAME", options->subject, "built-in subject");
  auto* members = command->add_option("-n", options->members, "members of a built-in subject (default 4)")
                      ->check(between(1, 4096));
  command->add_option("-o,--output", options->folder, "folder to write into; made when it is not there")
      ->required()
      ->type_name("FOLDER");
  command->add_option("--size", options->sizes, "sizes of a built-in subject: NAME=NUMBER")->delimiter(',');
  auto* dtype = command
                    ->add_option("--dtype", options->dtype,
                                 "of a built-in subject: float32 (default), float64, bfloat16 or float16")
                    ->check(CLI::IsMember({"float32", "float64", "bfloat16", "float16"}));
  auto* model = command->add_option("--model", options->model, "a .pt2 of your own: referred to, not copied")
                    ->type_name("FILE");
  for (auto* of_subjects : {members, dtype}) of_subjects->excludes(model);
  command->add_option("--weights", options->weights, "its checkpoints, one per member")
      ->needs(model)
      ->type_name("FILE…");
  command->add_option("--inputs", options->inputs, "with --model: safetensors with input.K or MEMBER.input.K")
      ->needs(model)
      ->type_name("FILE");
  command->add_option("--seed", options->seed, "of weights and inputs")->check(decimal());
  command->add_flag("--force", options->force, "replace files that are there already");
  add_common_options(*command, context);
  command->footer(examples({"widebench export mlp -n 8 -o mlp8",
                            "widebench export conv2d -n 4 --size batch=2,channels=16 -o conv",
                            "widebench export --model m.pt2 --weights a.safetensors b.safetensors -o m2"}));
  set_action(*command, context, [options, &context] { return run(context, *options); });
}

}  // namespace wide::cli
