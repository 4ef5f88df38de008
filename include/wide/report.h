#pragma once
// What is known of a wide model, as values: they stay what they are whatever becomes of the model.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace widebench {

/// How a node of the graph runs.
struct PlanNode {
  std::string op;           ///< "aten.linear.default"
  std::string result;       ///< "%linear"; empty where it has none
  std::string strategy;     ///< "xsmm", "grouped", …; "constant": computed once, when it was built
  std::string module_path;  ///< where it stands in the model
  double nanoseconds = 0;   ///< estimated, or measured
  bool measured = false;
  std::string second;  ///< the best of the other strategies; empty where there is none
  double second_nanoseconds = 0;
};

struct Plan {
  std::string text;      ///< the graph with strategy, layouts and costs beside each node
  std::string schedule;  ///< "8 members at once", "8 members in 2 programs of 4, …"
  std::vector<PlanNode> nodes;
  /// Why the times that it was chosen by say little, so that another plan may be faster: what else worked on
  /// the machine when some of them were taken. Empty: nothing. A last line of `text` says it, too.
  std::string disturbed;
};

struct Stage {
  std::string name;
  double milliseconds = 0;
  std::string text;  ///< the graph after it, with Config::snapshots
};

struct Report {
  std::int64_t members = 0;
  std::int64_t wide = 0;                     ///< nodes that run for all members together
  std::int64_t sequential = 0;               ///< those that run member by member
  std::int64_t shared = 0;                   ///< done once for all members
  std::int64_t constant = 0;                 ///< done once, when it was built
  std::int64_t conversions = 0, copies = 0;  ///< changes of layout in a pass; of these, those that move data
  std::map<std::string, std::int64_t> sequential_ops;
  std::string schedule;
  std::int64_t weight_bytes = 0;  ///< of all members, equal and tied ones once
  std::int64_t builds = 0;        ///< sets of input shapes that are built
  bool random = false;
  std::vector<std::string>
      written_inputs;  ///< that the model writes into alone; a wide pass leaves them as they are
  double milliseconds = 0, tuning_milliseconds = 0;  ///< of building; of these, choosing a plan
  std::vector<Stage> stages;
};

/// One kind of comparison over all members and outputs.
struct ProofCheck {
  std::string what;    ///< "member against its own run", "float64 reference", "cross-talk", …
  std::string member;  ///< the worst
  std::string text;    ///< one line: where, and the numbers there
  double max_abs = 0, max_rel = 0, tolerance = 0;
  bool passed = true;
};

struct Proof {
  std::vector<ProofCheck> checks;
  std::vector<std::string> notes;  ///< a line for each check that could not be made, and why
  bool passed() const;
};

}  // namespace widebench
