#include "core/prove/prove.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/ir/compare.h"
#include "core/passes/specialize.h"
#include "core/prove/alone_checks.h"
#include "core/prove/checks.h"
#include "core/prove/conditioning.h"
#include "core/strategy/primitive.h"
#include "formats/error.h"

namespace wide {
namespace {

// Note [Bits that change by themselves]
// Some operators of a GPU sum up by atomic additions, in the order in which they come: transposed
// convolutions do. There the same pass gives other bits from one run to the next, and that a member's bits
// are others says nothing of its neighbours. So where a pass that nothing was changed for gives other bits,
// too, the others must stay within rounding: what they take from a neighbour is far beyond it. A CPU's
// kernels give the same bits.
class Steadiness {
 public:
  Steadiness(WideModel& model, std::span<const ModelInput> inputs, const Outputs& first)
      : model_(model), inputs_(inputs), first_(first) {}

  bool is_steady() {
    if (model_.options().device.device.is_cpu()) return true;
    for (; steady_ && runs_ < kRuns; ++runs_) steady_ = gives_the_same_bits(run_wide(model_, inputs_));
    return steady_;
  }
  Tolerance rounding(const at::Tensor& output, std::size_t place) {
    return tolerance(user_precisions(model_.build(inputs_).canonical)[place], magnitude(output));
  }

 private:
  static constexpr int kRuns = 6;

  bool gives_the_same_bits(const Outputs& again) const {
    for (std::size_t i = 0; i < first_.size(); ++i) {
      for (std::size_t k = 0; k < first_[i].size(); ++k)
        if (first_[i][k].defined() && !same_bits(again[i][k], first_[i][k])) return false;
    }
    return true;
  }

  WideModel& model_;
  std::span<const ModelInput> inputs_;
  const Outputs& first_;
  bool steady_ = true;
  int runs_ = 0;
};

// All members but `changed` must give the very same bits, but for Note [Bits that change by themselves].
ProofCheck unchanged_but(const std::string& what, const WideModel& model, const Outputs& before,
                         const Outputs& after, std::size_t changed, Steadiness& steadiness) {
  CheckBuilder builder(what, model);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (i == changed) continue;
    for (std::size_t k = 0; k < before[i].size(); ++k) {
      if (!before[i][k].defined()) continue;
      Tolerance bound{0, 0};
      auto difference = compare(after[i][k], before[i][k], bound);
      difference.agrees = same_bits(after[i][k], before[i][k]);
      if (!difference.agrees && !steadiness.is_steady()) {
        bound = steadiness.rounding(before[i][k], k);
        difference = compare(after[i][k], before[i][k], bound);
      }
      builder.add(i, k, difference);
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
// floats the middle of both. Where all members have the same, rows change place: of integers that may be no
// legal values, and `may_fail` says that this would be no more than an error. On a GPU it is the end of all
// work.
at::Tensor changed_input(const at::Tensor& all, std::int64_t changed, bool may_fail) {
  const auto own = all.select(0, changed);
  for (std::int64_t j = 1; j < all.size(0); ++j) {
    const auto other = all.select(0, (changed + j) % all.size(0));
    if (!same_bits(own, other)) return halfway(own, other);
  }
  const bool stays = own.dim() == 0 || (!may_fail && c10::isIntegralType(own.scalar_type(), false));
  return stays ? own : halfway(own, own.roll(1, 0));
}

std::vector<ModelInput> with_changed_inputs(std::span<const ModelInput> inputs, std::size_t changed,
                                            bool may_fail) {
  std::vector<ModelInput> others(inputs.begin(), inputs.end());
  for (auto& input : others) {
    if (!input.mapped) continue;
    const auto row = static_cast<std::int64_t>(changed);
    const auto values = changed_input(input.tensor, row, may_fail).clone();
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
    const auto bound = tolerance(precisions[k], magnitude(own[k])).times(kConditioning);
    builder.add(member, k, compare.output(k, wide[member][k], own[k], bound));
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
                      const Outputs& before, std::size_t changed, Steadiness& steadiness) {
  const auto others = with_changed_inputs(inputs, changed, model.options().device.device.is_cpu());
  add_checks(proof, "changed inputs", model, others, [&] {
    const auto after = run_wide(model, others);
    auto follows = follows_inputs(model, others, after, changed);
    proof.checks.push_back(
        unchanged_but("cross-talk over inputs", model, before, after, changed, steadiness));
    proof.checks.push_back(std::move(follows));
  });
}

void add_weight_checks(Proof& proof, const WideModel& model, std::span<const ModelInput> inputs,
                       const Outputs& before, std::size_t changed, const BuildOptions& options,
                       Steadiness& steadiness) {
  if (auto other = with_changed_weights(model, changed, options)) {
    add_checks(proof, "cross-talk over weights", *other, inputs, [&] {
      proof.checks.push_back(unchanged_but("cross-talk over weights", model, before, run_wide(*other, inputs),
                                           changed, steadiness));
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
  options.warn = {};  // where another strategy stands in, that is not what the user asked for
  return options;
}

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

namespace {

std::string note_of_empty(const std::vector<std::string>& members, std::int64_t all) {
  constexpr std::size_t kNamed = 3;
  std::string note = "member against its own run: every number of every output";
  if (std::ssize(members) < all) {
    note.append(members.size() == 1 ? " of member " : " of the members ");
    for (std::size_t i = 0; i < std::min(kNamed, members.size()); ++i)
      note.append(i == 0 ? "" : ", ").append(members[i]);
    if (members.size() > kNamed)
      note.append(" and ").append(std::to_string(members.size() - kNamed)).append(" more");
  }
  return note.append(" is NaN or infinite, which proves little; give other inputs or weights");
}

}  // namespace

Proof prove(WideModel& model, std::span<const ModelInput> inputs) {
  if (auto reason = unprovable(model.build(inputs).plan()); !reason.empty())
    throw Error("plan", std::move(reason));
  const auto wide = run_wide(model, inputs);
  const auto buffers = model.buffers();
  AloneChecks alone(model, inputs, wide);
  for (std::int64_t i = 0; i < model.members(); ++i) alone.run(i, buffers);
  Proof proof;
  if (const auto empty = alone.empty_members(); !empty.empty())
    proof.notes.push_back(note_of_empty(empty, model.members()));
  proof.checks = alone.take();
  if (model.members() > 1) {
    const auto changed = static_cast<std::size_t>(model.members()) / 2;
    const bool mapped =
        std::any_of(inputs.begin(), inputs.end(), [](const ModelInput& input) { return input.mapped; });
    Steadiness steadiness(model, inputs, wide);
    if (mapped) add_input_checks(proof, model, inputs, wide, changed, steadiness);
    add_weight_checks(proof, model, inputs, wide, changed, same_plan(model, inputs), steadiness);
  }
  model.reset();
  return proof;
}

}  // namespace wide
