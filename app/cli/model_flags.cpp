#include "app/cli/model_flags.h"

#include <limits>

#include "app/cli/values.h"
#include "presets/case_fields.h"

namespace wide::cli {

std::vector<std::string> ModelOptions::read() const {
  auto all = models;
  all.insert(all.end(), weights.begin(), weights.end());
  all.push_back(plan);
  return all;
}

void add_model_options(CLI::App& command, ModelOptions& options, bool required) {
  command
      .add_option("--model", options.models,
                  "exported model (.pt2); several are one member each; or a bundle (widebench bundle)")
      ->required(required);
  command
      .add_option(
          "--weights", options.weights,
          "checkpoints (.safetensors), one member each, named by file stem, or packed ones (widebench pack)")
      ->needs("--model");
  auto* strategy = command.add_option("-s,--strategy", options.strategies,
                                      "auto, wide, sequential, a strategy for all that can run by it, "
                                      "KIND=STRATEGY (an operator, conv2d, or a "
                                      "primitive, conv) or %VALUE=STRATEGY");
  auto* tune = command.add_flag(
      "--tune", options.tune, "choose by measuring; without it by what was measured before, or by estimates");
  command.add_option("--plan", options.plan, "run this plan, saved by `widebench plan -o FILE`")
      ->excludes(strategy)
      ->excludes(tune);
  command.add_option("--device", options.device, "cpu, cuda or auto (default): cuda where one is usable")
      ->check(CLI::IsMember(presets::kDevices));
  command
      .add_option("--mode", options.mode,
                  "eager, default (pointwise operators in groups, and ways that round otherwise than "
                  "PyTorch, but no\n"
                  "worse), reduce-overhead (and a static memory plan) or max-autotune (and errors of up to "
                  "four times\n"
                  "PyTorch's, as Winograd's on tiles of 4x4); where none is named " +
                      options.usual_mode + ", of a bundle its own")
      ->check(CLI::IsMember(presets::kModes))
      ->type_name("MODE");
  command
      .add_option("--seed", options.seed,
                  "random stream of the first member, member i takes seed + i; weights and inputs that are "
                  "made up come "
                  "of it, too")
      ->check(between<std::int64_t>(0, std::numeric_limits<std::int64_t>::max()));
  command.add_flag("--trust", options.trust,
                   "allow TorchScript files and the compiled code of bundles, which run in this process");
  command.parse_complete_callback([&command, &options] {
    const auto* members = command.get_option_no_throw("-n");
    if (members && members->count() > 0 && options.models.size() > 1)
      throw CLI::ValidationError("-n", "leave it out: each --model is a member");
  });
}

}  // namespace wide::cli
