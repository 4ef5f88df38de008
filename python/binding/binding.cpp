// The operators torch.ops.widebench.*: wide models by number, for the Python package. No Python header is
// read, so that one library serves every Python; torch releases the interpreter's lock while an operator
// runs.
#include <ATen/ATen.h>
#include <malloc.h>
#include <torch/library.h>
#include <wide/model.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <future>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/binding/models.h"

namespace wide::python {
namespace {

using Tensors = std::vector<at::Tensor>;
using Results = c10::List<at::Tensor>;  // as torch's operators give them: nothing is copied
using Strings = std::vector<std::string>;
using Mapped = c10::List<bool>;
using Inputs = std::vector<widebench::Input>;

std::vector<std::byte> bytes_of(const at::Tensor& program) {
  if (program.scalar_type() != at::kByte || !program.is_contiguous() || !program.is_cpu())
    raise("load", "a program is given as its bytes, a tensor of uint8");
  const auto* data = static_cast<const std::byte*>(program.const_data_ptr());
  return {data, data + program.numel()};
}

Inputs inputs_of(const Tensors& tensors, const Mapped& mapped) {
  if (tensors.size() != mapped.size()) raise("run", "each input is said to be mapped or not");
  Inputs inputs;
  inputs.reserve(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) inputs.push_back({tensors[i], mapped[i]});
  return inputs;
}

/// `body` with the model and inputs for it.
template <typename Body>
auto on_model(std::int64_t handle, const Tensors& tensors, const Mapped& mapped, Body body) {
  return with_errors([&] {
    const auto model = find(handle);
    return body(*model, inputs_of(tensors, mapped));
  });
}

/// `tensors`: those of the first member by `fqns`, then of the second, …
std::vector<widebench::MemberWeights> members_of(const Strings& names, const Strings& fqns,
                                                 const Tensors& tensors) {
  if (tensors.size() != names.size() * fqns.size()) raise("load", "every member brings the same tensors");
  std::vector<widebench::MemberWeights> members;
  auto next = tensors.begin();
  for (const auto& name : names) {
    widebench::MemberWeights member{name, {}};
    for (const auto& fqn : fqns) member.tensors.insert_or_assign(fqn, *next++);
    members.push_back(std::move(member));
  }
  return members;
}

at::Tensor with_members(const widebench::Output& output, std::int64_t members) {
  const at::Tensor& tensor = output.tensor;
  if (output.mapped) return tensor;
  auto sizes = tensor.sizes().vec();
  sizes.insert(sizes.begin(), members);
  return tensor.expand(sizes);
}

widebench::Config config_of(const std::string& mode, const std::string& tuning, double seconds,
                            bool costs_on_disk, const std::string& strategy, std::int64_t seed,
                            bool snapshots) {
  widebench::Config config;
  config.mode = mode;
  config.tuning = tuning == "estimate" ? widebench::Tuning::kEstimate
                  : tuning == "cached" ? widebench::Tuning::kCached
                                       : widebench::Tuning::kMeasure;
  config.seconds = seconds;
  config.cost_file = costs_on_disk;
  config.strategy = strategy;
  config.seed = static_cast<std::uint64_t>(seed);
  config.snapshots = snapshots;
  return config;
}

std::int64_t create(const at::Tensor& program, const std::string& name, const Strings& members,
                    const Strings& fqns, const Tensors& tensors, const std::string& mode,
                    const std::string& tuning, double seconds, bool costs_on_disk,
                    const std::string& strategy, std::int64_t seed, bool snapshots) {
  return with_errors([&] {
    return keep(widebench::WideModel::from_bytes(
        bytes_of(program), members_of(members, fqns, tensors),
        config_of(mode, tuning, seconds, costs_on_disk, strategy, seed, snapshots), name));
  });
}

// The model's number, the members' names.
std::tuple<std::int64_t, Strings> open_files(const Strings& models, const Strings& checkpoints,
                                             const std::string& mode, const std::string& tuning,
                                             double seconds, bool costs_on_disk, const std::string& strategy,
                                             std::int64_t seed, bool snapshots) {
  return with_errors([&] {
    auto model = widebench::WideModel::from_files(
        {models.begin(), models.end()}, {checkpoints.begin(), checkpoints.end()},
        config_of(mode, tuning, seconds, costs_on_disk, strategy, seed, snapshots));
    auto names = model.names();
    return std::tuple(keep(std::move(model)), std::move(names));
  });
}

std::tuple<std::int64_t, Strings> open_bundle(const std::string& folder, bool trust_code,
                                              const std::string& tuning, double seconds, bool costs_on_disk,
                                              const std::string& strategy, bool snapshots) {
  return with_errors([&] {
    auto model = widebench::WideModel::from_bundle(
        folder, trust_code, config_of("default", tuning, seconds, costs_on_disk, strategy, 0, snapshots));
    auto names = model.names();
    return std::tuple(keep(std::move(model)), std::move(names));
  });
}

void write_bundle(std::int64_t handle, const at::Tensor& program, const std::string& folder, bool replace) {
  with_errors([&] { find(handle)->write_bundle(folder, bytes_of(program), replace); });
}

// Numbers among the outputs are left out: Python knows them. Where data give members different numbers of
// axes, no tensor stands in the output's place, and the members' follow behind all others.
Results results_of(const std::optional<std::vector<widebench::Output>>& outputs, std::int64_t members) {
  if (!outputs) raise("unbuilt", "there is no build for these inputs");
  Results results;
  results.reserve(outputs->size());
  for (const auto& output : *outputs) {
    if (!output.each.empty()) {
      results.push_back({});
    } else if (output.tensor.defined()) {
      results.push_back(with_members(output, members));
    }
  }
  for (const auto& output : *outputs) {
    for (const auto& one : output.each) results.push_back(one);
  }
  return results;
}

// What is not built yet is Python's to build, where it can be interrupted. Inputs may require gradients;
// outputs never do.
Results forward_many(std::int64_t handle, const Tensors& tensors, const Mapped& mapped) {
  const at::AutoDispatchBelowAutograd guard;
  return on_model(handle, tensors, mapped, [](widebench::WideModel& model, const Inputs& inputs) {
    return results_of(model.forward_if_prepared(inputs), model.size());
  });
}

// forward_many() for most calls, those of few tensors: to take a number, or lists of tensors and of flags,
// from Python takes longer than some kernels. `call` is an empty tensor [0, model's number times 16 + bit i
// where input i is mapped]; a tensor without memory of its own says that to tracers, too.
template <typename... Given>
Results forward_few(const at::Tensor& call, const Given&... tensors) {
  const at::AutoDispatchBelowAutograd guard;
  return with_errors([&] {
    const std::int64_t said = call.size(1);
    std::int64_t flags = said << 1;
    const std::array inputs = {widebench::Input{tensors, ((flags >>= 1) & 1) != 0}...};
    const auto model = find(said >> 4);
    return results_of(model->forward_if_prepared(inputs), model->size());
  });
}

void refuse_wrapped(const at::Tensor& tensor) {
  const c10::DispatchKeySet wrapped({c10::DispatchKey::FuncTorchBatched,
                                     c10::DispatchKey::FuncTorchGradWrapper,
                                     c10::DispatchKey::Functionalize});
  if (tensor.key_set().has_any(wrapped))
    raise(
        "run",
        "inputs: torch.func.grad, vmap and the like do not pass through a wide model, whose answers carry no "
        "gradients; call it outside of them");
}
void refuse_wrapped(const Tensors& tensors) {
  for (const auto& tensor : tensors) refuse_wrapped(tensor);
}
void refuse_wrapped(const Mapped&) {}
void refuse_wrapped(std::int64_t) {}

// An operator that runs a model, and the same where torch.func.grad, vmap and the like go on: these wrap the
// inputs that they are about, and leave others as they are.
template <auto run>
struct Forward;
template <typename... Arguments, Results (*run)(Arguments...)>
struct Forward<run> {
  static Results plain(Arguments... arguments) { return run(arguments...); }
  static Results transformed(Arguments... arguments) {
    (refuse_wrapped(arguments), ...);
    const c10::impl::ExcludeDispatchKeyGuard outside(c10::DispatchKeySet(
        {c10::DispatchKey::FuncTorchDynamicLayerFrontMode, c10::DispatchKey::FuncTorchDynamicLayerBackMode}));
    return run(arguments...);
  }
};

template <typename Add>
void for_each_forward(Add add) {
  add("forward_many", Forward<&forward_many>());
  add("forward_1", Forward<&forward_few<at::Tensor>>());
  add("forward_2", Forward<&forward_few<at::Tensor, at::Tensor>>());
  add("forward_3", Forward<&forward_few<at::Tensor, at::Tensor, at::Tensor>>());
  add("forward_4", Forward<&forward_few<at::Tensor, at::Tensor, at::Tensor, at::Tensor>>());
}

// Of a pass without Python, so that what a call adds to it can be told.
double seconds_per_pass(std::int64_t handle, const Tensors& tensors, const Mapped& mapped,
                        std::int64_t passes) {
  return on_model(handle, tensors, mapped, [&](widebench::WideModel& model, const Inputs& inputs) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < passes; ++i) model.forward(inputs);
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    return taken.count() / static_cast<double>(std::max<std::int64_t>(passes, 1));
  });
}

// On a thread that ends here: what kernels keep for theirs, as oneDNN does its largest workspace, is free
// then and goes back to the system.
void prepare(std::int64_t handle, const Tensors& tensors, const Mapped& mapped) {
  std::async(std::launch::async, [&] {
    on_model(handle, tensors, mapped, [](auto& model, const Inputs& inputs) { model.prepare(inputs); });
  }).get();
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

Strings warnings(std::int64_t handle) {
  return with_errors([&] { return find(handle)->warnings(); });
}

void cancel(std::int64_t handle) {
  find(handle)->cancel();
}

std::string progress(std::int64_t handle) {
  return find(handle)->progress();
}

std::string describe_plan(std::int64_t handle, const Tensors& tensors, const Mapped& mapped) {
  return on_model(handle, tensors, mapped,
                  [](auto& model, const Inputs& inputs) { return model.plan(inputs).text; });
}

// Rows of eight: operator, result, strategy, nanoseconds, measured, module, the best of the others, its
// nanoseconds.
Strings plan_rows(std::int64_t handle, const Tensors& tensors, const Mapped& mapped) {
  return on_model(handle, tensors, mapped, [](auto& model, const Inputs& inputs) {
    Strings rows;
    for (const auto& node : model.plan(inputs).nodes) {
      rows.insert(rows.end(), {node.op, node.result, node.strategy, std::to_string(node.nanoseconds),
                               node.measured ? "measured" : "", node.module_path, node.second,
                               node.second.empty() ? "" : std::to_string(node.second_nanoseconds)});
    }
    return rows;
  });
}

Strings written_inputs(std::int64_t handle, const Tensors& tensors, const Mapped& mapped) {
  return on_model(handle, tensors, mapped,
                  [](auto& model, const Inputs& inputs) { return model.report(inputs).written_inputs; });
}

// Name and value in turn.
Strings facts(std::int64_t handle, const Tensors& tensors, const Mapped& mapped) {
  return on_model(handle, tensors, mapped, [](auto& model, const Inputs& inputs) {
    const widebench::Report report = model.report(inputs);
    Strings lines = {"schedule", report.schedule, "random", report.random ? "1" : "0"};
    const auto add = [&](const std::string& name, auto value) {
      lines.insert(lines.end(), {name, std::to_string(value)});
    };
    add("members", report.members);
    add("wide", report.wide);
    add("sequential", report.sequential);
    add("shared", report.shared);
    add("constant", report.constant);
    add("conversions", report.conversions);
    add("copies", report.copies);
    add("weight_bytes", report.weight_bytes);
    add("milliseconds", report.milliseconds);
    add("tuning_milliseconds", report.tuning_milliseconds);
    add("builds", report.builds);
    for (const auto& [op, count] : report.sequential_ops) add("sequential " + op, count);
    for (const auto& stage : report.stages) {
      add("stage " + stage.name, stage.milliseconds);
      if (!stage.text.empty()) lines.insert(lines.end(), {"text " + stage.name, stage.text});
    }
    return lines;
  });
}

// Checks by name, member and text in turn; of each, largest absolute and relative difference, tolerance, and
// 1 if it passed; notes.
std::tuple<Strings, std::vector<double>, Strings> prove(std::int64_t handle, const Tensors& tensors,
                                                        const Mapped& mapped) {
  return on_model(handle, tensors, mapped, [](auto& model, const Inputs& inputs) {
    const widebench::Proof proof = model.prove(inputs);
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

// `as_taken`: refused where weights were written since. `as_loaded`: written buffers, too.
std::tuple<Strings, Tensors> member_state(std::int64_t handle, std::int64_t member, bool as_taken,
                                          bool as_loaded) {
  return with_errors([&] {
    const auto model = find(handle);
    if (const auto changed = as_taken ? model->changed() : ""; !changed.empty())
      raise("stale", changed + ": was written after the wide model took it in; call refresh()");
    std::tuple<Strings, Tensors> state;
    for (auto& [fqn, tensor] : model->weights(member, as_loaded)) {
      std::get<0>(state).push_back(fqn);
      std::get<1>(state).push_back(tensor);
    }
    return state;
  });
}

// As create() has them; -1 in `kept` takes the next of `tensors`, else the tensors of that member of before.
void replace_members(std::int64_t handle, const Strings& names, const std::vector<std::int64_t>& kept,
                     const Strings& fqns, const Tensors& tensors) {
  with_errors([&] {
    if (names.size() != kept.size()) raise("load", "each member is kept or new");
    Strings fresh;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (kept[i] < 0) fresh.push_back(names[i]);
    }
    auto added = members_of(fresh, fqns, tensors);
    std::vector<widebench::MemberWeights> members;
    auto next = added.begin();
    for (std::size_t i = 0; i < names.size(); ++i)
      members.push_back(kept[i] < 0 ? std::move(*next++) : widebench::MemberWeights{names[i], {}, kept[i]});
    find(handle)->replace_members(std::move(members));
  });
}

void reset(std::int64_t handle) {
  with_errors([&] { find(handle)->reset(); });
}

std::string difference(const at::Tensor& a, const at::Tensor& b, const std::string& name) {
  return with_errors([&] { return widebench::architecture_difference(bytes_of(b), bytes_of(a), name); });
}

}  // namespace

TORCH_LIBRARY(widebench, m) {
  m.def(
      "create(Tensor program, str name, str[] members, str[] fqns, Tensor[] tensors, str mode, str tuning, "
      "float seconds, bool costs_on_disk, str strategy, int seed, bool snapshots) -> int",
      &create);
  m.def(
      "open_files(str[] models, str[] checkpoints, str mode, str tuning, float seconds, bool costs_on_disk, "
      "str strategy, int seed, bool snapshots) -> (int, str[])",
      &open_files);
  m.def(
      "open_bundle(str folder, bool trust_code, str tuning, float seconds, bool costs_on_disk, str strategy, "
      "bool snapshots) -> (int, str[])",
      &open_bundle);
  m.def("write_bundle(int model, Tensor program, str folder, bool replace) -> ()", &write_bundle);
  m.def("destroy(int model) -> ()", &forget);
  // Random models draw anew in every call: two equal calls are not one.
  m.def("forward_many(int model, Tensor[] inputs, bool[] mapped) -> Tensor[]",
        {at::Tag::nondeterministic_seeded});
  for (const char* schema : {"forward_1(Tensor call, Tensor a) -> Tensor[]",
                             "forward_2(Tensor call, Tensor a, Tensor b) -> Tensor[]",
                             "forward_3(Tensor call, Tensor a, Tensor b, Tensor c) -> Tensor[]",
                             "forward_4(Tensor call, Tensor a, Tensor b, Tensor c, Tensor d) -> Tensor[]"}) {
    m.def(schema, {at::Tag::nondeterministic_seeded});
  }
  m.def("seconds_per_pass(int model, Tensor[] inputs, bool[] mapped, int passes) -> float",
        &seconds_per_pass);
  m.def("prepare(int model, Tensor[] inputs, bool[] mapped) -> ()", &prepare);
  m.def("warnings(int model) -> str[]", &warnings);
  m.def("cancel(int model) -> ()", &cancel);
  m.def("progress(int model) -> str", &progress);
  m.def("plan(int model, Tensor[] inputs, bool[] mapped) -> str", &describe_plan);
  m.def("plan_rows(int model, Tensor[] inputs, bool[] mapped) -> str[]", &plan_rows);
  m.def("facts(int model, Tensor[] inputs, bool[] mapped) -> str[]", &facts);
  m.def("written_inputs(int model, Tensor[] inputs, bool[] mapped) -> str[]", &written_inputs);
  m.def("prove(int model, Tensor[] inputs, bool[] mapped) -> (str[], float[], str[])", &prove);
  m.def("member_state(int model, int member, bool as_taken, bool as_loaded) -> (str[], Tensor[])",
        &member_state);
  m.def("replace_members(int model, str[] names, int[] kept, str[] fqns, Tensor[] tensors) -> ()",
        &replace_members);
  m.def("reset(int model) -> ()", &reset);
  m.def("difference(Tensor first, Tensor second, str name) -> str", &difference);
  m.def("use_tensor_memory() -> ()", &widebench::use_pooled_memory);
  m.def("uses_tensor_memory() -> bool", &widebench::uses_pooled_memory);
  m.def("models_alive() -> int", &models_alive);
}

TORCH_LIBRARY_IMPL(widebench, CompositeExplicitAutograd, m) {
  for_each_forward([&](const char* name, auto forward) { m.impl(name, &decltype(forward)::plain); });
}

TORCH_LIBRARY_IMPL(widebench, FuncTorchDynamicLayerFrontMode, m) {
  for_each_forward([&](const char* name, auto forward) { m.impl(name, &decltype(forward)::transformed); });
}

TORCH_LIBRARY_IMPL(widebench, Autograd, m) {  // they go below autograd themselves
  for_each_forward([&](const char* name, auto) { m.impl(name, torch::CppFunction::makeFallthrough()); });
}

}  // namespace wide::python
