#pragma once
// N models of one architecture, run as one.

#include <wide/config.h>
#include <wide/error.h>
#include <wide/report.h>
#include <wide/tensor.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace widebench {

/// A member's parameters and buffers in memory, by their names in the exported program.
struct MemberWeights {
  std::string name;
  std::map<std::string, Tensor> tensors;
  std::optional<std::int64_t> same_as = {};  ///< for replace_members(): stays what member number … was
};

struct Input {
  Tensor tensor;        ///< mapped: [N, d0, …], else [d0, …]
  bool mapped = false;  ///< differs per member
};

struct Output {
  std::string name;  ///< its place in the output tree; may be empty
  /// Mapped: [N, d0, …], else [d0, …]; a nested one where data give members sizes of their own; undefined for
  /// None and for numbers, and where `each` is not empty.
  Tensor tensor;
  bool mapped = false;       ///< differs per member
  std::vector<Tensor> each;  ///< where data give members different numbers of axes: member i's
};

struct InputInfo {
  std::string name;
  std::vector<std::int64_t> sizes;  ///< of one member; -1: dynamic
  Dtype dtype = Dtype::kOther;
};

/// Functions of one model may be called from several threads and wait for each other; cancel(), progress()
/// and size() wait for nothing. Different models run side by side. A model that was made before fork() is
/// refused in the child, and so is a new one there, unless it has one thread. All functions throw Error, and
/// std::bad_alloc where memory runs out; the model stays as it was, but that random streams may have gone on.
/// One that was moved from may only be assigned to or destroyed. No pass may go on while the process ends.
class WideModel {
 public:
  /// One exported program (.pt2) and N checkpoints (safetensors); one program alone; or N programs of one
  /// architecture. Error ("load") names file, tensor and both sides where they do not fit.
  static WideModel from_files(const std::vector<std::filesystem::path>& models,
                              const std::vector<std::filesystem::path>& checkpoints = {},
                              const Config& config = {});
  /// An exported program's bytes, and members in memory, all with the same tensors; what they do not bring is
  /// the file's own, as is all of the one member where none is given. Tensors are taken by reference: memory
  /// is copied only where kernels want it otherwise. Keep them as they are; most writes are noticed, see
  /// changed().
  static WideModel from_bytes(std::vector<std::byte> program, std::vector<MemberWeights> members = {},
                              const Config& config = {}, const std::string& name = "model");

  /// What write_bundle() or `widebench bundle` wrote: for the shapes that were planned then, nothing is
  /// planned or compiled. Mode and seed are the bundle's, not those of `config`. Its compiled code runs in
  /// this process and is only taken with `trust_code`; without, it is made again where there is a compiler.
  /// Error ("load") names a file that is not as it was written.
  static WideModel from_bundle(const std::filesystem::path& folder, bool trust_code = false,
                               const Config& config = {});

  WideModel(WideModel&&) noexcept;
  WideModel& operator=(WideModel&&) noexcept;
  ~WideModel();

  std::int64_t size() const;  ///< N
  std::vector<std::string> names() const;
  /// Of loading and building, in the order they came: what a file has that was left out, a stored plan that
  /// does not fit, a strategy by which nothing runs. More may come with each prepare().
  std::vector<std::string> warnings() const;
  std::vector<InputInfo> inputs() const;

  /// Plans and builds for the shapes of these inputs, unless that is done.
  void prepare(std::span<const Input> inputs);
  /// All members on one set of inputs; prepares for it where that is not done. Written buffers and random
  /// streams go on from the pass before. Error ("stale") where changed() names a tensor.
  std::vector<Output> forward(std::span<const Input> inputs);
  /// What forward() gives where nothing is left to prepare, else nothing: prepare() may then be called on
  /// another thread, and be cancelled.
  std::optional<std::vector<Output>> forward_if_prepared(std::span<const Input> inputs);
  /// Member `i` by itself, as the exported program says: from its buffers as loaded and its first random
  /// numbers. A tensor for each output, undefined for what is none.
  std::vector<Tensor> run_alone(std::int64_t i, std::span<const Input> inputs);

  /// The plan for these inputs, which is made where it is not there; what was built; and a proof that each
  /// member computes what it computes alone, with a float64 reference and checks for cross-talk, after which
  /// buffers and random streams begin anew.
  Plan plan(std::span<const Input> inputs);
  Report report(std::span<const Input> inputs);
  Proof prove(std::span<const Input> inputs);

  /// Copies of a member's tensors by name, with written buffers as the last pass left them, or as loaded.
  std::map<std::string, Tensor> weights(std::int64_t member, bool as_loaded = false) const;
  /// Other members in place of these, as many or not, by the plans that there are. Buffers and random streams
  /// begin anew. Members of a model from files bring all of a checkpoint's tensors.
  void replace_members(std::vector<MemberWeights> members);
  /// "member 'a', tensor 'w'" of a weight that was written since it was taken in; empty where none is seen to
  /// be. Writes that libtorch counts are seen at once; of 64 tensors at each call and pass in turn, also such
  /// that change the first or the last number.
  std::string changed() const;
  /// Buffers as loaded, random streams from their seeds.
  void reset();

  /// Writes all members as they were loaded, and the plans and compiled code of all shapes prepared, as a
  /// folder, whole or not at all. `program` is the .pt2 file that the model was made of. What is there is
  /// only replaced if it is a bundle and `replace` says so. Error ("bundle", "pack", "write").
  void write_bundle(const std::filesystem::path& folder, std::span<const std::byte> program,
                    bool replace = false) const;

  /// Ends a prepare() or forward() that is planning on another thread, which then throws Error ("plan").
  void cancel();
  /// What is being measured, for a line of progress; empty once that is over.
  std::string progress() const;

 private:
  class State;
  explicit WideModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// The first line in which the graphs of two exported programs differ; empty where they are one architecture.
std::string architecture_difference(std::vector<std::byte> first, std::vector<std::byte> second,
                                    const std::string& name = "model");

/// Lets every CPU tensor of the process be made by an allocator that can keep memory between passes, for
/// good: mode "reduce-overhead" needs it for its memory plan. Nothing else here changes the process.
void use_pooled_memory();
bool uses_pooled_memory();

}  // namespace widebench
