// The operators torch.ops.widebench.*: wide models by number, for the Python package. No Python header is
// read, so that one library serves every Python; torch releases the interpreter's lock while an operator
// runs.
#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>
#include <torch/library.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/aten/device.h"
#include "core/aten/torch_error.h"
#include "core/frontend/members.h"
#include "core/model/wide_model.h"
#include "core/prove/prove.h"
#include "core/run/tensor_memory.h"
#include "formats/error.h"

namespace wide::python {
namespace {

using Tensors = std::vector<at::Tensor>;
using Strings = std::vector<std::string>;

// Python takes stage and message apart again.
[[noreturn]] void raise(const std::string& stage, const std::string& message) {
  throw std::runtime_error("widebench [" + stage + "] " + message);
}

template <typename Body>
auto with_errors(const char* stage, Body body) {
  try {
    return body();
  } catch (const Error& error) {
    raise(error.stage(), error.what());
  } catch (const c10::Error& error) {
    if (is_out_of_memory(error)) throw std::bad_alloc();
    raise(stage, first_line(error));
  }
}

std::vector<std::byte> bytes_of(const at::Tensor& program) {
  if (program.scalar_type() != at::kByte || !program.is_contiguous() || !program.is_cpu())
    raise("load", "a program is given as its bytes, a tensor of uint8");
  const auto* data = static_cast<const std::byte*>(program.const_data_ptr());
  return {data, data + program.numel()};
}

/// Whether weights that the caller keeps were written since they were taken in. The counters outlive the
/// tensors.
class Versions {
 public:
  void watch(const std::string& member, const std::string& fqn, const at::Tensor& tensor) {
    const auto& counter = tensor.unsafeGetTensorImpl()->version_counter();
    if (counter.enabled()) watched_.push_back({counter, counter.current_version(), member, fqn});
  }
  /// Goes on watching what `before` watches of its member `from`, now called `to`.
  void adopt(const Versions& before, const std::string& from, const std::string& to) {
    for (auto one : before.watched_) {
      if (one.member != from) continue;
      one.member = to;
      watched_.push_back(std::move(one));
    }
  }
  /// "member 'a', tensor 'w'" of the first that was; empty where none was. Buffers in `written` do not count:
  /// the model writes its own.
  std::string changed(const std::map<std::string, at::Tensor>& written) const {
    for (const auto& one : watched_) {
      if (one.counter.current_version() != one.seen && !written.contains(one.fqn))
        return "member '" + one.member + "', tensor '" + one.fqn + "'";
    }
    return {};
  }

 private:
  struct Watched {
    c10::VariableVersion counter;
    std::uint32_t seen;
    std::string member, fqn;
  };
  std::vector<Watched> watched_;
};

struct Members {
  std::vector<Member> list;
  Versions versions;
};

/// `tensors`: those of the first member by `fqns`, then of the second, … What a member does not bring is the
/// file's.
Members members_of(const Graph& graph, const std::map<std::string, at::Tensor>& own, const Strings& names,
                   const Strings& fqns, const Tensors& tensors) {
  if (tensors.size() != names.size() * fqns.size()) raise("load", "every member brings the same tensors");
  Members members;
  std::size_t next = 0;
  for (const auto& name : names) {
    Member member{name, own};
    for (const auto& fqn : fqns) {
      const auto& tensor = tensors[next++];
      if (!tensor.is_cpu())
        raise("load", "member '" + name + "', tensor '" + fqn + "': lies on " + tensor.device().str() +
                          "; this package runs models on the CPU, move the members there");
      members.versions.watch(name, fqn, tensor);
      member.tensors.insert_or_assign(fqn, tensor.detach());
    }
    check_member(graph, member);
    members.list.push_back(std::move(member));
  }
  return members;
}

std::shared_ptr<CostBook> costs_of_process(bool on_disk) {
  static const auto memory = std::make_shared<CostBook>();
  if (!on_disk) return memory;
  static const auto disk = std::make_shared<CostBook>(CostBook::default_file());
  return disk;
}

/// One wide model. Its operators wait for each other; two models run side by side.
struct Entry {
  Entry(Graph graph, std::map<std::string, at::Tensor> file, Members members,
        const std::function<BuildOptions(Entry&)>& options)
      : own(std::move(file)),
        versions(std::move(members.versions)),
        model(std::move(graph), std::move(members.list), options(*this)) {
    for (const auto& output : model.graph().outputs) {
      if (output.kind != OutputKind::kUser) continue;
      const auto* value = output.value.ref();
      tensor_outputs.push_back(value && model.graph().values[static_cast<std::size_t>(value->id)].tensor);
    }
  }

  const pid_t process = ::getpid();
  std::map<std::string, at::Tensor> own;  ///< tensors of the file that no member brings
  Versions versions;
  std::mutex mutex;
  std::atomic<bool> cancelled{false};
  std::mutex progress_mutex;
  std::string progress;
  WideModel model;
  std::vector<bool> tensor_outputs;  ///< of the user outputs; the others are numbers, which Python knows
};

std::shared_mutex registry_mutex;
std::int64_t last_handle = 0;

std::map<std::int64_t, std::shared_ptr<Entry>>& registry() {
  // Never destroyed: models may be released after static objects are gone.
  static auto* const all = new std::map<std::int64_t, std::shared_ptr<Entry>>;
  return *all;
}

std::shared_ptr<Entry> find(std::int64_t handle) {
  std::shared_ptr<Entry> entry;
  {
    const std::shared_lock lock(registry_mutex);
    const auto found = registry().find(handle);
    if (found != registry().end()) entry = found->second;
  }
  if (!entry) raise("run", "this wide model was deleted; keep the module that compile() gave");
  if (entry->process != ::getpid()) {
    raise("run",
          "this process was forked after the wide model was made, and threads of libtorch do not live on in "
          "it; make the "
          "model in this process, or start processes by 'spawn'");
  }
  return entry;
}

std::vector<ModelInput> inputs_of(const Tensors& tensors, const c10::List<bool>& mapped) {
  if (tensors.size() != mapped.size()) raise("run", "each input is said to be mapped or not");
  std::vector<ModelInput> inputs;
  inputs.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (mapped[i] && tensors[i].dim() == 0)
      raise("run", "input." + std::to_string(i) + " has no axis of members");
    inputs.push_back({tensors[i], mapped[i]});
  }
  return inputs;
}

/// The same memory as a tensor that autograd may save: passes run in inference mode.
at::Tensor ordinary(const at::Tensor& tensor) {
  if (!tensor.is_inference() || c10::InferenceMode::is_enabled()) return tensor;
  auto result = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(tensor.storage()), c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  auto* impl = result.unsafeGetTensorImpl();
  impl->set_storage_offset(tensor.storage_offset());
  impl->set_sizes_and_strides(tensor.sizes(), tensor.strides());
  return result;
}

at::Tensor with_members(const ModelOutput& output, std::int64_t members) {
  const auto tensor = ordinary(output.stacked());
  if (output.mapped) return tensor;
  auto sizes = tensor.sizes().vec();
  sizes.insert(sizes.begin(), members);
  return tensor.expand(sizes);
}

/// Of the options that Python gives, in the order of its schemas.
struct Given {
  const std::string &mode, &tuning;
  double seconds;
  bool costs_on_disk;
  const std::string& strategy;
  std::int64_t seed;
  bool snapshots, borrowed;
};

BuildOptions options_of(const Given& given, Entry& entry) {
  BuildOptions options;
  options.mode = parse_mode(given.mode);
  for (std::size_t begin = 0; begin < given.strategy.size();) {
    const auto end = std::min(given.strategy.find('+', begin), given.strategy.size());
    add_choice(options.strategies, given.strategy.substr(begin, end - begin));
    begin = end + 1;
  }
  check_choice(options.strategies);
  options.tuning.tuning = given.tuning == "estimate" ? Tuning::kEstimate
                          : given.tuning == "cached" ? Tuning::kCached
                                                     : Tuning::kMeasure;
  options.tuning.seconds = given.seconds;
  options.tuning.progress = [&entry](const std::string& what) {
    if (entry.cancelled) throw Error("plan", "cancelled");
    const std::lock_guard lock(entry.progress_mutex);
    entry.progress = what;
  };
  options.costs = costs_of_process(given.costs_on_disk);
  options.seed = static_cast<std::uint64_t>(given.seed);
  options.borrowed = given.borrowed;
  options.pipeline.snapshots = given.snapshots;
  options.pipeline.cancelled = [&entry] { return entry.cancelled.load(); };
  return options;
}

std::int64_t enter(Graph graph, std::map<std::string, at::Tensor> own, Members members, const Given& given) {
  auto entry = std::make_shared<Entry>(std::move(graph), std::move(own), std::move(members),
                                       [&](Entry& self) { return options_of(given, self); });
  const std::unique_lock lock(registry_mutex);
  registry().emplace(++last_handle, std::move(entry));
  return last_handle;
}

std::int64_t create(const at::Tensor& program, const std::string& name, const Strings& members,
                    const Strings& fqns, const Tensors& tensors, const std::string& mode,
                    const std::string& tuning, double seconds, bool costs_on_disk,
                    const std::string& strategy, std::int64_t seed, bool snapshots) {
  return with_errors("load", [&] {
    auto loaded = load_program(bytes_of(program), name, {fqns.begin(), fqns.end()});
    auto all = members_of(loaded.graph, loaded.tensors, members, fqns, tensors);
    return enter(std::move(loaded.graph), std::move(loaded.tensors), std::move(all),
                 {mode, tuning, seconds, costs_on_disk, strategy, seed, snapshots, /*borrowed=*/true});
  });
}

// The model's number, the members' names, warnings.
std::tuple<std::int64_t, Strings, Strings> open_files(const Strings& models, const Strings& checkpoints,
                                                      const std::string& mode, const std::string& tuning,
                                                      double seconds, bool costs_on_disk,
                                                      const std::string& strategy, std::int64_t seed,
                                                      bool snapshots) {
  return with_errors("load", [&] {
    auto loaded = load({models.begin(), models.end()}, {checkpoints.begin(), checkpoints.end()});
    Strings names;
    for (const auto& member : loaded.members) names.push_back(member.name);
    auto own = loaded.members.at(0).tensors;
    const auto handle = enter(std::move(loaded.graph), std::move(own), {std::move(loaded.members), {}},
                              {mode, tuning, seconds, costs_on_disk, strategy, seed, snapshots, false});
    return std::tuple(handle, std::move(names), std::move(loaded.warnings));
  });
}

void destroy(std::int64_t handle) {
  std::shared_ptr<Entry> entry;  // freed without the lock
  const std::unique_lock lock(registry_mutex);
  const auto found = registry().find(handle);
  if (found == registry().end()) return;
  entry = std::move(found->second);
  registry().erase(found);
}

/// What a compiler that has seen the fake outputs counts on: dense, in memory of its own.
at::Tensor as_faked(const at::Tensor& output, const Tensors& inputs) {
  const bool input =
      std::ranges::any_of(inputs, [&](const at::Tensor& one) { return one.is_alias_of(output); });
  return input ? output.clone(at::MemoryFormat::Contiguous) : output.contiguous();
}

void refuse_stale(const Entry& entry) {
  if (const auto changed = entry.versions.changed(entry.model.buffers()); !changed.empty())
    raise("stale", changed + ": was written after the wide model took it in; call refresh()");
}

// `compiled`: called by a graph of torch.compile. Else what is not built yet is Python's to build, where it
// can be interrupted.
Tensors forward(std::int64_t handle, Tensors tensors, const c10::List<bool>& mapped, bool compiled) {
  return with_errors("run", [&] {
    const auto entry = find(handle);
    const std::lock_guard lock(entry->mutex);
    const auto inputs = inputs_of(tensors, mapped);
    if (!compiled && !entry->model.has_build(inputs)) raise("unbuilt", "there is no build for these inputs");
    if (!entry->model.has_build(inputs)) {
      const KeptGenerator kept(at::kCPU);
      entry->model.build(inputs);
    }
    refuse_stale(*entry);
    const auto outputs = entry->model.forward(inputs);
    Tensors results;
    results.reserve(outputs.size());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!entry->tensor_outputs.at(i)) continue;
      auto result = with_members(outputs[i], entry->model.members());
      results.push_back(compiled ? as_faked(result, tensors) : std::move(result));
    }
    return results;
  });
}

// Inputs may require gradients; outputs never do.
Tensors forward_below_autograd(std::int64_t handle, Tensors tensors, const c10::List<bool>& mapped,
                               bool compiled) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("widebench::forward", "")
                             .typed<Tensors(std::int64_t, Tensors, const c10::List<bool>&, bool)>();
  const at::AutoDispatchBelowAutograd guard;
  return op.call(handle, std::move(tensors), mapped, compiled);
}

// Of a pass without Python, so that what a call adds to it can be told.
double seconds_per_pass(std::int64_t handle, const Tensors& tensors, const c10::List<bool>& mapped,
                        std::int64_t passes) {
  return with_errors("run", [&] {
    const auto entry = find(handle);
    const std::lock_guard lock(entry->mutex);
    const auto inputs = inputs_of(tensors, mapped);
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < passes; ++i) entry->model.forward(inputs);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    return taken.count() / static_cast<double>(std::max<std::int64_t>(passes, 1));
  });
}

void prepare(std::int64_t handle, const Tensors& tensors, const c10::List<bool>& mapped) {
  with_errors("plan", [&] {
    const auto entry = find(handle);
    const std::lock_guard lock(entry->mutex);
    entry->cancelled = false;
    const KeptGenerator kept(at::kCPU);  // measuring draws operands
    entry->model.build(inputs_of(tensors, mapped));
  });
}

void cancel(std::int64_t handle) {
  find(handle)->cancelled = true;
}

std::string progress(std::int64_t handle) {
  const auto entry = find(handle);
  const std::lock_guard lock(entry->progress_mutex);
  return entry->progress;
}

std::string describe_plan(std::int64_t handle, const Tensors& tensors, const c10::List<bool>& mapped) {
  return with_errors("plan", [&] {
    const auto entry = find(handle);
    const std::lock_guard lock(entry->mutex);
    const auto& build = entry->model.build(inputs_of(tensors, mapped));
    return print(build.optimized, build.plan());
  });
}

// Rows of eight: operator, result, strategy, nanoseconds, measured, module, the best of the others, its
// nanoseconds.
Strings plan_rows(std::int64_t handle, const Tensors& tensors, const c10::List<bool>& mapped) {
  return with_errors("plan", [&] {
    const auto entry = find(handle);
    const std::lock_guard lock(entry->mutex);
    const auto& build = entry->model.build(inputs_of(tensors, mapped));
    const auto& plan = build.plan();
    Strings rows;
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
      const auto& node = build.optimized.nodes[i];
      const auto& chosen = plan.nodes[i];
      const auto result = std::ranges::find_if(node.results, [](ValueId id) { return id >= 0; });
      const Alternative* second = nullptr;
      for (const auto& other : chosen.alternatives) {
        if (other.strategy != chosen.strategy && (!second || other.cost < second->cost)) second = &other;
      }
      const bool at_build = plan.at_build(node);
      rows.insert(rows.end(),
                  {node.op,
                   result == node.results.end()
                       ? ""
                       : "%" + build.optimized.values[static_cast<std::size_t>(*result)].name,
                   at_build ? std::string(kConstantStrategy) : chosen.strategy,
                   std::to_string(chosen.offer.cost), chosen.measured ? "measured" : "", node.module_path,
                   second ? second->strategy : "", second ? std::to_string(second->cost) : ""});
    }
    return rows;
  });
}

// Name and value in turn.
Strings facts(std::int64_t handle, const Tensors& tensors, const c10::List<bool>& mapped) {
  return with_errors("plan", [&] {
    const auto entry = find(handle);
    const std::lock_guard lock(entry->mutex);
    const auto& build = entry->model.build(inputs_of(tensors, mapped));
    const auto found = coverage(build);
    Strings lines = {"members",
                     std::to_string(entry->model.members()),
                     "wide",
                     std::to_string(found.nodes - found.sequential),
                     "sequential",
                     std::to_string(found.sequential),
                     "shared",
                     std::to_string(found.shared),
                     "constant",
                     std::to_string(found.constant),
                     "conversions",
                     std::to_string(found.conversions),
                     "copies",
                     std::to_string(found.copies),
                     "schedule",
                     describe(build.planned.schedule, entry->model.members()),
                     "weight_bytes",
                     std::to_string(entry->model.weight_bytes()),
                     "milliseconds",
                     std::to_string(build.milliseconds),
                     "tuning_milliseconds",
                     std::to_string(build.tuning_milliseconds),
                     "builds",
                     std::to_string(entry->model.builds()),
                     "random",
                     build.random ? "1" : "0"};
    for (const auto& [op, count] : found.sequential_ops)
      lines.insert(lines.end(), {"sequential " + op, std::to_string(count)});
    for (const auto& stage : build.stages) {
      lines.insert(lines.end(), {"stage " + stage.name, std::to_string(stage.milliseconds)});
      if (!stage.text.empty()) lines.insert(lines.end(), {"text " + stage.name, stage.text});
    }
    return lines;
  });
}

// Checks by name, member and text in turn; of each, largest absolute and relative difference, tolerance, and
// 1 if it passed; notes.
std::tuple<Strings, std::vector<double>, Strings> prove_model(std::int64_t handle, const Tensors& tensors,
                                                              const c10::List<bool>& mapped) {
  return with_errors("prove", [&] {
    const auto entry = find(handle);
    const std::lock_guard lock(entry->mutex);
    refuse_stale(*entry);
    const KeptGenerator kept(at::kCPU);
    const auto proof = prove(entry->model, inputs_of(tensors, mapped));
    Strings texts;
    std::vector<double> numbers;
    for (const auto& check : proof.checks) {
      texts.insert(texts.end(), {check.what, check.member, check.text});
      numbers.insert(numbers.end(),
                     {check.max_abs, check.max_rel, check.tolerance, check.passed ? 1.0 : 0.0});
    }
    return std::tuple(std::move(texts), std::move(numbers), proof.notes);
  });
}

// A member's tensors by name, copies, with written buffers as the last pass left them.
std::tuple<Strings, Tensors> member_state(std::int64_t handle, std::int64_t i) {
  return with_errors("run", [&] {
    const auto entry = find(handle);
    const std::lock_guard lock(entry->mutex);
    const auto& members = entry->model.member_list();
    if (i < 0 || i >= entry->model.members()) raise("run", "there is no member " + std::to_string(i));
    std::tuple<Strings, Tensors> state;
    for (const auto& [fqn, tensor] : members[static_cast<std::size_t>(i)].tensors) {
      const auto written = entry->model.buffers().find(fqn);
      const auto& now = written == entry->model.buffers().end() ? tensor : written->second.select(0, i);
      std::get<0>(state).push_back(fqn);
      std::get<1>(state).push_back(now.clone());
    }
    return state;
  });
}

// As create() has them; -1 in `kept` takes the next of `tensors`, else the tensors of that member of before.
void replace_members(std::int64_t handle, const Strings& names, const std::vector<std::int64_t>& kept,
                     const Strings& fqns, const Tensors& tensors) {
  with_errors("load", [&] {
    const auto entry = find(handle);
    const std::lock_guard lock(entry->mutex);
    if (names.size() != kept.size()) raise("load", "each member is kept or new");
    Strings fresh;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (kept[i] < 0) fresh.push_back(names[i]);
    }
    auto added = members_of(entry->model.graph(), entry->own, fresh, fqns, tensors);
    std::vector<Member> members;
    std::size_t next = 0;
    for (std::size_t i = 0; i < names.size(); ++i) {
      members.push_back(kept[i] < 0 ? std::move(added.list[next++])
                                    : entry->model.member_list().at(static_cast<std::size_t>(kept[i])));
      if (kept[i] >= 0) added.versions.adopt(entry->versions, members.back().name, names[i]);
      members.back().name = names[i];
    }
    entry->model.replace_members(std::move(members));
    entry->versions = std::move(added.versions);
  });
}

void reset(std::int64_t handle) {
  const auto entry = find(handle);
  const std::lock_guard lock(entry->mutex);
  with_errors("run", [&] { entry->model.reset(); });
}

std::string difference(const at::Tensor& a, const at::Tensor& b, const std::string& name) {
  return with_errors("load", [&] {
    return architecture_difference(load_program(bytes_of(b), name).graph,
                                   load_program(bytes_of(a), name).graph);
  });
}

std::int64_t models_alive() {
  const std::shared_lock lock(registry_mutex);
  return static_cast<std::int64_t>(registry().size());
}

}  // namespace

TORCH_LIBRARY(widebench, m) {
  m.def(
      "create(Tensor program, str name, str[] members, str[] fqns, Tensor[] tensors, str mode, str tuning, "
      "float seconds, bool costs_on_disk, str strategy, int seed, bool snapshots) -> int",
      &create);
  m.def(
      "open_files(str[] models, str[] checkpoints, str mode, str tuning, float seconds, bool costs_on_disk, "
      "str strategy, int seed, bool snapshots) -> (int, str[], str[])",
      &open_files);
  m.def("destroy(int model) -> ()", &destroy);
  // Random models draw anew in every call: two equal calls are not one.
  m.def("forward(int model, Tensor[] inputs, bool[] mapped, bool compiled) -> Tensor[]",
        {at::Tag::nondeterministic_seeded});
  m.def("seconds_per_pass(int model, Tensor[] inputs, bool[] mapped, int passes) -> float",
        &seconds_per_pass);
  m.def("prepare(int model, Tensor[] inputs, bool[] mapped) -> ()", &prepare);
  m.def("cancel(int model) -> ()", &cancel);
  m.def("progress(int model) -> str", &progress);
  m.def("plan(int model, Tensor[] inputs, bool[] mapped) -> str", &describe_plan);
  m.def("plan_rows(int model, Tensor[] inputs, bool[] mapped) -> str[]", &plan_rows);
  m.def("facts(int model, Tensor[] inputs, bool[] mapped) -> str[]", &facts);
  m.def("prove(int model, Tensor[] inputs, bool[] mapped) -> (str[], float[], str[])", &prove_model);
  m.def("member_state(int model, int member) -> (str[], Tensor[])", &member_state);
  m.def("replace_members(int model, str[] names, int[] kept, str[] fqns, Tensor[] tensors) -> ()",
        &replace_members);
  m.def("reset(int model) -> ()", &reset);
  m.def("difference(Tensor first, Tensor second, str name) -> str", &difference);
  m.def("use_tensor_memory() -> ()", &use_tensor_memory);
  m.def("uses_tensor_memory() -> bool", &uses_tensor_memory);
  m.def("models_alive() -> int", &models_alive);
}

TORCH_LIBRARY_IMPL(widebench, CompositeExplicitAutograd, m) {
  m.impl("forward", &forward);
}

TORCH_LIBRARY_IMPL(widebench, Autograd, m) {
  m.impl("forward", &forward_below_autograd);
}

}  // namespace wide::python
