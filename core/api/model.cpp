#include <wide/model.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <set>
#include <utility>

#include "core/api/taken.h"
#include "core/api/values.h"
#include "core/aten/device.h"
#include "core/bundle/bundle.h"
#include "core/frontend/members.h"
#include "core/run/tensor_memory.h"

namespace widebench {

namespace {

// The process, or one that it was forked from, that made a wide model first.
pid_t process_of_the_first() {
  static const pid_t first = ::getpid();
  return first;
}

[[noreturn]] void refuse_lost(const std::string& member, const std::string& fqn) {
  throw wide::Error("stale", "member '" + member + "', tensor '" + fqn +
                                 "': who brought it has given its memory back; load its numbers again and "
                                 "call replace_members()");
}

}  // namespace

class WideModel::State {
 public:
  State(wide::Graph graph, std::map<std::string, at::Tensor> file, Taken taken,
        std::vector<std::string> load_warnings, const Config& config, bool borrowed,
        std::map<std::string, wide::StoredPlan> plans = {})
      : own(std::move(file)),
        versions(std::move(taken.versions)),
        warnings(std::move(load_warnings)),
        strategy(config.strategy),
        validate(config.validate),
        model(std::move(graph), std::move(taken.members), options(config, borrowed, std::move(plans))) {
    note_members();
    const auto& captured = model.graph();
    for (const auto& output : captured.outputs) {
      if (output.kind != wide::OutputKind::kUser) continue;
      const auto* value = output.value.ref();
      are_tensors.push_back(value && captured.values[static_cast<std::size_t>(value->id)].tensor);
    }
  }

  void note_members() {
    names.clear();
    for (const auto& member : model.member_list()) names.push_back(member.name);
    members = model.members();
  }

  // Each text once.
  void warn(const std::string& text) {
    if (!text.empty() && std::ranges::find(warnings, text) == warnings.end()) warnings.push_back(text);
  }

  // What was written since is not what was built.
  void refuse_changed() const {
    if (const auto changed = versions.changed(model.buffers()); !changed.empty())
      throw wide::Error("stale",
                        changed + ": was written after the wide model took it in; call replace_members()");
  }
  // For who reads members' own tensors, not what was packed of them.
  void refuse_unreadable() const {
    refuse_changed();
    for (const auto& [name, tensors] : model.member_list()) {
      for (const auto& [fqn, tensor] : tensors) {
        if (lacks_memory(tensor)) refuse_lost(name, fqn);
      }
    }
  }

  void refuse_cancelled() const {
    if (cancelled) throw wide::Error("plan", "cancelled");
  }

  void note_progress(const std::string& what) {
    const std::lock_guard lock(progress_mutex);
    progress = what;
  }

  bool is_ready(std::span<const wide::ModelInput> inputs) const {
    return !validate && model.has_build(inputs);
  }

  const wide::Build& build(std::span<const wide::ModelInput> inputs) {
    if (is_ready(inputs)) return model.build(inputs);
    refuse_unreadable();
    const wide::KeptGenerator kept(at::kCPU);  // measuring draws operands
    struct NoteTheEnd {
      State& state;
      ~NoteTheEnd() { state.note_progress({}); }
    } const at_the_end{*this};
    const auto& built = model.build(inputs);
    refuse_cancelled();  // also where it came too late to save any work
    warn(built.plan().objection_to(built.optimized, std::array{strategy}));
    if (validate) {
      for (const auto& check : wide::prove(model, inputs).checks) {
        if (!check.passed)
          throw wide::Error("prove", "member '" + check.member + "': " + check.what + ": " + check.text +
                                         "; build with strategy \"sequential\"");
      }
      validate = false;
    }
    return model.build(inputs);
  }

  std::vector<Output> forward(std::span<const wide::ModelInput> inputs) {
    refuse_changed();
    std::vector<Output> outputs;
    for (auto& output : model.forward(inputs)) {
      const bool is_tensor = are_tensors.at(outputs.size());
      outputs.push_back(is_tensor ? of_all(std::move(output), model.members())
                                  : Output{std::move(output.name), {}, output.mapped, {}});
    }
    return outputs;
  }

  /// `body` with inputs of core, alone with the model.
  template <typename Body>
  auto locked(const char* stage, std::span<const Input> given, Body body) {
    return with_errors(stage, [&] {
      if (process != ::getpid()) {
        throw wide::Error(
            stage,
            "this process was forked after the wide model was made, and threads of libtorch do "
            "not live on in it; start processes by 'spawn', or fork before the first model is made");
      }
      if (first_process != process && at::get_num_threads() > 1) {
        throw wide::Error(
            stage,
            "this process was forked from one that had wide models, whose threads do not live on in it; take "
            "one thread (set_num_threads(1)), or start processes by 'spawn'");
      }
      const std::lock_guard lock(mutex);
      cancelled = false;  // what was cancelled is over
      // A model computes in its own types: what kernels a plan chose does not decide which of its products
      // an autocast around the call would turn into others.
      const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
      return body(inputs_of(given));
    });
  }

  const pid_t process = ::getpid(), first_process = process_of_the_first();
  std::map<std::string, at::Tensor> own;  ///< tensors of the file that no member brings
  Versions versions;
  mutable std::mutex mutex;
  std::atomic<bool> cancelled{false};
  std::atomic<std::int64_t> members{0};
  mutable std::mutex progress_mutex;
  std::string progress;
  std::vector<std::string> names, warnings;
  std::vector<bool> are_tensors;  ///< of the outputs
  std::string strategy;           ///< as the caller named it
  bool validate;                  ///< the members are not proved yet, and shall be
  wide::WideModel model;

 private:
  wide::BuildOptions options(const Config& config, bool borrowed,
                             std::map<std::string, wide::StoredPlan> plans) {
    auto made = options_of(config);
    made.plans = std::move(plans);
    made.borrowed = borrowed;
    made.stacked = true;
    made.warn = [this](const std::string& what) { warn(what); };
    made.tuning.progress = [this](const std::string& what) {
      refuse_cancelled();
      note_progress(what);
    };
    made.pipeline.cancelled = [this] { return cancelled.load(); };
    return made;
  }
};

WideModel::WideModel(std::unique_ptr<State> state) : state_(std::move(state)) {}
WideModel::WideModel(WideModel&&) noexcept = default;
WideModel& WideModel::operator=(WideModel&&) noexcept = default;
WideModel::~WideModel() = default;

WideModel WideModel::from_files(const std::vector<std::filesystem::path>& models,
                                const std::vector<std::filesystem::path>& checkpoints, const Config& config) {
  return with_errors("load", [&] {
    auto loaded = wide::load(models, checkpoints);
    auto own = constants_of(loaded.graph, loaded.members.at(0).tensors);
    return WideModel(std::make_unique<State>(std::move(loaded.graph), std::move(own),
                                             Taken{std::move(loaded.members), {}}, std::move(loaded.warnings),
                                             config, /*borrowed=*/false));
  });
}

WideModel WideModel::from_bundle(const std::filesystem::path& folder, bool trust_code, const Config& config) {
  return with_errors("load", [&] {
    auto bundle = wide::read_bundle(folder, {trust_code});
    auto& loaded = bundle.loaded;
    auto own = constants_of(loaded.graph, loaded.members.at(0).tensors);
    auto given = config;
    given.mode = name(bundle.mode);
    given.seed = bundle.seed;
    return WideModel(std::make_unique<State>(std::move(loaded.graph), std::move(own),
                                             Taken{std::move(loaded.members), {}}, std::move(loaded.warnings),
                                             given, /*borrowed=*/false, std::move(bundle.plans)));
  });
}

WideModel WideModel::from_bytes(std::vector<std::byte> program, std::vector<MemberWeights> members,
                                const Config& config, const std::string& name) {
  return with_errors("load", [&] {
    std::set<std::string> given;
    for (const auto& member : members) {
      for (const auto& [fqn, tensor] : member.tensors) given.insert(fqn);
    }
    auto loaded = wide::load_program(std::move(program), name, given);
    if (members.empty()) members.push_back({name, {}});
    // A tensor that only some bring is no longer read from the file: check_member() says who lacks it.
    Taken taken;
    const auto known = tensor_names(loaded.graph);
    for (const auto& member : members) take(taken, loaded.graph, known, loaded.tensors, member);
    check_names(taken.members);
    return WideModel(std::make_unique<State>(std::move(loaded.graph), std::move(loaded.tensors),
                                             std::move(taken), std::move(loaded.warnings), config,
                                             /*borrowed=*/true));
  });
}

std::int64_t WideModel::size() const {
  return state_->members;
}

std::vector<std::string> WideModel::names() const {
  return state_->locked("run", {}, [&](const auto&) { return state_->names; });
}

std::vector<std::string> WideModel::warnings() const {
  return state_->locked("run", {}, [&](const auto&) { return state_->warnings; });
}

std::vector<InputInfo> WideModel::inputs() const {
  std::vector<InputInfo> infos;
  const auto& graph = state_->model.graph();
  for (const auto& input : state_->model.user_inputs()) {
    const auto& type = graph.values[static_cast<std::size_t>(input.value)].type;
    InputInfo info{input.target, {}, type ? dtype_of(type->dtype) : Dtype::kOther};
    for (const auto& size : type ? type->sizes : std::vector<wide::formats::SymbolicInt>()) {
      const auto* number = std::get_if<std::int64_t>(&size);
      info.sizes.push_back(number ? *number : -1);
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

void WideModel::prepare(std::span<const Input> inputs) {
  state_->locked("plan", inputs, [&](const auto& given) { state_->build(given); });
}

std::vector<Output> WideModel::forward(std::span<const Input> inputs) {
  return state_->locked("run", inputs, [&](const auto& given) {
    state_->build(given);
    return state_->forward(given);
  });
}

std::optional<std::vector<Output>> WideModel::forward_if_prepared(std::span<const Input> inputs) {
  return state_->locked("run", inputs, [&](const auto& given) {
    return state_->is_ready(given) ? std::optional(state_->forward(given)) : std::nullopt;
  });
}

std::vector<Tensor> WideModel::run_alone(std::int64_t i, std::span<const Input> inputs) {
  return state_->locked("run", inputs, [&](const auto& given) {
    if (i < 0 || i >= size()) throw wide::Error("run", "there is no member " + std::to_string(i));
    state_->refuse_unreadable();
    const auto& weights = state_->model.member_list()[static_cast<std::size_t>(i)].tensors;
    const auto copied = [&](const at::Tensor& tensor) {  // what is done to it must not change the member
      const bool is_weight = std::ranges::any_of(weights, [&](const auto& weight) {
        return tensor.has_storage() && weight.second.has_storage() &&
               tensor.storage().is_alias_of(weight.second.storage());
      });
      return is_weight ? tensor.clone() : tensor;
    };
    std::vector<Tensor> outputs;
    for (const auto& output : state_->model.run_alone(i, given).outputs)
      outputs.push_back(output.isTensor() ? Tensor(ordinary(copied(output.toTensor()))) : Tensor());
    return outputs;
  });
}

Plan WideModel::plan(std::span<const Input> inputs) {
  return state_->locked("plan", inputs, [&](const auto& given) {
    return plan_of(state_->build(given), state_->model.members());
  });
}

Report WideModel::report(std::span<const Input> inputs) {
  return state_->locked("plan", inputs,
                        [&](const auto& given) { return report_of(state_->build(given), state_->model); });
}

Proof WideModel::prove(std::span<const Input> inputs) {
  return state_->locked("prove", inputs, [&](const auto& given) {
    state_->refuse_unreadable();
    const wide::KeptGenerator kept(at::kCPU);
    return proof_of(wide::prove(state_->model, given));
  });
}

std::map<std::string, Tensor> WideModel::weights(std::int64_t member, bool as_loaded) const {
  return state_->locked("run", {}, [&](const auto&) {
    const auto& model = state_->model;
    if (member < 0 || member >= model.members())
      throw wide::Error("run", "there is no member " + std::to_string(member));
    std::map<std::string, Tensor> copies;
    const auto& [name, tensors] = model.member_list()[static_cast<std::size_t>(member)];
    for (const auto& input : model.graph().inputs) {
      if (input.kind == wide::InputKind::kUser) continue;
      const auto written = model.buffers().find(input.target);
      const bool is_loaded = as_loaded || written == model.buffers().end();
      const at::Tensor own = is_loaded ? tensors.at(input.target) : written->second.select(0, member);
      if (lacks_memory(own)) refuse_lost(name, input.target);
      copies[input.target] = own.clone();
    }
    return copies;
  });
}

void WideModel::replace_members(std::vector<MemberWeights> members) {
  state_->locked("load", {}, [&](const auto&) {
    auto& model = state_->model;
    const auto known = tensor_names(model.graph());
    Taken taken;
    for (const auto& given : members) {
      if (!given.same_as || !given.tensors.empty()) {
        take(taken, model.graph(), known, state_->own, given);
        continue;
      }
      if (*given.same_as < 0 || *given.same_as >= model.members())
        throw wide::Error("load", "there is no member " + std::to_string(*given.same_as));
      auto kept = model.member_list()[static_cast<std::size_t>(*given.same_as)];
      taken.versions.adopt(state_->versions, kept.name, given.name);
      kept.name = given.name;
      taken.members.push_back(std::move(kept));
    }
    if (taken.members.empty()) throw wide::Error("load", "no member is given; a wide model has at least one");
    check_names(taken.members);
    model.replace_members(std::move(taken.members));
    taken.versions.go_on_from(state_->versions);
    state_->versions = std::move(taken.versions);
    state_->note_members();
  });
}

std::string WideModel::changed() const {
  return state_->locked("run", {},
                        [&](const auto&) { return state_->versions.changed(state_->model.buffers()); });
}

void WideModel::reset() {
  state_->locked("run", {}, [&](const auto&) { state_->model.reset(); });
}

void WideModel::write_bundle(const std::filesystem::path& folder, std::span<const std::byte> program,
                             bool replace) const {
  state_->locked("bundle", {}, [&](const auto&) {
    state_->refuse_unreadable();
    wide::write_bundle(folder, program, state_->model, replace);
  });
}

void WideModel::cancel() {
  state_->cancelled = true;
}

std::string WideModel::progress() const {
  const std::lock_guard lock(state_->progress_mutex);
  return state_->progress;
}

std::string architecture_difference(std::vector<std::byte> first, std::vector<std::byte> second,
                                    const std::string& name) {
  return with_errors("load", [&] {
    const auto one = wide::load_graph(std::move(first), name);
    return wide::architecture_difference(one, wide::load_graph(std::move(second), name));
  });
}

void use_pooled_memory() {
  wide::use_tensor_memory();
}

bool uses_pooled_memory() {
  return wide::uses_tensor_memory();
}

}  // namespace widebench
