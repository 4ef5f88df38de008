// widebench test: primitives and zoo models proved member by member.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/model_options.h"
#include "app/exit_code.h"
#include "app/made_up_inputs.h"
#include "core/prove.h"
#include "core/torch_bridge.h"
#include "formats/error.h"
#include "presets/zoo/zoo.h"

namespace wide::cli {
namespace {

using nlohmann::json;

struct Options {
  ModelOptions model;
  std::string inputs;
  std::vector<std::string> names;
  std::vector<std::int64_t> members{3};
  std::vector<std::string> dtypes{"float32"};
};

struct Result {
  std::string name, dtype;
  std::int64_t members;
  Proof proof;
};

Result prove_subject(const Context& context, const Options& options, const std::string& name,
                     std::int64_t members, const std::string& dtype) {
  const auto architecture = zoo::build(name);
  const auto build = build_options(context, options.model);
  const auto seed = options.model.seed;
  const auto type = parse_dtype(dtype).value();
  WideModel model(architecture.graph, zoo::make_members(architecture, members, seed, type), build);
  return {name, dtype, members, prove(model, zoo::make_inputs(architecture, members, seed, type))};
}

// The user's own members; a model alone is tried with as many copies as -n says, weights changed a little.
Result prove_model(const Context& context, const Options& options, std::int64_t members) {
  auto model = load_model(context, options.model, members);
  const auto inputs = app::inputs_for(model, options.inputs, options.model.seed);
  auto proof = prove(model, inputs);
  return {model.graph().name, "as stored", model.members(), std::move(proof)};
}

std::vector<std::string> subjects(const Options& options) {
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
  return {{"subject", result.name},
          {"n", result.members},
          {"dtype", result.dtype},
          {"verdict", result.proof.passed() ? "pass" : "fail"},
          {"checks", checks}};
}

void print(const Context& context, const Result& result) {
  context.human() << fmt::format("{:<20} N={:<3} {:<9} {}  max error {:.2e} over {} checks\n", result.name,
                                 result.members, result.dtype, result.proof.passed() ? "pass" : "FAIL",
                                 result.proof.max_abs_err(), result.proof.checks.size());
  for (const auto& check : result.proof.checks) {
    if (!check.passed)
      context.err << fmt::format("  {}: {} (allowed {:.2e})\n", check.what, check.text, check.tolerance);
  }
}

int run(const Context& context, const Options& options) {
  const auto names = subjects(options);
  auto document = json::array();
  std::size_t failed = 0;
  const auto add = [&](const Result& result) {
    print(context, result);
    document.push_back(to_json(result));
    failed += !result.proof.passed();
  };
  if (names.empty()) {
    const bool own = !options.model.weights.empty() || options.model.models.size() > 1;
    for (std::size_t i = 0; i < (own ? 1 : options.members.size()); ++i)
      add(prove_model(context, options, options.members[i]));
  }
  for (const auto& name : names) {
    for (const auto members : options.members) {
      for (const auto& dtype : options.dtypes) add(prove_subject(context, options, name, members, dtype));
    }
  }
  if (context.json) context.out << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
  context.human() << fmt::format("{} passed, {} failed\n", document.size() - failed, failed);
  return failed ? app::kExitWrongNumbers : app::kExitDone;
}

}  // namespace

void add_test_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<Options>();
  auto* command =
      app.add_subcommand("test", "Prove primitives, zoo models or your own model, member by member");
  command->add_option("NAME", options->names, "subjects; none or `all` means all of them");
  command->add_option("-n", options->members, "members (default 3)")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  command->add_option("--dtype", options->dtypes, "float32 (default), float64, bfloat16 or float16")
      ->delimiter(',')
      ->check(CLI::IsMember({"float32", "float64", "bfloat16", "float16"}));
  add_model_options(*command, options->model, false);
  command->add_option("--inputs", options->inputs,
                      "with --model: safetensors with input.K or MEMBER.input.K; made up otherwise");
  add_common_options(*command, context);
  command->footer(examples({"widebench test", "widebench test resblock minigpt -n 2,4,8",
                            "widebench test conv2d --dtype float64 --strategy grouped",
                            "widebench test --model m.pt2 --weights a.safetensors b.safetensors"}));
  set_action(*command, context, [options, &context] { return run(context, *options); });
}

}  // namespace wide::cli
