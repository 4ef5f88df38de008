// widebench profile: what ran, wide and separately, and why one is faster.
#include <ATen/Parallel.h>

#include <filesystem>
#include <utility>

#include "app/capture/peaks.h"
#include "app/capture/profile_job.h"
#include "app/cli/model_options.h"
#include "app/cli/profile.h"
#include "app/cuda_library.h"
#include "app/devices.h"
#include "app/made_up_inputs.h"
#include "app/model_title.h"
#include "core/aten/torch_bridge.h"
#include "presets/zoo/zoo.h"
#include "processes/load.h"

namespace wide::cli {
namespace {

struct Subject {
  presets::CaseSpec spec;
  WideModel model;
  std::vector<ModelInput> inputs;
};

// As a sweep builds it: what nobody has measured yet is measured.
BuildOptions measuring(const Context& context, const ProfileRequest& options) {
  auto build = build_options(context, options.model);
  // Found before the model is built, which may take minutes.
  if (!build.device.device.is_cpu()) app::check_cuda_tracing();
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

// What a sweep would call this case.
presets::CaseSpec spec_of(const ProfileRequest& options) {
  presets::CaseSpec spec{
      .mode = options.model.mode_or(), .rivals = options.rivals, .seed = options.model.seed_or()};
  spec.threads = at::get_num_threads();
  spec.device = app::settled_device(options.model.device);
  if (!options.model.strategies.empty()) spec.strategy.clear();
  for (const auto& strategy : options.model.strategies)
    spec.strategy.append(spec.strategy.empty() ? "" : "+").append(strategy);
  return spec;
}

Subject make_subject(const Context& context, const ProfileRequest& options) {
  const auto build = measuring(context, options);
  const auto device = build.device.device;
  auto spec = spec_of(options);
  if (options.subject.empty()) {
    auto model = load_model(context, options.model, options.members, build);
    auto inputs = app::on_device(app::inputs_for(model, options.inputs, options.model.seed_or()), device);
    const std::filesystem::path file = options.model.models[0];
    spec.subject = app::model_title(file), spec.kind = "model", spec.n = model.members();
    spec.mode = name(model.options().mode);  // of a bundle its own
    spec.dtype = dtype_of(model, options.dtype), spec.model = std::filesystem::absolute(file).string();
    for (const auto& weights : options.model.weights)
      spec.weights.push_back(std::filesystem::absolute(weights).string());
    return {std::move(spec), std::move(model), std::move(inputs)};
  }
  const auto type = parse_dtype(options.dtype).value();
  spec.subject = options.subject, spec.dtype = options.dtype, spec.n = options.members;
  for (const auto& subject : context.engine.subjects()) {
    if (subject.name == options.subject) spec.kind = subject.kind;
  }
  spec.shape = preset_sizes(options.preset, options.subject);
  const auto architecture = zoo::build(options.subject, spec.shape);
  return {
      std::move(spec),
      WideModel(architecture.graph,
                zoo::make_members(architecture, options.members, options.model.seed_or(), type), build),
      app::on_device(zoo::make_inputs(architecture, options.members, options.model.seed_or(), type), device)};
}

Profiled capture(const Context& context, const ProfileRequest& request) {
  auto subject = make_subject(context, request);
  const auto& spec = subject.spec;
  const auto& device = subject.model.options().device;
  app::ProfileOptions wanted{spec.subject, spec.dtype, request.passes, 1, request.rivals};
  if (!device.device.is_cpu())
    wanted.device_source = app::cuda_source, wanted.recording_source = app::cuda_graph_notes;
  warn_of_plan(context, request.model, subject.model.build(subject.inputs));
  processes::MachineLoad load;
  const auto before = load.read();
  Profiled result{app::profile(subject.model, subject.inputs, wanted), spec, spec.dtype, {}};
  const auto disturbed = processes::objection(processes::between(before, load.read()), spec.threads);
  if (!disturbed.empty()) {
    context.log(LogLevel::kWarn, disturbed +
                                     ": times of single nodes may be wrong many times over; profile "
                                     "again once the machine is quiet");
  }
  if (!request.peaks) return result;
  result.peaks =
      app::stored_peaks(device, request.measure_peaks ? app::KeptPeaks::kNone : app::KeptPeaks::kBelieved);
  const auto& wide = result.traces[0];
  const auto reached = profiler::roofline(wide, profiler::structure(wide), *result.peaks, result.dtype);
  const bool above = !reached.doubts.empty() && result.peaks->doubts.empty();
  if (above && !request.measure_peaks) result.peaks = app::stored_peaks(device, app::KeptPeaks::kNone);
  return result;
}

}  // namespace

void add_profile_command(CLI::App& app, Context& context) {
  add_profile(app, context, capture);
}

}  // namespace wide::cli
