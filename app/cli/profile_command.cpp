// widebench profile: what ran, wide and separately, and why one is faster.
#include <filesystem>
#include <utility>

#include "app/capture/peaks.h"
#include "app/capture/profile_job.h"
#include "app/cli/model_options.h"
#include "app/cli/profile.h"
#include "app/made_up_inputs.h"
#include "core/torch_bridge.h"
#include "presets/zoo/zoo.h"

namespace wide::cli {
namespace {

struct Subject {
  std::string name, dtype;
  WideModel model;
  std::vector<ModelInput> inputs;
};

// As a sweep builds it: what nobody has measured yet is measured.
BuildOptions measuring(const Context& context, const ProfileRequest& options) {
  auto build = build_options(context, options.model);
  if (!build.plan) build.tuning.tuning = Tuning::kMeasure;
  return build;
}

// The arithmetic peak to compare with is that of the weights.
std::string dtype_of(const WideModel& model, const std::string& otherwise) {
  for (const auto& [fqn, tensor] : model.member_list()[0].tensors) {
    if (tensor.is_floating_point()) return dtype_name(tensor.scalar_type());
  }
  return otherwise;
}

Subject make_subject(const Context& context, const ProfileRequest& options) {
  const auto build = measuring(context, options);
  if (options.subject.empty()) {
    auto model = load_model(context, options.model, options.members, build);
    auto inputs = app::inputs_for(model, options.inputs, options.model.seed);
    const auto name = std::filesystem::path(options.model.models[0]).stem().string();
    const auto dtype = dtype_of(model, options.dtype);
    return {name, dtype, std::move(model), std::move(inputs)};
  }
  const auto type = parse_dtype(options.dtype).value();
  const auto architecture = zoo::build(options.subject, preset_sizes(options.preset, options.subject));
  const auto seed = options.model.seed;
  return {options.subject, options.dtype,
          WideModel(architecture.graph, zoo::make_members(architecture, options.members, seed, type), build),
          zoo::make_inputs(architecture, options.members, seed, type)};
}

Profiled capture(const Context& context, const ProfileRequest& request) {
  auto subject = make_subject(context, request);
  const app::ProfileOptions wanted{subject.name, subject.dtype, request.passes, 1, request.rivals};
  Profiled result{app::profile(subject.model, subject.inputs, wanted), subject.dtype, {}};
  if (request.peaks) result.peaks = app::stored_peaks(request.measure_peaks);
  return result;
}

}  // namespace

void add_profile_command(CLI::App& app, Context& context) {
  add_profile(app, context, capture);
}

}  // namespace wide::cli
