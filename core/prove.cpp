#include "core/prove.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "core/compare.h"
#include "core/primitive.h"
#include "core/reference.h"
#include "formats/error.h"

namespace wide {
namespace {

using Outputs = std::vector<std::vector<at::Tensor>>;  // [member][output]; undefined for constants

Outputs by_member(const std::vector<ModelOutput>& outputs, std::int64_t members) {
  Outputs result(static_cast<std::size_t>(members));
  for (std::int64_t i = 0; i < members; ++i) {
    for (const auto& output : outputs) {
      result[static_cast<std::size_t>(i)].push_back(output.is_tensor() ? output.member(i).clone()
                                                                       : at::Tensor());
    }
  }
  return result;
}

Outputs run_wide(WideModel& model, std::span<const ModelInput> inputs) {
  model.reset();
  model.forward(inputs);
  model.poison();  // an element that nobody writes shows
  model.reset();
  return by_member(model.forward(inputs), model.members());
}

std::vector<at::Tensor> tensors_of(const std::vector<c10::IValue>& values) {
  std::vector<at::Tensor> tensors;
  for (const auto& value : values) tensors.push_back(value.isTensor() ? value.toTensor() : at::Tensor());
  return tensors;
}

class CheckBuilder {
 public:
  CheckBuilder(std::string what, const WideModel& model) : model_(model) { check_.what = std::move(what); }

  void add(std::size_t member, std::size_t output, const Difference& difference, double bound) {
    const bool worse = !difference.agrees && check_.passed;
    const bool larger = difference.agrees == check_.passed && !(difference.max_abs <= check_.max_abs);
    if (worse || larger || check_.text.empty()) {
      check_.member = model_.member_list()[member].name;
      check_.max_abs = difference.max_abs;
      check_.tolerance = bound;
      check_.text = "member " + check_.member + ", output " + std::to_string(output) + ", " + difference.text;
    }
    if (std::isnan(difference.max_rel) || difference.max_rel > check_.max_rel)
      check_.max_rel = difference.max_rel;
    check_.passed = check_.passed && difference.agrees;
  }
  ProofCheck take() { return std::move(check_); }

 private:
  const WideModel& model_;
  ProofCheck check_;
};

// All members but `changed` must give the very same bits.
ProofCheck unchanged_but(const std::string& what, const WideModel& model, const Outputs& before,
                         const Outputs& after, std::size_t changed) {
  CheckBuilder builder(what, model);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (i == changed) continue;
    for (std::size_t k = 0; k < before[i].size(); ++k) {
      if (!before[i][k].defined()) continue;
      auto difference = compare(after[i][k], before[i][k], {0, 0});
      difference.agrees = same_bits(after[i][k], before[i][k]);
      builder.add(i, k, difference, 0);
    }
  }
  return builder.take();
}

// Other values of the same kind: floats are shifted; integers and bools change rows, so that an id stays in
// its column, where it is known to be valid.
at::Tensor changed_values(const at::Tensor& tensor) {
  if (tensor.is_floating_point() || tensor.is_complex()) return tensor * 1.25 + 0.125;
  return tensor.dim() == 0 ? tensor : tensor.roll(1, 0);
}

std::vector<ModelInput> with_changed_inputs(std::span<const ModelInput> inputs, std::size_t changed) {
  std::vector<ModelInput> others(inputs.begin(), inputs.end());
  for (auto& input : others) {
    if (!input.mapped) continue;
    input.tensor = input.tensor.clone();
    const auto row = input.tensor.select(0, static_cast<std::int64_t>(changed));
    row.copy_(changed_values(row.clone()));
  }
  return others;
}

// The changed member follows its new inputs: an output kept from an earlier pass would not. Eight times the
// tolerance, for what the changed values do to a model's conditioning; a stale output is far beyond it.
ProofCheck follows_inputs(WideModel& model, std::span<const ModelInput> inputs, const Outputs& wide,
                          std::size_t changed) {
  CheckBuilder builder("changed inputs", model);
  const auto layers = depth(model.build(inputs).canonical);
  const auto own = tensors_of(model.run_alone(static_cast<std::int64_t>(changed), inputs).outputs);
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (!own[k].defined()) continue;
    auto bound = tolerance(own[k].scalar_type(), layers, magnitude(own[k]));
    bound = {8 * bound.relative, 8 * bound.absolute};
    builder.add(changed, k, compare(wide[changed][k], own[k], bound), bound.absolute);
  }
  return builder.take();
}

ProofCheck weight_cross_talk(const WideModel& model, std::span<const ModelInput> inputs,
                             const Outputs& before, std::size_t changed, const BuildOptions& options) {
  auto members = model.member_list();
  for (const auto& input : model.graph().inputs) {
    if (input.kind != InputKind::kParameter) continue;
    auto& tensor = members[changed].tensors.at(input.target);
    tensor = changed_values(tensor);
  }
  WideModel other(model.graph(), std::move(members), options);
  return unchanged_but("cross-talk over weights", model, before, run_wide(other, inputs), changed);
}

// Options that make another model run the very same plan: the same bits are expected of it.
BuildOptions same_plan(WideModel& model, std::span<const ModelInput> inputs) {
  const auto& built = model.build(inputs);
  auto options = model.options();
  options.plan = store(built.optimized, model.members(), built.planned);
  return options;
}

// What the separate runs give, compared while they are made.
class AloneChecks {
 public:
  AloneChecks(WideModel& model, std::span<const ModelInput> inputs, const Outputs& wide)
      : model_(model),
        inputs_(inputs),
        wide_(wide),
        depth_(depth(model.build(inputs).canonical)),
        has_reference_(!draws_random(model.build(inputs).specialized)) {}

  void run(std::int64_t i, const std::map<std::string, at::Tensor>& wide_buffers) {
    const auto index = static_cast<std::size_t>(i);
    const auto alone = model_.run_alone(i, inputs_);
    const auto own = tensors_of(alone.outputs);
    const auto reference = has_reference_ ? run_double(model_, i, inputs_) : std::nullopt;
    has_reference_ = has_reference_ && reference;
    for (std::size_t k = 0; k < own.size(); ++k) {
      if (own[k].defined()) compare_output(index, k, own[k], reference ? (*reference)[k] : at::Tensor());
    }
    std::size_t place = 0;
    for (const auto& [fqn, expected] : alone.buffers) {
      const auto written = wide_buffers.find(fqn);
      const auto got = written == wide_buffers.end() ? at::Tensor() : written->second.select(0, i);
      const auto bound = tolerance(expected.scalar_type(), depth_, magnitude(expected));
      // A buffer that wide does not write at all must not have changed.
      buffers_.add(index, place++, compare(got.defined() ? got : expected.new_empty({0}), expected, bound),
                   bound.absolute);
    }
  }

  std::vector<ProofCheck> take() {
    std::vector<ProofCheck> checks{own_.take()};
    if (auto check = error_.take(); has_reference_ && !check.text.empty()) checks.push_back(std::move(check));
    if (auto check = buffers_.take(); !check.text.empty()) checks.push_back(std::move(check));
    return checks;
  }

 private:
  void compare_output(std::size_t member, std::size_t place, const at::Tensor& own,
                      const at::Tensor& reference) {
    const auto& got = wide_[member][place];
    const bool has_error = reference.defined() && (own.is_floating_point() || own.is_complex());
    auto bound = tolerance(got.scalar_type(), depth_, magnitude(own));
    if (has_error) {
      // Rounding that the member alone already shows may be met by wide too.
      const auto own_error = compare(reference.to(own.scalar_type()), own, {0, 0}).max_abs;
      if (std::isfinite(own_error)) bound.absolute = std::max(bound.absolute, 4 * own_error);
    }
    own_.add(member, place, compare(got, own, bound), bound.absolute);
    if (!has_error) return;
    const Tolerance twice{2 * bound.relative, 2 * bound.absolute};
    error_.add(member, place, compare(got.to(reference.scalar_type()), reference, twice), twice.absolute);
  }

  WideModel& model_;
  std::span<const ModelInput> inputs_;
  const Outputs& wide_;
  std::int64_t depth_;
  bool has_reference_;
  CheckBuilder own_{"member against its own run", model_};
  CheckBuilder error_{"float64 reference", model_};
  CheckBuilder buffers_{"written buffers", model_};
};

}  // namespace

bool Proof::passed() const {
  return !checks.empty() &&
         std::all_of(checks.begin(), checks.end(), [](const ProofCheck& check) { return check.passed; });
}

double Proof::max_abs_err() const {
  double worst = 0;
  for (const auto& check : checks) {
    if (std::isnan(check.max_abs)) return check.max_abs;
    worst = std::max(worst, check.max_abs);
  }
  return worst;
}

std::string unprovable(const Plan& plan) {
  for (const auto& primitive : primitives()) {
    for (const auto& strategy : primitive.strategies) {
      const auto uses = [&](const NodePlan& node) {
        return node.primitive == primitive.name && node.strategy == strategy.name;
      };
      if (!strategy.on_request || std::none_of(plan.nodes.begin(), plan.nodes.end(), uses)) continue;
      return std::string("by ")
          .append(strategy.name)
          .append(" members compute something else than alone: there is nothing to prove them against");
    }
  }
  return "";
}

Proof prove(WideModel& model, std::span<const ModelInput> inputs) {
  if (auto reason = unprovable(model.build(inputs).plan()); !reason.empty())
    throw Error("plan", std::move(reason));
  const auto wide = run_wide(model, inputs);
  const auto buffers = model.buffers();
  AloneChecks alone(model, inputs, wide);
  for (std::int64_t i = 0; i < model.members(); ++i) alone.run(i, buffers);
  Proof proof{alone.take()};
  if (model.members() > 1) {
    const auto changed = static_cast<std::size_t>(model.members()) / 2;
    const bool mapped =
        std::any_of(inputs.begin(), inputs.end(), [](const ModelInput& input) { return input.mapped; });
    if (mapped) {
      const auto others = with_changed_inputs(inputs, changed);
      const auto after = run_wide(model, others);
      proof.checks.push_back(unchanged_but("cross-talk over inputs", model, wide, after, changed));
      proof.checks.push_back(follows_inputs(model, others, after, changed));
    }
    proof.checks.push_back(weight_cross_talk(model, inputs, wide, changed, same_plan(model, inputs)));
  }
  model.reset();
  return proof;
}

}  // namespace wide
