#pragma once
// What the window asks of the engine about one open model, as plain data. The program answers from libtorch;
// every function is called from jobs of Lane::kEngine only, one at a time.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace wide::gui {

/// Where a model comes from: files, or a built-in subject.
struct ModelSource {
  std::vector<std::string> models;   ///< .pt2 files
  std::vector<std::string> weights;  ///< checkpoints, a member each
  std::string subject;               ///< instead of files: a built-in one
  std::int64_t copies = 4;           ///< members of a subject, or of a model without checkpoints

  bool empty() const { return models.empty() && subject.empty(); }
  bool operator==(const ModelSource&) const = default;
};

/// The preset whose sizes an open built-in subject has.
inline constexpr const char* kSubjectSizes = "ci";

/// "resblock", or the stem of the model's file.
std::string title(const ModelSource& source);
/// As options of the command line: "--model m.pt2 --weights a.safetensors", or "resblock -n 4".
std::string arguments(const ModelSource& source);
/// A word as a shell reads it back.
std::string shell_quoted(const std::string& word);
/// Sorts dropped or chosen files and folders into models and checkpoints; a folder gives its .pt2 and its
/// checkpoints. Goldens and inputs (golden, inputs, outputs) are no checkpoints. Checkpoints alone are added
/// to `open`. Throws wide::Error ("load") when there is no model among them.
ModelSource source_of(const std::vector<std::string>& paths, const ModelSource& open);

/// What to build.
struct BuildWish {
  std::string all = "auto";                     ///< strategy of all nodes
  std::map<std::string, std::string> by_kind;   ///< "conv2d" to "grouped"
  std::map<std::string, std::string> by_value;  ///< "%conv2d" to "grouped"
  std::string mode = "eager";                   ///< as in BuildOptions
  bool operator==(const BuildWish&) const = default;
};
/// As options: "-s auto -s conv2d=grouped --mode reduce-overhead"; empty where nothing differs from the
/// default.
std::string arguments(const BuildWish& wish);
/// As one word, as `widebench benchmark -s` takes it: "wide+conv2d=grouped"; "auto" where nothing is chosen.
std::string strategy_word(const BuildWish& wish);

struct OperandView {
  std::string name;    ///< of the value: "conv1_weight"
  std::string type;    ///< "float32[64, 64, 3, 3]"
  std::string layout;  ///< "shared", "front", "packed", …
  bool weight = false;
};

struct AlternativeView {
  std::string strategy, layouts;
  double microseconds = 0;
  bool measured = false;
};

struct RefusalView {
  std::string strategy, reason;
};

/// What one kernel of a group of operators stands for.
struct FusedView {
  std::vector<std::string> operators;  ///< as the text form has them, in order; empty: it is no group
  std::int64_t bytes = 0;              ///< of one operator's result, all members
  bool stored = false;                 ///< what passes between the operators is written to memory
  std::string code;                    ///< what was generated: what it reads and writes, then C; may be empty
};

struct NodeView {
  std::string name;       ///< of the first result, without its sign: "conv2d_1"
  std::string op, kind;   ///< "aten.conv2d.default", "conv2d"
  std::string primitive;  ///< "conv"; empty where none owns the operator
  std::string module;     ///< "layer1.0"
  std::string text;       ///< its line in the text form
  std::string type;       ///< of the first result
  std::string layout;     ///< of the first result
  std::vector<OperandView> operands;
  std::vector<std::size_t> reads;   ///< nodes whose results it uses, by index
  std::vector<std::string> inputs;  ///< user inputs that it uses
  std::string strategy;             ///< "shared", "constant", "sequential", or one of the primitive's
  double microseconds = 0;          ///< of the chosen strategy
  bool measured = false;            ///< timed on this machine, else estimated
  std::vector<AlternativeView> alternatives;  ///< the others that could run it, fastest first
  std::vector<RefusalView> refusals;
  FusedView fused;

  bool choosable() const { return strategy != "shared" && strategy != "constant" && strategy != "alone"; }
};

struct StageView {
  std::string name, text;
  double milliseconds = 0;
};

struct ScheduleView {
  std::string text;
  double predicted_us = 0, measured_us = 0;  ///< 0: not known
  bool chosen = false;
};

/// A model that is open and built. Never changed once made.
struct ModelView {
  ModelSource source;
  BuildWish wish;
  std::string name;
  std::vector<std::string> members;
  std::map<std::string, std::int64_t> dtypes;  ///< of one member's tensors: how many elements
  std::int64_t parameters = 0;                 ///< of one member
  std::int64_t member_bytes = 0;               ///< weights of one member
  std::int64_t kept_bytes = 0;                 ///< weights of all as kept: equal and tied ones once
  std::int64_t activation_bytes = 0;           ///< largest sum of values alive at once, all members
  std::vector<std::string> inputs;             ///< "x : float32[8, 64, 16, 16]"
  std::int64_t nodes = 0, sequential = 0, shared = 0, constant = 0, conversions = 0, copies = 0;
  std::map<std::string, std::int64_t> sequential_ops;  ///< operator to how many
  std::vector<NodeView> graph;                         ///< of the optimized graph, in order
  std::vector<std::string> outputs;                    ///< names of the values it returns
  std::vector<StageView> stages;
  std::string schedule;
  std::string plan;  ///< as `widebench plan -o FILE` writes it, so that another process runs the very same
  std::vector<ScheduleView> schedules;
  double pass_us = 0;  ///< of a pass of all members: its nodes and conversions, in each of its turns
  double turns = 1;    ///< programs that run one after the other: the nodes' times are of one
  double build_milliseconds = 0;
  std::vector<std::string> warnings;

  const NodeView* find(const std::string& node) const;
  /// Bytes of weights for so many members, in proportion to what is kept of these.
  double weights_for(std::int64_t n) const;
};

struct CheckView {
  std::string what, member, text;
  double max_abs = 0, tolerance = 0;
  bool passed = true;
};
/// One member against its own separate run.
struct MemberError {
  std::string member;
  double max_abs = 0, max_rel = 0, tolerance = 0;
  bool passed = true;
  bool is_empty = false;  ///< no number of its own run is finite, so that being equal says little
  std::string worst;      ///< where, and the numbers there
};
struct ProofView {
  bool passed = true;
  std::vector<std::string> notes;  ///< what the checks do not prove
  std::string refusal;             ///< why members cannot be compared; the rest is then empty
  std::vector<CheckView> checks;
  std::vector<MemberError> members;
  double seconds = 0;
};

/// One of the kernels or library calls that run a node.
struct CallView {
  std::string name;         ///< "aten::bmm", "wide::small_gemm"
  std::int64_t count = 0;   ///< in one pass
  bool conversion = false;  ///< changes a layout before the node
};
using Calls = std::map<std::string, std::vector<CallView>>;  ///< by the node's name

/// The file of the source tree that has a kernel of ours, "primitives/kernels/rows.cpp"; empty: it is a
/// library's.
std::string source_of_kernel(const std::string& call);

/// Who asks for work: hears what is being done, and may cancel it.
struct Progress {
  std::function<void(double fraction, const std::string& what)> tell;  ///< a share in [0, 1], or below 0
  std::function<void()> check;  ///< throws when the work is cancelled; quick

  void operator()(double fraction, const std::string& what) const {
    check();
    tell(fraction, what);
  }
};

class Bench {
 public:
  virtual ~Bench() = default;
  /// Opens and builds; what was open before is let go when this succeeds. Throws wide::Error.
  virtual std::shared_ptr<const ModelView> open(const ModelSource& source, const BuildWish& wish,
                                                const Progress& progress) = 0;
  /// Builds what is open anew. Throws wide::Error.
  virtual std::shared_ptr<const ModelView> build(const BuildWish& wish, const Progress& progress) = 0;
  /// Proves what was built last. Throws wide::Error.
  virtual ProofView prove(const Progress& progress) = 0;
  /// Runs a pass of what was built last and says what each node called. Throws wide::Error.
  virtual Calls calls(const Progress& progress) = 0;
  virtual void close() = 0;
};

}  // namespace wide::gui
