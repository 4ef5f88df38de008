#include "app/pass_checks.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>

#include "core/ir/compare.h"
#include "core/prove/reference.h"

// Note [After the proof]
// The proof runs a few passes before anything is timed. A pass may go wrong later: from some call on, in one
// of fifty, or because what is timed need not do the work (a result kept for an address, or for values, seen
// before). So no timed run has inputs that another had; of every round one pass may be drawn, whose outputs
// are compared with the members' own runs once the clock stands; and what was timed runs again afterwards, so
// often that one wrong pass in fifty is missed once in six hundred cases (0.98^320), on new inputs in memory
// that takes turns. All comparisons stand outside of the timed part.

namespace wide::app {
namespace {

constexpr int kPasses = 320;                         // see Note [After the proof]
constexpr int kFewest = 4;                           // passes, however long one takes
constexpr double kMostPatience = 10;                 // times the seconds asked for, on a busy machine
constexpr int kPoisoned = 16;                        // one pass of so many writes into memory that is NaN
constexpr int kSets = 2;                             // sets of inputs whose own runs are made once
constexpr int kRoundsAtFirst = 8, kLaterRounds = 4;  // every round at first, then one of so many
// Other values than the proved ones change a model's conditioning: as core's proof gives changed inputs.
constexpr double kSlack = 8;

using Clock = std::chrono::steady_clock;

std::vector<ModelOutput> copy_of(const std::vector<ModelOutput>& outputs) {
  const c10::InferenceMode guard;
  auto copies = outputs;
  for (auto& output : copies) {
    for (auto& part : output.parts) part = part.clone();
  }
  return copies;
}

bool same(const std::vector<ModelOutput>& a, const std::vector<ModelOutput>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.mapped == y.mapped && std::equal(x.parts.begin(), x.parts.end(), y.parts.begin(), y.parts.end(),
                                              [](const auto& s, const auto& t) { return same_bits(s, t); });
  });
}

bool same(const std::vector<ModelInput>& a, const std::vector<ModelInput>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& x, const auto& y) { return same_bits(x.tensor, y.tensor); });
}

bool keeps_state(const Build& built) {
  return std::any_of(built.canonical.outputs.begin(), built.canonical.outputs.end(),
                     [](const GraphOutput& output) { return output.kind == OutputKind::kBufferMutation; });
}

std::vector<at::Tensor> tensors_of(const std::vector<c10::IValue>& values) {
  std::vector<at::Tensor> tensors;
  for (const auto& value : values) tensors.push_back(value.isTensor() ? value.toTensor() : at::Tensor());
  return tensors;
}

PassTally::Outputs alone(WideModel& model, std::span<const ModelInput> inputs) {
  PassTally::Outputs outputs;
  for (std::int64_t i = 0; i < model.members(); ++i)
    outputs.push_back(tensors_of(model.run_alone(i, inputs).outputs));
  return outputs;
}

std::int64_t members_in(const ModelOutput& output) {
  std::int64_t count = 0;
  for (const auto& part : output.parts) count += part.dim() > 0 ? part.size(0) : 0;
  return count;
}

}  // namespace

PassTally::PassTally(std::string what, WideModel& model, std::span<const ModelInput> inputs)
    : model_(model),
      depth_(depth(model.build(inputs).canonical)),
      drawn_(drawn_outputs(model.build(inputs).canonical)) {
  check_.what = std::move(what);
  check_.max_abs_err = check_.max_rel_err = check_.tolerance = 0;
  check_.passed = true;
}

void PassTally::add_output(ConditionedCompare& conditioned, std::span<const ModelInput> inputs,
                           std::size_t member, std::size_t output, const at::Tensor& got,
                           const at::Tensor& own) {
  auto bound = tolerance(own.scalar_type(), depth_, magnitude(own)).times(kSlack);
  auto difference = conditioned.output(output, got, own, bound);
  if (!difference.agrees && std::isfinite(difference.max_abs) && !drawn_[output] && own.is_floating_point()) {
    // Rounding that the member alone already shows may be met by wide too.
    if (const auto exact = run_double(model_, static_cast<std::int64_t>(member), inputs)) {
      const auto error = compare((*exact)[output].to(own.scalar_type()), own, {0, 0, true}).max_by_size;
      if (std::isfinite(error)) bound.absolute = std::max(bound.absolute, kSlack * error);
      difference = compare(got, own, bound);
    }
  }
  const bool worse = !difference.agrees && check_.passed;
  const bool larger = difference.agrees == check_.passed && !(difference.max_abs <= check_.max_abs_err);
  if (worse || larger || check_.text.empty()) {
    check_.member = model_.member_list()[member].name;
    check_.max_abs_err = difference.max_abs;
    check_.tolerance = difference.allowed;
    check_.text = "member " + check_.member + ", output " + std::to_string(output) + ", " + difference.text;
  }
  if (std::isnan(difference.max_rel) || difference.max_rel > check_.max_rel_err)
    check_.max_rel_err = difference.max_rel;
  check_.passed = check_.passed && difference.agrees;
}

void PassTally::add(bool right, const std::string& text) {
  ++passes_;
  if (right || !check_.passed) return;
  check_.passed = false;
  check_.text = text;
  check_.max_abs_err = std::numeric_limits<double>::quiet_NaN();
}

void PassTally::add(std::span<const ModelInput> inputs, const std::vector<ModelOutput>& got,
                    const Outputs& expected) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (got.size() != expected[i].size())
      return add(false, "a pass gave " + std::to_string(got.size()) + " outputs, " +
                            std::to_string(expected[i].size()) + " were expected");
    ConditionedCompare conditioned(model_, static_cast<std::int64_t>(i), inputs);
    for (std::size_t k = 0; k < got.size(); ++k) {
      if (!expected[i][k].defined()) continue;
      const auto members = static_cast<std::int64_t>(expected.size());
      if (!got[k].is_tensor() || (got[k].mapped && members_in(got[k]) != members))
        return add(false, "output " + std::to_string(k) + " is not there for every member");
      add_output(conditioned, inputs, i, k, got[k].member(static_cast<std::int64_t>(i)), expected[i][k]);
    }
  }
  ++passes_;
}

results::Check PassTally::take() const {
  auto check = check_;
  check.text = std::to_string(passes_) + (passes_ == 1 ? " pass; " : " passes; ") + check.text;
  return check;
}

WatchedPasses::WatchedPasses(WideModel& model, WidePass pass, std::span<const ModelInput> inputs,
                             FreshInputs& fresh, SeparateRuns& separate, std::uint64_t seed)
    : model_(model),
      pass_(std::move(pass)),
      fresh_(fresh),
      separate_(separate),
      comparable_(!model.build(inputs).random && !keeps_state(model.build(inputs))),
      random_(profiler::derive(seed, 41)),
      tally_("passes while they were timed", model, inputs) {
  for (std::size_t i = 0; i < fresh.slots(); ++i)
    slots_.push_back(cloned(std::vector(inputs.begin(), inputs.end())));
}

profiler::Contender WatchedPasses::contender() {
  profiler::Contender contender{.name = "wide"};
  contender.prepare = [this](std::int64_t runs) {
    const auto ready = std::min(runs, static_cast<std::int64_t>(slots_.size()));
    for (std::int64_t i = 0; i < ready; ++i) copy_into(slots_[static_cast<std::size_t>(i)], fresh_.next());
    slot_ = 0;
    return ready;
  };
  contender.run = [this] {
    last_.clear();  // as one who reads each output before the next pass
    last_slot_ = slot_;
    last_ = pass_(slots_[slot_]);
    slot_ = (slot_ + 1) % slots_.size();
  };
  contender.finished = [this] { keep_one(); };
  return contender;
}

// Every batch of the round is as likely to be the one that is kept. The outputs themselves go, as the rivals'
// do: these take turns on memory that the one before has left in the cache.
void WatchedPasses::keep_one() {
  if (comparable_ && random_.below(++seen_) == 0) kept_ = Kept{cloned(slots_[last_slot_]), copy_of(last_)};
  last_.clear();
}

void WatchedPasses::after_round() {
  seen_ = 0;
  if (!kept_ || (tally_.passes() >= kRoundsAtFirst && random_.below(kLaterRounds) != 0)) return;
  separate_.set_inputs(0, kept_->inputs);
  PassTally::Outputs expected;
  const auto& outputs = model_.build(kept_->inputs).canonical.outputs;
  for (const auto& member : separate_.outputs(0)) {
    std::vector<c10::IValue> users;
    for (std::size_t k = 0; k < member.size(); ++k) {
      if (outputs[k].kind == OutputKind::kUser) users.push_back(member[k]);
    }
    expected.push_back(tensors_of(users));
  }
  tally_.add(kept_->inputs, kept_->outputs, expected);
  kept_.reset();
}

std::optional<results::Check> WatchedPasses::take() const {
  if (tally_.passes() == 0) return std::nullopt;
  return tally_.take();
}

profiler::Contender on_fresh_inputs(profiler::Contender contender, SeparateRuns& separate,
                                    FreshInputs& fresh) {
  contender.prepare = [&separate, &fresh](std::int64_t runs) {
    const auto ready = std::min(runs, static_cast<std::int64_t>(separate.slots()));
    for (std::int64_t i = 0; i < ready; ++i) separate.set_inputs(static_cast<std::size_t>(i), fresh.next());
    separate.rewind();
    return ready;
  };
  return contender;
}

namespace {

// One set of inputs, what the members make of it, and the first pass that was found to be that.
struct Known {
  std::vector<ModelInput> inputs;
  PassTally::Outputs expected;
  std::vector<ModelOutput> verified;
};

std::vector<Known> known_sets(WideModel& model, FreshInputs& fresh) {
  std::vector<Known> sets;
  for (int i = 0; i < kSets; ++i) {
    auto inputs = cloned(fresh.next());
    auto expected = alone(model, inputs);
    sets.push_back({std::move(inputs), std::move(expected), {}});
  }
  return sets;
}

}  // namespace

std::vector<results::Check> check_passes(WideModel& model, const WidePass& pass, FreshInputs& fresh,
                                         double seconds, std::uint64_t seed) {
  profiler::Random random(profiler::derive(seed, 43));
  auto sets = known_sets(model, fresh);
  const auto& like = sets.front().inputs;
  PassTally after("passes after they were timed", model, like), left("inputs are left alone", model, like);
  std::vector<std::vector<ModelInput>> slots;
  for (std::size_t i = 0; i < fresh.slots(); ++i) slots.push_back(cloned(like));
  const auto run = [&](const std::vector<ModelInput>& inputs) {
    model.reset();
    return pass(inputs);
  };
  // Time that others had the CPUs does not count: a busy machine must not mean fewer looks.
  const auto begun = Clock::now();
  const auto own_begun = std::clock();
  const auto has_time = [&] {
    const double passed = std::chrono::duration<double>(Clock::now() - begun).count();
    const double own = static_cast<double>(std::clock() - own_begun) / CLOCKS_PER_SEC;
    return passed < seconds || (own < seconds && passed < kMostPatience * seconds);
  };
  for (int i = 0; i < kPasses && after.passed() && (i < kFewest || has_time()); ++i) {
    auto& known = sets[random.below(kSets)];
    const auto& slot = slots[random.below(static_cast<std::uint32_t>(slots.size()))];
    copy_into(slot, known.inputs);
    if (i % kPoisoned == 0) model.poison();
    const auto outputs = run(slot);
    if (!known.verified.empty() && same(outputs, known.verified)) {
      after.add(true);
    } else {
      after.add(known.inputs, outputs, known.expected);
      if (after.passed()) known.verified = copy_of(outputs);
    }
    left.add(same(slot, known.inputs), "a pass wrote into its inputs");
  }
  std::vector<results::Check> checks{after.take(), left.take()};
  if (const auto inputs = fresh.next_with_nan(); !inputs.empty()) {
    PassTally nan("NaN in the inputs", model, inputs);
    copy_into(slots.front(), inputs);
    nan.add(inputs, run(slots.front()), alone(model, inputs));
    checks.push_back(nan.take());
  }
  model.reset();
  return checks;
}

}  // namespace wide::app
