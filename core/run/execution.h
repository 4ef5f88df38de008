#pragma once
// Running a planned graph: all members in one program, in several, or in several side by side on threads.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/aten/device.h"
#include "core/plan/plan.h"
#include "core/run/memory_plan.h"
#include "core/run/memory_pool.h"
#include "core/run/program.h"

namespace wide {

class RecordedPass;

/// How members are divided among programs, and programs among threads.
struct Schedule {
  std::int64_t chunk = 1;  ///< members of a program; the last has the rest
  int workers = 1;  ///< programs at a time: each on a thread, which is all that libtorch has there; on a
                    ///< GPU each on a stream
  int threads = 0;  ///< libtorch's threads where `workers` is 1; 0: as many as it has outside
  /// visit(name, number, least, most) of each: what plan files and the keys of known times are written from.
  static void each(auto& schedule, const auto& visit) {
    visit("chunk", schedule.chunk, 1, 1 << 20);
    visit("workers", schedule.workers, 1, 4096);
    visit("threads", schedule.threads, 0, 4096);
  }
  bool operator==(const Schedule&) const = default;
  /// How often a program of its own ends in a pass before the next ones can begin.
  std::int64_t turns(std::int64_t members) const;
};
/// "8 members at once", "8 members in 2 programs of 4, 2 at a time on a thread each", "8 members one after
/// the other".
std::string describe(const Schedule& schedule, std::int64_t members, at::Device device = at::kCPU);

/// What an execution gives of one output of the graph.
struct ExecutionOutput {
  std::vector<at::Tensor> parts;  ///< mapped: [n, …] with the n of each program in turn, or [1, …] of each
                                  ///< member where their shapes may differ; shared: one, [d0, …]
  bool mapped = false;
};

/// A graph ready to run by a schedule. Runs of one execution may not overlap.
class Execution {
 public:
  ~Execution();
  Execution(Execution&&) noexcept;
  Execution& operator=(Execution&&) noexcept;

  /// What an execution is made of.
  struct Parts {
    const Graph& graph;
    std::span<const ValueState> inputs;   ///< of all members
    std::span<const Constant> constants;  ///< of all members, by index into Graph::inputs
    std::int64_t members;
    bool static_memory = false;  ///< on the CPU each program has a MemoryPlan; elsewhere passes are recorded
    bool stacked = false;        ///< all members' results are wanted in one tensor
    ComputeDevice device = {};
  };
  /// `plan` is for programs of `schedule.chunk` members, `rest` for the last one where it has fewer.
  Execution(const Parts& parts, const Schedule& schedule, const Plan& plan, const Plan* rest);

  /// `inputs` by index into Graph::inputs, mapped ones [N, …]. Throws wide::Error ("run").
  std::vector<ExecutionOutput> run(std::span<const WideTensor> inputs, MemoryPool& pool) const;

  /// Fills the memory plans' slabs with 0xff.
  void poison();
  /// Sums over the programs.
  MemoryPlan::Statistics memory() const;
  /// What became of recording passes; null where they are not to be recorded.
  RecordedPass* recorded() const { return recorded_.get(); }

  const Schedule& schedule() const { return schedule_; }
  std::size_t instructions() const;

 private:
  struct Part {
    MembersOfProgram members;  ///< alone: by a plan_alone()
    Program program;
    std::unique_ptr<MemoryPlan> memory;  ///< null: all from the pool
  };
  std::vector<ExecutionOutput> run_parts(std::span<const WideTensor> inputs, MemoryPool& pool) const;
  std::vector<WideTensor> run_part(const Part& part, std::span<const WideTensor> inputs,
                                   MemoryPool& pool) const;

  std::vector<at::Tensor> room_for_all() const;

  Schedule schedule_;
  at::Device device_;
  std::vector<Part> parts_;
  std::vector<bool> mapped_outputs_;
  std::vector<std::optional<ConcreteType>> together_;  ///< by output: where programs put their parts in one
                                                       ///< tensor, what that is
  std::unique_ptr<RecordedPass> recorded_;
};

}  // namespace wide
