#pragma once
// Checks of the very passes that are timed: some of them while they are timed, many more afterwards. See
// Note [After the proof] in pass_checks.cpp.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/capture/rivals.h"
#include "app/fresh_inputs.h"
#include "core/model/wide_model.h"
#include "core/prove/conditioning.h"
#include "profiler/measure.h"
#include "results/record.h"

namespace wide::app {

/// All members once, as it is timed.
using WidePass = std::function<std::vector<ModelOutput>(std::span<const ModelInput>)>;

/// Passes against what the members gave by themselves, gathered into one check.
class PassTally {
 public:
  using Outputs = std::vector<std::vector<at::Tensor>>;  ///< [member][user output]; undefined for constants

  /// `inputs` stand for those to come: their build says how deep the model is.
  PassTally(std::string what, WideModel& model, std::span<const ModelInput> inputs);

  void add(std::span<const ModelInput> inputs, const std::vector<ModelOutput>& got, const Outputs& expected);
  /// A pass that is known to be right or wrong already; `text` says what was wrong.
  void add(bool right, const std::string& text = "");
  bool passed() const { return check_.passed; }
  int passes() const { return passes_; }
  results::Check take() const;

 private:
  void add_output(ConditionedCompare& conditioned, std::span<const ModelInput> inputs, std::size_t member,
                  std::size_t output, const at::Tensor& got, const at::Tensor& own);

  WideModel& model_;
  std::int64_t depth_;
  std::vector<bool> drawn_;  ///< by output, whether it hangs on random numbers: there is no reference
  int passes_ = 0;
  results::Check check_;
};

/// The contender "wide": every run has inputs that no run before it had, in memory that takes turns.
class WatchedPasses {
 public:
  /// All but `pass` must outlive this. `inputs` are the proved ones.
  WatchedPasses(WideModel& model, WidePass pass, std::span<const ModelInput> inputs, FreshInputs& fresh,
                SeparateRuns& separate, std::uint64_t seed);

  /// Must not outlive this.
  profiler::Contender contender();
  /// To be called between rounds: compares one pass of the round, drawn at random, with the members' own
  /// runs.
  void after_round();
  /// Nothing where members cannot be followed one by one: they draw random numbers or keep what they write.
  std::optional<results::Check> take() const;

 private:
  struct Kept {
    std::vector<ModelInput> inputs;
    std::vector<ModelOutput> outputs;
  };
  void keep_one();

  WideModel& model_;
  WidePass pass_;
  FreshInputs& fresh_;
  SeparateRuns& separate_;
  bool comparable_;
  std::vector<std::vector<ModelInput>> slots_;
  std::size_t slot_ = 0, last_slot_ = 0;
  std::vector<ModelOutput> last_;
  std::optional<Kept> kept_;
  std::uint32_t seen_ = 0;  ///< batches since the last round that one is drawn from
  profiler::Random random_;
  PassTally tally_;
};

/// A contender that runs members apart, on new inputs in every run as well.
profiler::Contender on_fresh_inputs(profiler::Contender contender, SeparateRuns& separate,
                                    FreshInputs& fresh);

/// Many passes on fresh inputs against the members' own runs, at least four, for about so many seconds; one
/// on inputs with NaN in them; and whether passes leave their inputs alone. The model is reset.
std::vector<results::Check> check_passes(WideModel& model, const WidePass& pass, FreshInputs& fresh,
                                         double seconds, std::uint64_t seed);

}  // namespace wide::app
