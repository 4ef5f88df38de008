#pragma once
// compile and run: a plan becomes a flat list of instructions on numbered slots.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/eager/observe.h"
#include "core/ir/graph.h"
#include "core/plan/plan.h"
#include "core/strategy/constant.h"

namespace wide {

/// Some of the members of a model.
struct MembersOfProgram {
  std::int64_t first, count;
  bool alone;  ///< one member's values have no axis of members
};

/// Executable form of a planned graph. Immutable; runs may be concurrent.
class Program {
 public:
  /// `constants` are those of all members of a model, by index into Graph::inputs; what no kernel reads in a
  /// pass is not kept. Nodes that depend on constants only run here, and layouts of constants are settled
  /// here.
  Program(const Graph& graph, const Plan& plan, std::span<const Constant> constants,
          const MembersOfProgram& members);

  /// `inputs` by index into Graph::inputs; entries of constant inputs are ignored. Gives one per
  /// Graph::outputs: shared or in front. Throws wide::Error ("run") naming the failing node.
  std::vector<WideTensor> run(std::span<const WideTensor> inputs) const;

  std::size_t instructions() const { return instructions_.size(); }

 private:
  struct Instruction {
    Kernel kernel;
    std::vector<std::size_t> operands, results, freed;
    std::string where;
    std::int32_t node = -1;   ///< index into Graph::nodes; -1: a change of layout of an output
    bool conversion = false;  ///< a change of layout before that node
    /// What members would run alone, to find out whose fault a failure is; null: it is everyone's.
    std::shared_ptr<const Call> call;
    std::vector<Layout> layouts;  ///< of its operands
  };
  struct Entry {  ///< an input that is not constant
    std::size_t input;
    std::size_t slot;
    Layout layout;
  };
  struct Exit {
    std::size_t slot = 0;
    Layout layout = Layout::kShared;
    std::optional<Argument> literal;
  };
  friend class ProgramBuilder;
  std::vector<Instruction> instructions_;
  std::vector<Entry> entries_;
  std::vector<Exit> exits_;
  std::vector<at::Tensor> initial_;  ///< slots before the first instruction: constants
  /// Memory of constants. Of an output that lies there the caller is given a copy: what it does to it must
  /// not change later passes.
  std::unordered_set<const c10::StorageImpl*> kept_;
};

/// What those kernels of a plan that say so are made of, for people to read.
std::string listing(const Graph& graph, const Plan& plan);

}  // namespace wide
