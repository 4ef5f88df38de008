#pragma once
// The wide model: N members of one architecture, run together. The entry point of libwide.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/aten/device.h"
#include "core/eager/interpreter.h"
#include "core/frontend/members.h"
#include "core/ir/graph.h"
#include "core/native/source.h"
#include "core/passes/pipeline.h"
#include "core/plan/plan.h"
#include "core/run/memory_pool.h"
#include "core/run/program.h"
#include "core/strategy/sequential.h"
#include "core/tune/auto_plan.h"

namespace wide {

/// One user input: the same tensor for all members, or one stacked tensor.
struct ModelInput {
  at::Tensor tensor;  ///< mapped: [N, d0, …], else [d0, …]
  bool mapped = false;

  static ModelInput shared(at::Tensor tensor) { return {std::move(tensor), false}; }
  /// Stacks one tensor per member; throws wide::Error when shapes or dtypes differ.
  static ModelInput per_member(std::span<const at::Tensor> tensors, const std::string& name);
  at::Tensor member(std::int64_t i) const { return mapped ? tensor.select(0, i) : tensor; }
};

/// What the model returns at one place of its output tree.
struct ModelOutput {
  std::string name;               ///< pytree path, may be empty
  std::vector<at::Tensor> parts;  ///< mapped: [n, d0, …] of so many members each, in order; shared: one,
                                  ///< [d0, …]; none where the model returns a constant
  bool mapped = false;
  std::optional<Argument> constant;  ///< None, or a number

  bool is_tensor() const { return !parts.empty(); }
  /// One member's tensor, a view.
  at::Tensor member(std::int64_t i) const;
  /// [N, d0, …], or [d0, …] where the output is shared; a copy where members were run apart. Throws
  /// wide::Error where the members' shapes differ.
  at::Tensor stacked() const;
};

/// One member's separate run.
struct AloneRun {
  std::vector<c10::IValue> outputs;           ///< user outputs, in order
  std::map<std::string, at::Tensor> buffers;  ///< those that the run wrote, by fqn
};

struct BuildOptions {
  Mode mode = Mode::kEager;
  StrategyChoice strategies;
  TunerOptions tuning;
  /// Costs measured before; one in memory is made where none is given.
  std::shared_ptr<CostBook> costs;
  /// Run exactly this plan; `strategies` and `tuning` are then not asked.
  std::optional<StoredPlan> plan;
  /// As plans() gives them, for the shapes that they name; where one does not fit, another is made.
  std::map<std::string, StoredPlan> plans = {};
  std::uint64_t seed = 0;  ///< member i's random stream is seeded with seed + i
  PipelineOptions pipeline;
  ComputeDevice device;  ///< weights are moved there; so are inputs that lie elsewhere, in every pass
  /// Members' tensors are the caller's, who keeps them and says when they change (replace_members): they are
  /// read where they lie, and stacked only where kernels want them so. Below max-autotune, weights
  /// transformed for kernels take at most an eighth more than plain ones, where those are many.
  bool borrowed = false;
  bool stacked = false;  ///< outputs are asked for in one tensor each, ModelOutput::stacked()
  /// Told, once by a model, that something of `plan` runs in another way here, and why. May be empty.
  std::function<void(const std::string& what)> warn = {};
};

/// A canonical graph for given input shapes, with its plan and programs.
struct Build {
  std::int64_t members = 0;
  Graph specialized;               ///< what one member runs alone
  std::vector<bool> written;       ///< inputs of `specialized` that a run writes into
  Graph canonical;                 ///< what separate runs of the members are measured by
  Graph optimized;                 ///< what the plan is of
  std::vector<ValueState> inputs;  ///< of `optimized`, in order: which are mapped, which constant
  PlannedExecution planned;
  std::vector<StageRecord> stages;
  double milliseconds = 0;         ///< all stages
  double tuning_milliseconds = 0;  ///< of these, choosing a plan
  bool random = false;             ///< some node draws random numbers

  const Plan& plan() const { return planned.plan; }
};

/// How the nodes of a build run, for reports.
struct Coverage {
  std::int64_t nodes = 0;  ///< tensor-computing nodes that depend on a member
  std::int64_t sequential = 0;
  std::int64_t shared = 0;       ///< done once for all members
  std::int64_t constant = 0;     ///< done once, at build
  std::int64_t conversions = 0;  ///< layout changes in a forward pass
  std::int64_t copies = 0;       ///< of these, those that move data
  std::string schedule;          ///< how members are divided among programs
  std::map<std::string, std::int64_t> sequential_ops;
};

class WideModel {
 public:
  /// Members must have the tensors that the graph names, of equal shape and dtype (load() checks).
  explicit WideModel(Graph captured, std::vector<Member> members, BuildOptions options = {});

  std::int64_t members() const { return static_cast<std::int64_t>(members_.size()); }
  const std::vector<Member>& member_list() const { return members_; }
  const Graph& graph() const { return captured_; }
  const BuildOptions& options() const { return options_; }
  /// User inputs of the graph, in order.
  const std::vector<GraphInput>& user_inputs() const { return user_inputs_; }

  /// Runs all members. Inputs in the order of user_inputs(). Builds first for shapes not seen before.
  /// Written buffers keep their new values per member. Throws wide::Error for inputs that do not fit.
  std::vector<ModelOutput> forward(std::span<const ModelInput> inputs);

  /// Builds that are kept: one beyond takes the place of the least recently used.
  static constexpr std::size_t kMostBuilds = 16;
  /// The build for these inputs (shapes, and which of them are mapped), made if it is not there yet. Good
  /// until kMostBuilds others have been used after it.
  const Build& build(std::span<const ModelInput> inputs);

  /// forward() on these inputs has nothing to build.
  bool has_build(std::span<const ModelInput> inputs) const;

  /// Builds kept now.
  std::size_t builds() const { return builds_.size(); }
  /// Their plans, by a text for the shapes of the inputs; and what their kernels are compiled from.
  std::map<std::string, StoredPlan> plans() const;
  std::vector<native::Source> sources() const;

  /// What takes the place of an input, a weight or a buffer.
  using Change = std::function<at::Tensor(const at::Tensor&)>;
  /// Runs member `i` alone on its own inputs, as the captured graph says, from its initial buffers and random
  /// seed; on what `change` makes of each of them, if it is given.
  AloneRun run_alone(std::int64_t i, std::span<const ModelInput> inputs,
                     const Interpreter::Observer& observer = {}, const Change& change = {});

  /// What member `i` has for each input of `graph`, on the model's device: its part of `inputs`, its tensors
  /// as loaded. Copies of those that are marked in `written`, which may be changed; of all where there is
  /// none.
  std::vector<c10::IValue> member_values(std::int64_t i, std::span<const ModelInput> inputs,
                                         const Graph& graph,
                                         const std::vector<bool>* written = nullptr) const;

  /// Current values of buffers that forward() writes, [N, …] by fqn.
  const std::map<std::string, at::Tensor>& buffers() const { return state_; }
  /// The memory that passes use.
  const MemoryPool& pool() const { return *pool_; }
  /// Fills the memory that the next pass will use with bytes that are NaN in every float.
  void poison();
  /// Buffers as loaded, random streams from their seeds.
  void reset();

  /// Other members in place of these, as many or not, with tensors as the constructor wants them. Buffers and
  /// random streams begin anew. Builds are made again when they are asked for, by the plans of before where
  /// those still fit: nothing is measured again for them.
  void replace_members(std::vector<Member> members);

  /// Bytes of weights as kept: tensors equal over all members once, tied ones once.
  std::int64_t weight_bytes() const;

 private:
  /// The inputs of the last pass and their build: the common case needs no key.
  struct Seen {
    std::vector<std::int64_t> shape;
    at::ScalarType dtype;
    bool mapped;
    std::vector<std::int64_t> strides;  ///< none where they do not count
  };
  struct Last {
    const Build* build = nullptr;
    std::vector<Seen> inputs;
  };
  at::Device device() const { return options_.device.device; }
  bool is_last(std::span<const ModelInput> inputs) const;
  std::string key_of(std::span<const ModelInput> inputs) const;
  std::map<std::string, StoredPlan> plans(std::int64_t members) const;
  void make_room();
  bool has_much_weight() const;
  StrategyChoice choice_within_memory() const;
  /// What the planner knows of a graph's inputs, in order.
  struct Held {
    std::vector<ValueState> states;
    std::vector<Constant> constants;  ///< none for what a pass is given, or writes
  };
  Build make_build(std::span<const ModelInput> inputs, const std::string& key);
  Held hold_inputs(const Graph& canonical, std::span<const ModelInput> inputs);
  /// By the plan that the caller or an earlier build gives for inputs of this key, else by a new one.
  PlannedExecution planned(const Graph& optimized, const Graph& canonical, const Held& held,
                           const StrategyChoice& choice, std::span<const ModelInput> inputs,
                           const std::string& key);
  std::optional<PlannedExecution> restored_plan(const PlanRequest& request, const std::string& key);
  void check_members() const;
  std::vector<WideTensor> input_values(const Graph& graph, std::span<const ModelInput> inputs) const;
  const Constant& weight(const std::string& fqn);
  void settle_weights();
  void tell_stand_ins(const Plan& plan, const StoredPlan& stored);
  std::optional<std::string> find_twin(const std::string& fqn);
  /// One pass; a fault of one member names it.
  std::vector<ExecutionOutput> run_named(const Build& built, std::span<const ModelInput> inputs);
  void own_buffer(const std::string& fqn);
  void refuse_overlaps(const std::set<std::string>& written) const;
  at::Tensor initial_buffer(const std::string& fqn) const;
  Graph captured_;
  std::vector<Member> members_;
  BuildOptions options_;
  std::vector<GraphInput> user_inputs_;
  bool draws_ = false;         ///< captured_ draws numbers, in an order that goes by the strides of inputs
  bool by_strides_ = false;    ///< so, or what it gives goes by them otherwise
  bool reads_memory_ = false;  ///< an input is to lie in memory as one did
  /// Shared where all members have equal bytes; tied ones are one.
  std::map<std::string, Constant> weights_;
  std::multimap<std::size_t, std::string> by_hash_;  ///< names in weights_ by the hash of all members' bytes
  std::map<std::string, at::Tensor> state_;
  struct Kept {
    std::unique_ptr<Build> build;
    std::uint64_t used = 0;  ///< by the clock of uses; of the last build since it became the last
  };
  std::map<std::string, Kept> builds_;
  std::map<std::string, StoredPlan> plans_;  ///< of before, for builds that are not made yet, by the same key
  std::uint64_t uses_ = 0;
  std::vector<std::uint64_t> seeds_;
  bool told_stand_ins_ = false;
  Last last_;
  std::unique_ptr<MemberStreams> streams_;
  std::unique_ptr<MemoryPool> pool_;
};

Coverage coverage(const Build& build);

}  // namespace wide
