// widebench benchmark: measures the subjects that are named, or a model of the user's own.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "app/cli/measuring.h"
#include "app/cli/values.h"
#include "app/exit_code.h"
#include "app/model_title.h"
#include "core/strategy/strategy_text.h"
#include "formats/bundle_files.h"
#include "formats/packed.h"
#include "presets/case_fields.h"
#include "presets/preset.h"
#include "results/table.h"

namespace wide::cli {
namespace {

struct BenchmarkArguments {
  std::vector<std::string> names;
  std::string preset = "quick";
  std::vector<std::int64_t> n;
  std::vector<std::string> modes, dtypes, rivals, shape;  ///< shape: NAME=SIZE,…
  std::vector<std::string> strategies;
  std::string model, inputs, expect;
  std::vector<std::string> weights;
  bool peers = false;
  MeasuringOptions measuring;
};

constexpr std::string_view kAll = "all";

int list(const Context& context) {
  const auto subjects = context.engine.subjects();
  if (context.json) {
    auto json = nlohmann::json::array();
    for (const auto& subject : subjects) {
      json.push_back({{"name", subject.name},
                      {"kind", subject.kind},
                      {"summary", subject.summary},
                      {"strategies", subject.strategies}});
    }
    context.out << json.dump(2) << '\n';
    return app::kExitDone;
  }
  std::size_t width = 0;
  for (const auto& subject : subjects) width = std::max(width, subject.name.size());
  for (const auto& subject : subjects) {
    context.out << fmt::format("{:<{}}  {:<9}  {}\n", subject.name, width, subject.kind, subject.summary);
  }
  return app::kExitDone;
}

bool wants_all(const BenchmarkArguments& options) {
  const auto& given = options.strategies;
  return std::find(given.begin(), given.end(), kAll) != given.end();
}

// `-s all`: auto, and each strategy that the subject has; sequential is everyone's.
void multiply_by_strategies(std::vector<presets::CaseSpec>& specs, const app::Engine& engine) {
  std::map<std::string, std::vector<std::string>> of_subject;
  for (const auto& subject : engine.subjects()) of_subject[subject.name] = subject.strategies;
  std::vector<presets::CaseSpec> result;
  for (const auto& spec : specs) {
    std::vector<std::string> strategies = {"auto"};
    const auto own = spec.kind == "model" ? std::vector<std::string>() : of_subject[spec.subject];
    strategies.insert(strategies.end(), own.begin(), own.end());
    strategies.emplace_back("sequential");
    for (const auto& strategy : strategies) {
      result.push_back(spec);
      result.back().strategy = strategy;
    }
  }
  specs = std::move(result);
}

void add_peers(std::vector<presets::CaseSpec>& specs) {
  for (auto& spec : specs) {
    for (const auto& rival : presets::kPythonRivals) {
      const auto& gpu_only = presets::kRivalsOfGpu;
      if (spec.device != "cuda" && std::find(gpu_only.begin(), gpu_only.end(), rival) != gpu_only.end())
        continue;
      if (std::find(spec.rivals.begin(), spec.rivals.end(), rival) == spec.rivals.end())
        spec.rivals.push_back(rival);
    }
  }
}

presets::PresetChanges changes_of(const BenchmarkArguments& options) {
  auto result = changes(options.measuring);
  for (const auto n : options.n) {
    if (std::find(result.n.begin(), result.n.end(), n) == result.n.end()) result.n.push_back(n);
  }
  if (!wants_all(options)) result.strategies = options.strategies;
  result.modes = options.modes;
  result.dtypes = options.dtypes;
  return result;
}

const app::SubjectInfo& find(const std::vector<app::SubjectInfo>& subjects, const std::string& name) {
  const auto found =
      std::find_if(subjects.begin(), subjects.end(), [&](const auto& s) { return s.name == name; });
  if (found == subjects.end()) {
    if (std::ranges::find(presets::kModes, name) != presets::kModes.end())
      throw Error("usage", "no subject is called \"" + name + "\"; a mode is given as -c=" + name);
    throw Error("usage", name == kAll
                             ? "all takes no other names beside it; leave out either"
                             : "no subject is called \"" + name + "\"; `widebench benchmark` lists them");
  }
  return *found;
}

std::vector<std::string> devices_of(const MeasuringOptions& options, const std::string& otherwise) {
  return options.devices.empty() ? std::vector{otherwise} : options.devices;
}

// How many members a checkpoint holds: several where it is packed.
std::int64_t members_in(const std::string& checkpoint) {
  const auto packed = formats::packed_members(checkpoint);
  return packed ? std::ssize(*packed) : 1;
}

std::int64_t members_in(const std::vector<std::string>& checkpoints) {
  std::int64_t members = 0;
  for (const auto& checkpoint : checkpoints) members += members_in(checkpoint);
  return members;
}

// The first checkpoints, as many as hold `count` members.
std::vector<std::string> first_of(const std::vector<std::string>& checkpoints, std::int64_t count) {
  std::vector<std::string> first;
  for (const auto& checkpoint : checkpoints) {
    if (count <= 0) break;
    first.push_back(checkpoint);
    count -= members_in(checkpoint);
  }
  return first;
}

// A preset whose one case is `subject`, with the defaults (stopping rule, rivals…) of `like`. Of a model, the
// first n of its checkpoints are the members; where there are fewer, copies of them are the others.
presets::Preset single(const presets::Preset& like, const presets::CaseSpec& subject,
                       const std::vector<std::int64_t>& n, const BenchmarkArguments& options) {
  presets::Preset result{.name = like.name, .timeout_seconds = like.timeout_seconds};
  auto spec = like.cases.front();
  spec.subject = subject.subject, spec.kind = subject.kind, spec.shape = {};
  spec.model = subject.model;
  spec.inputs = subject.inputs, spec.expect = subject.expect;
  const auto or_else = [](const std::vector<std::string>& given, const std::string& otherwise) {
    return given.empty() ? std::vector{otherwise} : given;
  };
  const auto strategies =
      or_else(wants_all(options) ? std::vector<std::string>() : options.strategies, spec.strategy);
  for (const auto& dtype : or_else(options.dtypes, spec.dtype)) {
    for (const auto& mode : or_else(options.modes, spec.mode)) {
      for (const auto& strategy : strategies) {
        for (const auto count : n) {
          spec.weights = first_of(subject.weights, count);
          spec.dtype = dtype, spec.mode = mode, spec.strategy = strategy, spec.n = count;
          for (const auto& device : devices_of(options.measuring, spec.device)) {
            result.cases.push_back(spec);
            result.cases.back().device = device;
          }
        }
      }
    }
  }
  return result;
}

std::vector<std::int64_t> members_of(const presets::Preset& preset) {
  std::vector<std::int64_t> n;
  for (const auto& spec : preset.cases) {
    if (std::find(n.begin(), n.end(), spec.n) == n.end()) n.push_back(spec.n);
  }
  std::sort(n.begin(), n.end());
  return n;
}

bool wants_python(const BenchmarkArguments& options, const presets::CaseSpec& like) {
  return options.peers || presets::has_python_rivals(
                              options.rivals.empty() ? like : presets::CaseSpec{.rivals = options.rivals});
}

presets::Preset of_model(const presets::Preset& preset, const BenchmarkArguments& options,
                         const Context& context) {
  const auto absolute = [](const std::string& file) {
    std::error_code failed;
    if (!std::filesystem::exists(file, failed)) throw Error("load", file + ": no such file; check the path");
    if (!std::filesystem::is_regular_file(file, failed))
      throw Error("load", file + ": is no file, and no folder that `widebench bundle` wrote");
    return std::filesystem::absolute(file).string();
  };
  presets::CaseSpec subject{.kind = "model"};
  const auto bundle = formats::bundle_files(options.model);
  const bool is_bundle = bundle && options.weights.empty();
  subject.model = absolute(is_bundle ? bundle->program : options.model);
  if (is_bundle) subject.weights.push_back(absolute(bundle->members));
  subject.subject = results::printable(app::model_title(subject.model));
  if (subject.subject.empty()) subject.subject = "model";
  for (const auto& file : options.weights) subject.weights.push_back(absolute(file));
  if (!options.inputs.empty()) subject.inputs = absolute(options.inputs);
  if (!options.expect.empty()) subject.expect = absolute(options.expect);
  if (!options.dtypes.empty() || !options.shape.empty())
    throw Error("usage",
                "a model of your own has the dtype and shapes of its file; leave --dtype and --shape out");
  const auto given = members_in(subject.weights), most = std::max<std::int64_t>(1, given);
  const auto n = options.n.empty() ? std::vector{most} : options.n;
  if (const auto largest = *std::max_element(n.begin(), n.end()); largest > most) {
    const bool python = wants_python(options, preset.cases.front());
    if (python || !options.expect.empty()) {
      throw Error("usage", fmt::format("with {} {} members need {} checkpoints, given are {}; name more with "
                                       "--weights",
                                       python ? "Python's rivals" : "--expect", largest, largest, given));
    }
    context.log(LogLevel::kWarn, fmt::format("of {} members {} have a checkpoint; the others are copies, "
                                             "their weights scaled by a percent or more",
                                             largest, most));
  }
  return single(preset, subject, n, options);
}

presets::Preset of_names(const presets::Preset& preset, const BenchmarkArguments& options,
                         const app::Engine& engine) {
  const auto subjects = engine.subjects();
  if (options.names.size() == 1 && options.names[0] == kAll) return preset;
  presets::Preset result = preset;
  result.cases.clear();
  for (const auto& name : options.names) {
    const auto& subject = find(subjects, name);
    auto cases = preset.cases;
    std::erase_if(cases, [&](const auto& spec) { return spec.subject != name; });
    if (cases.empty()) {
      cases = single(preset, {.subject = name, .kind = subject.kind}, members_of(preset), options).cases;
    }
    result.cases.insert(result.cases.end(), cases.begin(), cases.end());
  }
  return result;
}

// Sizes given with --shape stand in the place of a case's own; several of one name are an axis.
void change_shapes(std::vector<presets::CaseSpec>& specs, const std::vector<std::string>& given) {
  for (const auto& text : given) {
    const auto equals = text.find('=');
    const auto refuse = [&] {
      throw Error("usage",
                  "--shape takes NAME=SIZE or NAME=SIZE,SIZE, for instance batch=8,64, not '" + text + "'");
    };
    if (equals == 0 || equals == std::string::npos) refuse();
    std::vector<std::int64_t> sizes;
    for (const char *at = text.c_str() + equals, *end = text.c_str() + text.size(); at != end;) {
      const auto [next, error] = std::from_chars(at + 1, end, sizes.emplace_back());
      if (error != std::errc() || sizes.back() < 0 || (next != end && *next != ',')) refuse();
      at = next;
    }
    std::vector<presets::CaseSpec> result;
    for (const auto& spec : specs) {
      for (const auto size : sizes) {
        result.push_back(spec);
        result.back().shape[text.substr(0, equals)] = size;
      }
    }
    specs = std::move(result);
  }
}

// A name or number given twice is measured once.
presets::Preset without_repeats(presets::Preset preset) {
  std::set<std::string> seen;
  std::erase_if(preset.cases, [&](const auto& spec) { return !seen.insert(spec.key()).second; });
  return preset;
}

int benchmark(Context& context, BenchmarkArguments& options) {
  if (options.names.empty() && options.model.empty()) return list(context);
  if (!options.names.empty() && !options.model.empty())
    throw Error("usage", "give names or --model, not both");
  if (context.json && !options.measuring.report.empty()) {
    throw Error("usage", "give -o FILE or --json (report on standard output), not both");
  }
  if (context.json) options.measuring.report = "-";
  app::check_strategies({options.strategies.begin(), options.strategies.end()}, context.engine,
                        {std::string(kAll)});
  const auto file = presets::find_preset(options.preset);
  const auto preset = presets::read_preset(file, changes_of(options));
  options.measuring.read = {file.string(), options.model};
  auto chosen =
      options.model.empty() ? of_names(preset, options, context.engine) : of_model(preset, options, context);
  change_shapes(chosen.cases, options.shape);
  for (const auto& rival : options.rivals) {
    if (std::ranges::count(options.rivals, rival) > 1)
      throw Error("usage", "--rivals names " + rival + " twice; name each once");
  }
  for (auto& spec : chosen.cases) {
    if (!options.rivals.empty()) spec.rivals = options.rivals;
  }
  if (wants_all(options)) multiply_by_strategies(chosen.cases, context.engine);
  if (options.peers) {
    app::resolve_devices(chosen.cases, context.engine);
    add_peers(chosen.cases);
  }
  return measure(context, options.measuring, without_repeats(std::move(chosen)));
}

}  // namespace

void add_benchmark_command(CLI::App& app, Context& context) {
  const auto options = std::make_shared<BenchmarkArguments>();
  auto& command =
      *app.add_subcommand("benchmark", "Measure subjects, or a model of your own; alone, list them");
  command.add_option("NAME", options->names, "Subjects to measure, or all");
  command
      .add_option("-p,--preset", options->preset,
                  "Shapes, N and stopping rule from this preset; default quick")
      ->type_name("NAME|FILE");
  command.add_option("-n", options->n, "Numbers of members instead of the preset's")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(between(std::int64_t{1}, std::int64_t{65536}))
      ->type_name("N,…");
  command.add_flag("-c{default},--compile{default}", options->modes, "Compile, in these modes: -c[=MODE,…]")
      ->delimiter(',')
      ->check(CLI::IsMember(presets::kModes))
      ->type_name("[=MODE,…]");
  const auto list = [&](const char* name, std::vector<std::string>& into, const char* help) {
    return command.add_option(name, into, help)->delimiter(',')->allow_extra_args(false);
  };
  list("--dtype", options->dtypes, "Instead of the preset's")
      ->check(CLI::IsMember(presets::kDtypes))
      ->type_name("DTYPE,…");
  list("--rivals", options->rivals,
       "Measured beside wide instead of the preset's; streams, graph, python_streams and python_graph on a "
       "GPU")
      ->check(CLI::IsMember(presets::kRivals))
      ->type_name("NAME,…");
  command.add_option("--shape", options->shape, "Sizes instead of the preset's; several of one are an axis")
      ->type_name("NAME=SIZE,…");
  command
      .add_option("-s,--strategy", options->strategies,
                  "Measure these strategies instead of auto, each as a case of its own; all: auto and every "
                  "one that the subject has. NAME, KIND=NAME for one kind of operation, or several with + "
                  "between them for one case")
      ->delimiter(',')
      ->type_name("NAME…");
  command.add_flag(
      "--peers", options->peers,
      "Measure the Python ways beside it: eager loop, torch.compile, vmap, vmap compiled; on a GPU "
      "streams and one CUDA Graph, too");
  command.add_option("-t,--top", options->measuring.top, "List only the TOP best cases")
      ->check(between(1, 100000))
      ->type_name("TOP");
  command.add_option("-o,--output", options->measuring.report, "Write the report to this file")
      ->type_name("FILE");
  auto* model = command.add_option("--model", options->model, "A .pt2 of your own")->type_name("FILE");
  command
      .add_option("--weights", options->weights, "Its checkpoints, one per member; where N is larger, copies")
      ->needs(model)
      ->type_name("FILE…");
  command
      .add_option("--inputs", options->inputs,
                  "safetensors with input.K or MEMBER.input.K; those of --expect, or made up otherwise")
      ->needs(model)
      ->type_name("FILE");
  command
      .add_option("--expect", options->expect,
                  "safetensors with MEMBER.output.K, made by another program: a difference is a failure")
      ->needs(model)
      ->type_name("FILE");
  add_measuring_options(command, options->measuring);
  add_common_options(command, context);
  command.footer(examples({"widebench benchmark", "widebench benchmark mlp linear -n 2,4,8 -p ci",
                           "widebench benchmark conv2d -s grouped sequential -o conv2d.json",
                           "widebench benchmark linear -s all",
                           "widebench benchmark mlp --shape batch=8,64 --dtype float64",
                           "widebench benchmark minigpt -n 8 --peers",
                           "widebench benchmark all -c=reduce-overhead -t 10",
                           "widebench benchmark --model net.pt2 --weights a.safetensors b.safetensors"}) +
                 "\n\nExit codes are those of a sweep: widebench --help");
  set_action(command, context, [&context, options] { return benchmark(context, *options); });
}

}  // namespace wide::cli
