#include "core/prove/prove.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "core/ir/compare.h"
#include "core/passes/specialize.h"
#include "core/prove/conditioning.h"
#include "core/prove/reference.h"
#include "core/strategy/primitive.h"
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

  void add(std::size_t member, std::size_t output, const Difference& difference, double bound,
           const std::string& by = "") {
    const bool worse = !difference.agrees && check_.passed;
    const bool larger = difference.agrees == check_.passed && !(difference.max_abs <= check_.max_abs);
    if (worse || larger || check_.text.empty()) {
      check_.member = model_.member_list()[member].name;
      check_.max_abs = difference.max_abs;
      check_.tolerance = bound;
      check_.text =
          "member " + check_.member + ", output " + std::to_string(output) + ", " + difference.text + by;
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

// Other weights of the same kind: floats are shifted; integers and bools change rows, so that an id stays in
// its column, where it is known to be valid.
at::Tensor changed_weight(const at::Tensor& tensor) {
  if (tensor.is_floating_point() || tensor.is_complex()) return tensor * 1.25 + 0.125;
  return tensor.dim() == 0 ? tensor : tensor.roll(1, 0);
}

// Halfway between two legal tensors: what has a range, or sums up to one, still does. What is not finite
// masks something, and is taken as it is.
at::Tensor halfway(const at::Tensor& a, const at::Tensor& b) {
  if (!a.is_floating_point() && !a.is_complex()) return b;
  const auto type = at::promote_types(a.scalar_type(), at::kFloat);
  const auto mixed = a.to(type) * 0.5 + b.to(type) * 0.5;
  return at::where(at::isfinite(mixed), mixed.to(a.scalar_type()), b);
}

// Values for member `changed` out of `all`, [N, …], that are as legal as its own: those of another member, of
// floats the middle of both. Where all members have the same, rows change place.
at::Tensor changed_input(const at::Tensor& all, std::int64_t changed) {
  const auto own = all.select(0, changed);
  for (std::int64_t j = 1; j < all.size(0); ++j) {
    const auto other = all.select(0, (changed + j) % all.size(0));
    if (!same_bits(own, other)) return halfway(own, other);
  }
  return own.dim() == 0 ? own : halfway(own, own.roll(1, 0));
}

std::vector<ModelInput> with_changed_inputs(std::span<const ModelInput> inputs, std::size_t changed) {
  std::vector<ModelInput> others(inputs.begin(), inputs.end());
  for (auto& input : others) {
    if (!input.mapped) continue;
    const auto row = static_cast<std::int64_t>(changed);
    const auto values = changed_input(input.tensor, row).clone();
    input.tensor = input.tensor.clone();
    input.tensor.select(0, row).copy_(values);
  }
  return others;
}

// What is perturbed may bring a model where its rounding shows more; an output kept from before the change,
// or another member's, is far beyond this.
constexpr double kConditioning = 8;

void add_own_run(CheckBuilder& builder, WideModel& model, std::span<const ModelInput> inputs,
                 const Outputs& wide, std::size_t member) {
  const auto precisions = user_precisions(model.build(inputs).canonical);
  const auto own = tensors_of(model.run_alone(static_cast<std::int64_t>(member), inputs).outputs);
  ConditionedCompare compare(model, static_cast<std::int64_t>(member), inputs);
  for (std::size_t k = 0; k < own.size(); ++k) {
    if (!own[k].defined()) continue;
    auto bound = tolerance(precisions[k], magnitude(own[k]));
    bound = {kConditioning * bound.relative, kConditioning * bound.absolute};
    builder.add(member, k, compare.output(k, wide[member][k], own[k], bound), bound.absolute);
  }
}

// The changed member follows its new inputs: an output kept from an earlier pass would not.
ProofCheck follows_inputs(WideModel& model, std::span<const ModelInput> inputs, const Outputs& wide,
                          std::size_t changed) {
  CheckBuilder builder("changed inputs", model);
  add_own_run(builder, model, inputs, wide, changed);
  return builder.take();
}

bool is_shared(const std::vector<Member>& members, const std::string& fqn) {
  const auto& first = members.front().tensors.at(fqn);
  return std::all_of(members.begin() + 1, members.end(),
                     [&](const Member& member) { return same_bits(member.tensors.at(fqn), first); });
}

// The model with other weights: where members differ those of member `changed`, or those that all share, so
// that the same values stay shared and the very same plan fits.
std::optional<WideModel> with_changed_weights(const WideModel& model, std::optional<std::size_t> changed,
                                              const BuildOptions& options) {
  auto members = model.member_list();
  bool any = false;
  for (const auto& input : model.graph().inputs) {
    if (input.kind != InputKind::kParameter) continue;
    if (is_shared(model.member_list(), input.target) == changed.has_value()) continue;
    any = true;
    for (std::size_t i = 0; i < members.size(); ++i) {
      auto& tensor = members[i].tensors.at(input.target);
      if (!changed || i == *changed) tensor = changed_weight(tensor);
    }
  }
  if (!any) return std::nullopt;
  return WideModel(model.graph(), std::move(members), options);
}

// Makes the checks of `body`. Values that the proof changed may be none that the model takes: where a member
// alone refuses them too, there is nothing to compare, and a note says so.
template <typename Body>
void add_checks(Proof& proof, const char* what, const WideModel& model, std::span<const ModelInput> inputs,
                const Body& body) {
  try {
    body();
  } catch (const Error&) {
    const auto refused = refused_alone(model, inputs);
    if (refused.empty()) throw;
    proof.notes.push_back(std::string(what) + ": skipped, the model alone refuses the changed values (" +
                          refused + ")");
  }
}

void add_input_checks(Proof& proof, WideModel& model, std::span<const ModelInput> inputs,
                      const Outputs& before, std::size_t changed) {
  const auto others = with_changed_inputs(inputs, changed);
  add_checks(proof, "changed inputs", model, others, [&] {
    const auto after = run_wide(model, others);
    auto follows = follows_inputs(model, others, after, changed);
    proof.checks.push_back(unchanged_but("cross-talk over inputs", model, before, after, changed));
    proof.checks.push_back(std::move(follows));
  });
}

void add_weight_checks(Proof& proof, const WideModel& model, std::span<const ModelInput> inputs,
                       const Outputs& before, std::size_t changed, const BuildOptions& options) {
  if (auto other = with_changed_weights(model, changed, options)) {
    add_checks(proof, "cross-talk over weights", *other, inputs, [&] {
      proof.checks.push_back(
          unchanged_but("cross-talk over weights", model, before, run_wide(*other, inputs), changed));
    });
  }
  if (auto other = with_changed_weights(model, std::nullopt, options)) {
    add_checks(proof, "changed shared weights", *other, inputs, [&] {
      CheckBuilder builder("changed shared weights", model);
      const auto after = run_wide(*other, inputs);
      for (std::size_t i = 0; i < after.size(); ++i) add_own_run(builder, *other, inputs, after, i);
      proof.checks.push_back(builder.take());
    });
  }
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
        precisions_(user_precisions(model.build(inputs).canonical)),
        drawn_(drawn_outputs(model.build(inputs).canonical)),
        has_reference_(std::ranges::find(drawn_, false) != drawn_.end()) {}

  void run(std::int64_t i, const std::map<std::string, at::Tensor>& wide_buffers) {
    const auto index = static_cast<std::size_t>(i);
    const auto alone = model_.run_alone(i, inputs_);
    const auto own = tensors_of(alone.outputs);
    const auto reference = has_reference_ ? run_double(model_, i, inputs_) : std::nullopt;
    ConditionedCompare conditioned(model_, i, inputs_);
    has_reference_ = has_reference_ && reference;
    for (std::size_t k = 0; k < own.size(); ++k) {
      const bool is_exact = reference && !drawn_[k];
      if (own[k].defined())
        compare_output(index, k, own[k], is_exact ? (*reference)[k] : at::Tensor(), conditioned);
    }
    std::size_t place = 0;
    for (const auto& [fqn, expected] : alone.buffers) {
      const auto written = wide_buffers.find(fqn);
      if (written == wide_buffers.end()) {  // wide does not write it at all: not a bit may have changed
        const auto before = model_.member_list()[index].tensors.at(fqn).to(expected.device());
        auto difference = compare(before, expected, {0, 0});
        difference.agrees = same_bits(before, expected);
        buffers_.add(index, place++, difference, 0);
        continue;
      }
      const auto bound = tolerance(expected.scalar_type(), depth_, magnitude(expected));
      const auto difference = conditioned.buffer(fqn, written->second.select(0, i), expected, bound);
      buffers_.add(index, place++, difference, bound.absolute);
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
                      const at::Tensor& reference, ConditionedCompare& conditioned) {
    const auto& got = wide_[member][place];
    auto bound = tolerance(precisions_[place], magnitude(own));
    const auto by = "; bound by " + describe(precisions_[place]);
    const auto exact = usable_reference(own, reference, bound);
    if (exact.defined()) {
      // Rounding that the member alone already shows may be met by wide too; also what its dtype cannot hold.
      const auto shown = compare(own.to(exact.scalar_type()), exact, {0, 0}).max_abs;
      bound.absolute = std::max(bound.absolute, 4 * shown);
    }
    own_.add(member, place, conditioned.output(place, got, own, bound), bound.absolute, by);
    if (!exact.defined()) return;
    const Tolerance twice{2 * bound.relative, 2 * bound.absolute};
    const auto wide = at::where(at::isfinite(own), got.to(exact.scalar_type()), exact);
    error_.add(member, place, conditioned.output(place, wide, exact, twice), twice.absolute, by);
  }

  // The reference where it is one: it took the same way through the model as the member alone. Another shape,
  // or a difference that no rounding explains, means that some number fell on the other side of a decision.
  // Elements that overflow in the member's own dtype are compared with the member alone only.
  static at::Tensor usable_reference(const at::Tensor& own, const at::Tensor& reference,
                                     const Tolerance& bound) {
    constexpr double kMostRounding = 64;
    if (!reference.defined() || !(own.is_floating_point() || own.is_complex())) return {};
    if (own.sizes() != reference.sizes()) return {};
    const auto exact = at::where(at::isfinite(own), reference, own.to(reference.scalar_type()));
    const Tolerance most{kMostRounding * bound.relative, kMostRounding * bound.absolute};
    const auto difference = compare(exact.to(own.scalar_type()), own, most);
    return difference.agrees && std::isfinite(difference.max_abs) ? exact : at::Tensor();
  }

  WideModel& model_;
  std::span<const ModelInput> inputs_;
  const Outputs& wide_;
  std::int64_t depth_;
  std::vector<Precision> precisions_;
  std::vector<bool> drawn_;  ///< by output, whether it hangs on random numbers
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

std::string refused_alone(const WideModel& model, std::span<const ModelInput> inputs) {
  const c10::InferenceMode guard;
  for (std::int64_t i = 0; i < model.members(); ++i) {
    try {
      (void)specialize(model.graph(), model.member_values(i, inputs, model.graph()));
    } catch (const Error& error) {
      if (error.stage() == "run") return error.what();
    }
  }
  return "";
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
  Proof proof{alone.take(), {}};
  if (model.members() > 1) {
    const auto changed = static_cast<std::size_t>(model.members()) / 2;
    const bool mapped =
        std::any_of(inputs.begin(), inputs.end(), [](const ModelInput& input) { return input.mapped; });
    if (mapped) add_input_checks(proof, model, inputs, wide, changed);
    add_weight_checks(proof, model, inputs, wide, changed, same_plan(model, inputs));
  }
  model.reset();
  return proof;
}

}  // namespace wide
