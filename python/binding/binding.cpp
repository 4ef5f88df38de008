// The operators torch.ops.widebench.*: wide models by number, for the Python package. No Python header is
// read, so that one library serves every Python; torch releases the interpreter's lock while an operator
// runs.
#include <ATen/ATen.h>
#include <malloc.h>
#include <torch/library.h>
#include <wide/model.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <future>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "python/binding/inputs.h"

namespace wide::python {
namespace {

using Strings = std::vector<std::string>;

std::vector<std::byte> bytes_of(const at::Tensor& program) {
  if (program.scalar_type() != at::kByte || !program.is_contiguous() || !program.is_cpu())
    raise("load", "a program is given as its bytes, a tensor of uint8");
  const auto* data = static_cast<const std::byte*>(program.const_data_ptr());
  return {data, data + program.numel()};
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

}  // namespace wide::python
