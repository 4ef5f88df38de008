#include "app/model_bench.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "app/activation_bytes.h"
#include "app/cancel_points.h"
#include "app/capture/capture.h"
#include "app/capture/node_facts.h"
#include "app/devices.h"
#include "app/made_up_inputs.h"
#include "app/member_copies.h"
#include "app/node_views.h"
#include "core/aten/torch_bridge.h"
#include "core/bundle/plan_file.h"
#include "core/frontend/torchscript.h"
#include "core/ir/compare.h"
#include "core/prove/prove.h"
#include "formats/error.h"
#include "formats/fault.h"
#include "presets/preset.h"
#include "presets/zoo/zoo.h"
#include "profiler/trace/structure.h"

namespace wide::app {
namespace {

using Clock = std::chrono::steady_clock;
using gui::ModelView;

constexpr auto kPatience = std::chrono::milliseconds(20);  // between two questions whether to go on

StrategyChoice choice_of(const gui::BuildWish& wish) {
  StrategyChoice choice;
  choice.all = wish.all;
  choice.by_kind = wish.by_kind;
  choice.by_value = wish.by_value;
  check_choice(choice);
  return choice;
}

// Sizes as `widebench plan NAME` takes them, so that what it measured is found again.
std::map<std::string, std::int64_t> sizes_of(const std::string& subject) {
  const auto preset = presets::read_preset(presets::find_preset(gui::kSubjectSizes), {});
  for (const auto& spec : preset.cases) {
    if (spec.subject == subject) return spec.shape;
  }
  return {};
}

// What each node called in the pass that was captured: work by name, in the order of first calls. Changes of
// layout stand with the node that wanted them.
gui::Calls calls_of(const Graph& graph, const profiler::Trace& trace) {
  const auto structure = profiler::structure(trace);
  gui::Calls calls;
  for (const auto slice : structure.order) {
    const auto node = trace.slices.node(slice);
    if (!structure.work[slice] || node < 0 || !structure.counts(trace, slice)) continue;
    const auto name = trace.names[trace.slices.name(slice)];
    bool conversion = false;
    for (auto around = structure.parent[slice]; around >= 0;
         around = structure.parent[static_cast<std::size_t>(around)]) {
      const auto kind = trace.slices.kind(static_cast<std::size_t>(around));
      conversion = conversion || kind == profiler::Kind::kConversion;
    }
    auto& list = calls[node_name(graph, static_cast<std::size_t>(node))];
    const auto known = std::find_if(list.begin(), list.end(), [&](const gui::CallView& one) {
      return one.name == name && one.conversion == conversion;
    });
    if (known != list.end()) {
      ++known->count;
    } else {
      list.push_back({std::string(name), 1, conversion});
    }
  }
  return calls;
}

class ModelBench final : public gui::Bench {
 public:
  explicit ModelBench(std::string device) : device_(std::move(device)) {}

  std::shared_ptr<const ModelView> open(const gui::ModelSource& source, const gui::BuildWish& wish,
                                        const gui::Progress& progress) override {
    const Asking asking(*this, progress);
    Open open{.source = source};
    progress(0.05, "reading " + gui::title(source));
    const auto go_on = [&progress] { progress.check(); };
    if (source.subject.empty()) {
      const std::vector<std::filesystem::path> models(source.models.begin(), source.models.end());
      const std::vector<std::filesystem::path> weights(source.weights.begin(), source.weights.end());
      for (const auto& file : models) {
        if (!is_torchscript(file)) continue;
        throw Error(
            "load",
            formats::display_name(file) +
                ": is TorchScript, which does not say the sizes of its inputs; export the model with "
                "torch.export, or run it by `widebench benchmark --model FILE --trust --inputs FILE`");
      }
      auto loaded = load(models, weights);
      if (loaded.members.size() == 1 && weights.empty()) {
        loaded.members = copies_of(loaded.graph, loaded.members[0], source.copies, go_on);
      }
      open.graph = std::move(loaded.graph);
      open.members = std::move(loaded.members);
      open.warnings = std::move(loaded.warnings);
    } else {
      const auto architecture = zoo::build(source.subject, sizes_of(source.subject));
      open.graph = architecture.graph;
      open.members = zoo::make_members(architecture, source.copies, 0, at::kFloat, go_on);
      open.inputs = zoo::make_inputs(architecture, source.copies, 0, at::kFloat, go_on);
    }
    return built(std::move(open), wish, progress);
  }

  std::shared_ptr<const ModelView> build(const gui::BuildWish& wish, const gui::Progress& progress) override {
    if (!open_) throw Error("run", "no model is open");
    const Asking asking(*this, progress);
    return built(*open_, wish, progress);
  }

  gui::ProofView prove(const gui::Progress& progress) override {
    if (!model_) throw Error("run", "no model is open");
    const auto begun = std::chrono::steady_clock::now();
    gui::ProofView view;
    const Asking asking(*this, progress);
    const auto& build = model_->build(open_->inputs);
    view.refusal = unprovable(build.plan());
    if (!view.refusal.empty()) return view;
    progress(0.1, "each member against its own run");
    Proof proof;
    try {
      view.members = member_errors(user_precisions(build.canonical), progress);
      progress(0.6, "float64 reference and cross-talk");
      proof = wide::prove(*model_, open_->inputs);
    } catch (...) {
      model_->reset();  // what a pass that was cut short has written is not kept
      throw;
    }
    view.passed = proof.passed();
    view.notes = std::move(proof.notes);
    for (const auto& member : view.members) view.passed = view.passed && member.passed;
    for (const auto& check : proof.checks) {
      view.checks.push_back(
          {check.what, check.member, check.text, check.max_abs, check.tolerance, check.passed});
    }
    view.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    return view;
  }

  gui::Calls calls(const gui::Progress& progress) override {
    if (!model_) throw Error("run", "no model is open");
    progress(-1, "a pass of all members");
    const auto& build = model_->build(open_->inputs);
    model_->reset();
    model_->forward(open_->inputs);  // what a first pass alone does is not looked at
    Capture capture({"", "wide", model_->members(), wide_nodes(build, model_->members())});
    capture.pass([&] { model_->forward(open_->inputs); });
    const auto trace = capture.finish();
    model_->reset();
    return calls_of(build.optimized, trace);
  }

  void close() override {
    model_.reset();
    open_.reset();
  }

 private:
  // While it lives, work on the model asks now and then whether it is cancelled.
  class Asking {
   public:
    Asking(ModelBench& bench, const gui::Progress& progress)
        : bench_(bench), points_([&progress, last = Clock::now()]() mutable {
            if (Clock::now() - last < kPatience) return;
            last = Clock::now();
            progress.check();
          }) {
      bench_.progress_ = &progress;
    }
    ~Asking() { bench_.progress_ = nullptr; }
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

   private:
    ModelBench& bench_;
    CancelPoints points_;
  };

  // What is kept to build again: members share their tensors with the model.
  struct Open {
    gui::ModelSource source;
    Graph graph;
    std::vector<Member> members;
    std::vector<ModelInput> inputs;
    std::vector<std::string> warnings;
  };

  std::shared_ptr<const ModelView> built(Open open, const gui::BuildWish& wish,
                                         const gui::Progress& progress) {
    BuildOptions options;
    options.device = open_device(device_);
    options.mode = parse_mode(wish.mode);
    options.strategies = choice_of(wish);
    options.costs = std::make_shared<CostBook>(CostBook::default_file());
    options.tuning.tuning = Tuning::kCached;
    options.pipeline.snapshots = true;
    options.pipeline.cancelled = [this] {
      if (progress_ != nullptr) progress_->check();
      return false;
    };
    progress(0.3, "building");
    auto model = std::make_unique<WideModel>(open.graph, open.members, options);
    if (open.inputs.empty()) open.inputs = made_up_inputs(*model, 0);
    const auto& build = model->build(open.inputs);
    progress(0.9, "describing");
    auto view = view_of(open, *model, build, wish);
    open_ = std::move(open);
    model_ = std::move(model);
    return view;
  }

  static std::shared_ptr<const ModelView> view_of(const Open& open, WideModel& model, const Build& build,
                                                  const gui::BuildWish& wish) {
    auto view = std::make_shared<ModelView>();
    view->source = open.source;
    view->wish = wish;
    view->name = gui::title(open.source);
    view->warnings = open.warnings;
    for (const auto& member : model.member_list()) view->members.push_back(member.name);
    for (std::size_t k = 0; k < open.inputs.size(); ++k) {
      const auto& value = model.graph().values[static_cast<std::size_t>(model.user_inputs()[k].value)];
      const auto tensor = open.inputs[k].member(0);
      view->inputs.push_back(value.name + " : " + dtype_name(tensor.scalar_type()) +
                             shape_text(tensor.sizes()) + (open.inputs[k].mapped ? "" : ", shared"));
    }
    for (const auto& [fqn, tensor] : model.member_list().front().tensors) {
      view->dtypes[dtype_name(tensor.scalar_type())] += tensor.numel();
      view->member_bytes += static_cast<std::int64_t>(tensor.nbytes());
    }
    for (const auto& input : model.graph().inputs) {
      if (input.kind != InputKind::kParameter) continue;
      view->parameters += model.member_list().front().tensors.at(input.target).numel();
    }
    view->kept_bytes = model.weight_bytes();
    view->activation_bytes = activation_bytes(build.optimized, build.plan());
    add_build(*view, model, build);
    return view;
  }

  static void add_build(ModelView& view, const WideModel& model, const Build& build) {
    const auto cover = coverage(build);
    view.nodes = cover.nodes, view.sequential = cover.sequential, view.shared = cover.shared;
    view.constant = cover.constant, view.conversions = cover.conversions, view.copies = cover.copies;
    view.sequential_ops = cover.sequential_ops;
    view.schedule = cover.schedule;
    view.plan = to_json(store(build.optimized, model.members(), build.planned)).dump(1) + "\n";
    view.turns = static_cast<double>(build.planned.schedule.turns(model.members()));
    view.pass_us = view.turns * build.plan().cost / 1e3;
    view.build_milliseconds = build.milliseconds;
    const auto& graph = build.optimized;
    view.graph = node_views(graph, build.plan());
    for (const auto& output : graph.outputs) {
      if (const auto* ref = output.value.ref())
        view.outputs.push_back(graph.values[static_cast<std::size_t>(ref->id)].name);
    }
    for (const auto& stage : build.stages)
      view.stages.push_back({stage.name, stage.text, stage.milliseconds});
    for (const auto& one : build.planned.options) {
      view.schedules.push_back({describe(one.schedule, model.members(), graph.device), one.predicted / 1e3,
                                one.measured / 1e3, one.schedule == build.planned.schedule});
    }
  }

  std::vector<gui::MemberError> member_errors(const std::vector<Precision>& precisions,
                                              const gui::Progress& progress) {
    const auto& inputs = open_->inputs;
    model_->reset();
    const auto outputs = model_->forward(inputs);
    std::vector<gui::MemberError> errors;
    for (std::int64_t i = 0; i < model_->members(); ++i) {
      progress(0.1 + 0.5 * static_cast<double>(i) / static_cast<double>(model_->members()),
               "member " + model_->member_list()[static_cast<std::size_t>(i)].name);
      gui::MemberError error{.member = model_->member_list()[static_cast<std::size_t>(i)].name};
      const auto alone = model_->run_alone(i, inputs).outputs;
      bool any_number = false, any_finite = false;
      for (std::size_t k = 0; k < outputs.size() && k < alone.size(); ++k) {
        if (!outputs[k].is_tensor() || !alone[k].isTensor()) continue;
        const auto expected = alone[k].toTensor();
        const auto bound = tolerance(precisions[k], magnitude(expected));
        const auto difference = compare(outputs[k].member(i), expected, bound);
        error.passed = error.passed && difference.agrees;
        any_number = any_number || difference.any_number;
        any_finite = any_finite || difference.any_finite;
        if (error.worst.empty() || !(difference.max_abs <= error.max_abs)) {
          error.max_abs = difference.max_abs;
          error.max_rel = difference.max_rel;
          error.tolerance = difference.allowed;
          error.worst = "output " + std::to_string(k) + " " + difference.text;
        }
      }
      error.is_empty = any_number && !any_finite;
      errors.push_back(std::move(error));
    }
    model_->reset();
    return errors;
  }

  const gui::Progress* progress_ = nullptr;  // of the job that runs; null between jobs
  std::optional<Open> open_;
  std::string device_;
  std::unique_ptr<WideModel> model_;
};

}  // namespace

std::unique_ptr<gui::Bench> model_bench(const std::string& device) {
  return std::make_unique<ModelBench>(device);
}

}  // namespace wide::app
