// widebench test: primitives and zoo models proved member by member.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/model_options.h"
#include "app/cli/values.h"
#include "app/devices.h"
#include "app/exit_code.h"
#include "app/made_up_inputs.h"
#include "app/tensor_files.h"
#include "core/aten/torch_bridge.h"
#include "core/prove/prove.h"
#include "formats/error.h"
#include "presets/zoo/zoo.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using nlohmann::json;

struct TestArguments {
  ModelOptions model;
  std::string inputs, expect;
  std::vector<std::string> names;
  std::vector<std::int64_t> members{3};
  std::vector<std::string> dtypes{"float32"};
};

// What is proved: a subject, or a user's model where `name` is empty.
struct Case {
  std::string name, dtype;
  std::int64_t members = 0;
  std::vector<std::string> strategies;  // as parse_strategies reads them; empty: auto
};

struct Result {
  Case what;
  std::string verdict;  // "pass", "fail", "skipped" or "error"
  std::string reason;   // of the last two
  Proof proof;
};

// That members are right says nothing of a strategy that none of them runs by.
Proof prove_by(WideModel& model, std::span<const ModelInput> inputs, const Case& what) {
  const auto& built = model.build(inputs);
  if (auto objection = built.plan().objection_to(built.optimized, what.strategies); !objection.empty())
    throw Error("plan", std::move(objection));
  return prove(model, inputs);
}

Proof prove_subject(const Context& context, const TestArguments& options, const Case& what) {
  const auto architecture = zoo::build(what.name);
  auto given = options.model;
  given.strategies = what.strategies;
  const auto build = build_options(context, given);
  const auto seed = given.seed_or();
  const auto type = parse_dtype(what.dtype).value();
  WideModel model(architecture.graph, zoo::make_members(architecture, what.members, seed, type), build);
  return prove_by(model, zoo::make_inputs(architecture, what.members, seed, type), what);
}

// The user's own members; a model alone is tried with as many copies as -n says, weights changed a little.
Proof prove_model(const Context& context, const TestArguments& options, Case& what) {
  auto given = options.model;
  given.strategies = what.strategies;
  auto model = load_model(context, given, what.members);
  what.name = model.graph().name;
  what.members = model.members();
  const auto& file = options.inputs.empty() ? options.expect : options.inputs;
  const auto inputs = app::inputs_for(model, file, options.model.seed_or());
  try {
    auto proof = prove_by(model, inputs, what);
    if (!options.expect.empty()) proof.checks.push_back(app::check_expected(options.expect, model, inputs));
    return proof;
  } catch (const Error&) {
    if (file.empty()) app::blame_made_up_inputs(model, inputs);
    throw;
  }
}

// One subject in trouble costs its line, not those after it: a refusing planner and made-up inputs that are
// refused skip, other faults are errors.
Result prove_case(const Context& context, const TestArguments& options, Case what) {
  const bool own = what.name.empty();
  try {
    auto proof = own ? prove_model(context, options, what) : prove_subject(context, options, what);
    const auto* verdict = proof.passed() ? "pass" : "fail";
    return {std::move(what), verdict, "", std::move(proof)};
  } catch (const Error& error) {
    const bool skipped = error.stage() == "plan" || error.stage() == app::kRefusedInputs;
    if (own && !skipped) throw;
    if (own) what.name = std::filesystem::path(options.model.models[0]).stem().string();
    return {std::move(what), skipped ? "skipped" : "error", error.what(), {}};
  }
}

// Every NAME of -s is a case of its own; KIND=NAME goes with all of them. `all`: auto and what the subject
// has.
std::vector<std::vector<std::string>> strategy_sets(const TestArguments& options, const app::Engine& engine,
                                                    const std::string& subject) {
  std::vector<std::string> kinds, names;
  for (const auto& text : options.model.strategies) {
    (text.find('=') == std::string::npos ? names : kinds).push_back(text);
  }
  if (std::find(names.begin(), names.end(), "all") != names.end()) {
    names = {"auto", "sequential"};
    for (const auto& known : engine.subjects()) {
      if (known.name == subject) names.insert(names.end(), known.strategies.begin(), known.strategies.end());
    }
    std::sort(names.begin() + 1, names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
  }
  std::vector<std::vector<std::string>> sets;
  for (const auto& name : names) {
    sets.push_back(kinds);
    sets.back().push_back(name);
  }
  if (sets.empty()) sets.push_back(kinds);
  for (const auto& set : sets) parse_strategies(set);  // an unknown one is a slip of the pen: say so first
  return sets;
}

std::vector<std::string> subjects(const TestArguments& options) {
  if (options.model.models.empty() && !options.expect.empty())
    throw Error("usage", "--expect needs --model: for built-in subjects nobody else has outputs");
  if (!options.model.models.empty()) {
    if (!options.names.empty()) throw Error("usage", "name built-in subjects or give --model, not both");
    return {};
  }
  auto names = options.names;
  if (names.empty() || (names.size() == 1 && names[0] == "all")) {
    names.clear();
    for (const auto& subject : zoo::subjects()) names.push_back(subject.name);
  }
  for (const auto& name : names) zoo::find_subject(name);
  return names;
}

std::string strategy_text(const Case& what) {
  std::string text;
  for (const auto& strategy : what.strategies) text += (text.empty() ? "" : ",") + strategy;
  return text.empty() ? "auto" : text;
}

json to_json(const Result& result) {
  json checks = json::array();
  for (const auto& check : result.proof.checks) {
    checks.push_back({{"what", check.what},
                      {"member", check.member},
                      {"passed", check.passed},
                      {"text", check.text},
                      {"max_abs_err", check.max_abs == check.max_abs ? json(check.max_abs) : json(nullptr)},
                      {"tolerance", check.tolerance}});
  }
  return {{"subject", result.what.name}, {"n", result.what.members},
          {"dtype", result.what.dtype},  {"strategy", strategy_text(result.what)},
          {"verdict", result.verdict},   {"reason", result.reason},
          {"notes", result.proof.notes}, {"checks", checks}};
}

void print(const Context& context, const Result& result) {
  const auto& what = result.what;
  const auto line = fmt::format("{:<20} N={:<3} {:<9} {:<12} ", results::printable(what.name), what.members,
                                what.dtype, strategy_text(what));
  if (!result.reason.empty()) {
    context.human() << line << result.verdict << ": " << results::printable(result.reason, 300) << '\n';
    return;
  }
  context.human() << line
                  << fmt::format("{}  max error {:.2e} over {} checks\n",
                                 result.proof.passed() ? "pass" : "FAIL", result.proof.max_abs_err(),
                                 result.proof.checks.size());
  for (const auto& check : result.proof.checks) {
    if (!check.passed)
      context.err << fmt::format("  {}: {} (allowed {:.2e})\n", check.what, check.text, check.tolerance);
  }
  for (const auto& note : result.proof.notes)
    context.human() << "  " << results::printable(note, 300) << '\n';
}

std::vector<Case> cases(const Context& context, const TestArguments& options) {
  std::vector<Case> list;
  const auto names = subjects(options);
  if (names.empty()) {
    const bool own = !options.model.weights.empty() || options.model.models.size() > 1;
    for (std::size_t i = 0; i < (own ? 1 : options.members.size()); ++i) {
      for (const auto& set : strategy_sets(options, context.engine, ""))
        list.push_back({"", "as stored", options.members[i], set});
    }
  }
  for (const auto& name : names) {
    for (const auto& set : strategy_sets(options, context.engine, name)) {
      for (const auto members : options.members) {
        for (const auto& dtype : options.dtypes) list.push_back({name, dtype, members, set});
      }
    }
  }
  return list;
}

int run(const Context& context, const TestArguments& options) {
  auto document = json::array();
  std::map<std::string, int> verdicts;
  const auto all = cases(context, options);
  (void)app::open_device(options.model.device);  // where there is none, said once and not of each case
  for (const auto& what : all) {
    const auto result = prove_case(context, options, what);
    print(context, result);
    document.push_back(to_json(result));
    ++verdicts[result.verdict];
  }
  if (context.json) context.print(document);
  context.human() << fmt::format("{} passed, {} failed", verdicts["pass"], verdicts["fail"]);
  for (const auto* other : {"skipped", "error"}) {
    if (verdicts[other] > 0) context.human() << fmt::format(", {} {}", verdicts[other], other);
  }
  context.human() << '\n';
  if (verdicts["fail"] > 0) return app::kExitWrongNumbers;
  return verdicts["error"] > 0 || verdicts["pass"] == 0 ? app::kExitCannotMeasure : app::kExitDone;
}

}  // namespace

void add_test_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<TestArguments>();
  auto* command =
      app.add_subcommand("test", "Prove primitives, zoo models or your own model, member by member");
  command->add_option("NAME", options->names, "subjects; none or `all` means all of them");
  auto* members = command->add_option("-n", options->members, "members (default 3)")
                      ->delimiter(',')
                      ->check(between(1, 4096));
  auto* dtype =
      command->add_option("--dtype", options->dtypes, "float32 (default), float64, bfloat16 or float16");
  dtype->delimiter(',')->check(CLI::IsMember({"float32", "float64", "bfloat16", "float16"}));
  add_model_options(*command, options->model, false);
  dtype->excludes("--model");
  members->excludes("--weights");
  command
      ->add_option("--inputs", options->inputs,
                   "with --model: safetensors with input.K or MEMBER.input.K; made up otherwise")
      ->needs("--model");
  command->add_option(
      "--expect", options->expect,
      "with --model: safetensors with MEMBER.output.K, made by another program; inputs come from "
      "it, too, unless --inputs names others");
  add_common_options(*command, context);
  command->footer(
      examples({"widebench test", "widebench test resblock minigpt -n 2,4,8",
                "widebench test conv2d --dtype float64 -s grouped sequential", "widebench test linear -s all",
                "widebench test --model m.pt2 --weights a.safetensors b.safetensors"}));
  set_action(*command, context, [options, &context] { return run(context, *options); });
}

}  // namespace wide::cli
