#pragma once
// A pass recorded on the device and launched as a whole: what the mode reduce-overhead is on a GPU.

#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/aten/device.h"
#include "core/run/execution.h"
#include "core/run/program.h"

namespace wide {

/// Runs a pass that is the same each time. The first run is an ordinary one, in which libraries set
/// themselves up; later ones launch recordings, see Note [What recordings read and write]. A pass that cannot
/// be recorded is run as ever.
class RecordedPass {
 public:
  using Record = std::function<std::unique_ptr<Recording>(c10::function_ref<void()>)>;
  using Pass = c10::function_ref<std::vector<ExecutionOutput>(std::span<const WideTensor>)>;

  /// What a run gives and the next one reads, as written buffers are.
  struct Kept {
    std::vector<bool> inputs, outputs;  ///< all of them, by index
  };
  RecordedPass(Record record, Kept kept);
  ~RecordedPass();

  /// Inputs must have the shapes, dtypes and devices that those of the first run had. The caller may keep
  /// what it gets, and must have read it, on the stream that was current, before it lets go of it.
  std::vector<ExecutionOutput> run(std::span<const WideTensor> inputs, Pass pass);

  /// The next run records anew.
  void forget();

  bool is_recorded() const { return recordings() > 0; }
  /// How many there are.
  std::size_t recordings() const { return recordings_.size() + (for_all_ ? 1 : 0); }
  /// Why it could not be recorded; empty as long as it was not tried, or when it was.
  const std::string& refusal() const { return refusal_; }

 private:
  struct One;
  struct Place;
  enum class Reads { kPlaces, kCopies };
  /// Null where it cannot be recorded: none is tried again then.
  std::unique_ptr<One> recorded(std::span<const WideTensor> inputs, Pass pass, Reads reads, bool serves_all);
  One* own(std::span<const WideTensor> inputs, Pass pass);
  One* for_all(std::span<const WideTensor> inputs, Pass pass);
  bool make_way(std::span<const WideTensor> inputs, const One* kept);
  bool are_small(std::span<const WideTensor> inputs) const;
  std::vector<Place> places_of(std::span<const WideTensor> inputs) const;
  bool come_again(std::span<const WideTensor> inputs);

  Record record_;
  Kept kept_;
  bool warm_ = false, no_more_ = false, no_more_in_place_ = false;
  std::int64_t runs_ = 0;
  std::string refusal_;
  std::vector<std::unique_ptr<One>> recordings_;
  std::unique_ptr<One> for_all_;
  std::deque<std::vector<Place>> unserved_;
};

}  // namespace wide
