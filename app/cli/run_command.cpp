// widebench run: a user's model and checkpoints as one wide model, on inputs from a file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/cli/existing_file.h"
#include "app/cli/model_options.h"
#include "app/cli/values.h"
#include "app/coverage_json.h"
#include "app/exit_code.h"
#include "app/tensor_files.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using nlohmann::json;

struct RunArguments {
  ModelOptions model;
  std::string inputs, outputs, expect, buffers;
  std::optional<double> rtol, atol;
};

json to_json(const app::Expectation& one) {
  const auto& difference = one.difference;
  const auto finite = [](double value) { return value == value ? json(value) : json(nullptr); };
  return {{"member", one.member},           {"output", one.output},
          {"agrees", difference.agrees},    {"max_abs_err", finite(difference.max_abs)},
          {"rtol", one.tolerance.relative}, {"atol", one.difference.allowed},
          {"worst", difference.worst},      {"text", difference.text},
          {"precision", one.precision}};
}

int report(const Context& context, const WideModel& model, const Coverage& cover,
           const std::vector<app::Expectation>& expectations, const std::vector<std::string>& left_out) {
  const auto wrong = std::count_if(expectations.begin(), expectations.end(),
                                   [](const app::Expectation& one) { return !one.difference.agrees; });
  double worst = 0;
  for (const auto& one : expectations) worst = std::max(worst, one.difference.max_abs);
  if (context.json) {
    json document{
        {"members", json::array()}, {"coverage", app::to_json(cover)}, {"expectations", json::array()}};
    for (const auto& member : model.member_list()) document["members"].push_back(member.name);
    for (const auto& one : expectations) document["expectations"].push_back(to_json(one));
    document["not_compared"] = left_out;
    context.print(document);
  }
  context.human() << app::describe(cover, model.members());
  for (const auto& one : expectations) {
    if (one.difference.agrees) continue;
    context.err << fmt::format(
        "mismatch: member {}, output {}, {} (allowed: {:.3g} + {:.3g} x |expected|, by {})\n", one.member,
        one.output, one.difference.text, one.difference.allowed, one.tolerance.relative, one.precision);
  }
  if (wrong > 0) {
    context.err << fmt::format("error: {} of {} outputs are not as expected\n", wrong, expectations.size());
    return app::kExitWrongNumbers;
  }
  if (!expectations.empty()) {
    context.human() << fmt::format("all {} outputs are as expected, largest difference {:.3g}\n",
                                   expectations.size(), worst);
  }
  if (!left_out.empty()) {
    context.human() << "not compared, as no member is named so: outputs of "
                    << results::printable(fmt::format("{}", fmt::join(left_out, ", ")), 200) << '\n';
  }
  return app::kExitDone;
}

constexpr double kMostTolerance = 1e300;

void check_written(const RunArguments& options) {
  auto read = options.model.read();
  read.insert(read.end(), {options.inputs, options.expect});
  check_not_read(std::array{options.outputs, options.buffers}, read);
  check_place("write", options.outputs);
  check_place("write", options.buffers);
}

int run(const Context& context, const RunArguments& options) {
  check_written(options);
  auto model = load_model(context, options.model);
  const auto inputs = app::read_inputs(options.inputs, model);
  const auto& built = model.build(inputs);
  const auto cover = coverage(built);
  warn_of_plan(context, options.model, built);
  const auto outputs = model.forward(inputs);
  std::vector<app::Expectation> expectations;
  std::vector<std::string> left_out;
  if (!options.expect.empty()) {
    expectations = app::compare_outputs(options.expect, model, outputs, model.build(inputs).canonical,
                                        options.rtol, options.atol);
    left_out = app::members_only_expected(options.expect, model);
  }
  app::write_outputs(options.outputs, model, outputs);
  if (!options.buffers.empty()) app::write_buffers(options.buffers, model);
  return report(context, model, cover, expectations, left_out);
}

}  // namespace

void add_run_command(CLI::App& app, Context& context) {
  auto options = std::make_shared<RunArguments>();
  auto* command =
      app.add_subcommand("run", "Run a model and its checkpoints as one wide model, on inputs from a file");
  add_model_options(*command, options->model);
  command->add_option("--inputs", options->inputs, "safetensors with input.K, or MEMBER.input.K")->required();
  command->add_option("--outputs", options->outputs, "safetensors to write, with MEMBER.output.K")
      ->required();
  command->add_option("--expect", options->expect,
                      "safetensors with MEMBER.output.K; a difference exits with 5");
  command->add_option("--rtol", options->rtol, "relative tolerance of --expect; default from dtype and depth")
      ->check(between(0.0, kMostTolerance))
      ->needs("--expect");
  command
      ->add_option("--atol", options->atol,
                   "absolute tolerance of --expect; default from dtype and depth, 0 where --rtol is given")
      ->check(between(0.0, kMostTolerance))
      ->needs("--expect");
  command->add_option("--buffers", options->buffers,
                      "safetensors to write with MEMBER.buffer.NAME, the buffers that the model changed");
  add_common_options(*command, context);
  command->footer(
      examples({"widebench run --model m.pt2 --weights a.safetensors b.safetensors --inputs in.safetensors "
                "--outputs out.safetensors",
                "widebench run --model m.pt2 --weights s*.safetensors --inputs golden.safetensors --outputs "
                "out.safetensors --expect golden.safetensors"}));
  set_action(*command, context, [options, &context] { return run(context, *options); });
}

}  // namespace wide::cli
