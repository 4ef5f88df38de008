#pragma once
// A pass recorded on the device and launched as a whole: what the mode reduce-overhead is on a GPU.

#include <c10/util/FunctionRef.h>

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
/// themselves up; the second is recorded, with its inputs at places of their own; it and all later ones copy
/// their inputs there, launch the recording, and give copies of what it wrote, which the caller may keep. A
/// pass that cannot be recorded is run as ever.
class RecordedPass {
 public:
  using Record = std::function<std::unique_ptr<Recording>(c10::function_ref<void()>)>;
  using Pass = c10::function_ref<std::vector<ExecutionOutput>(std::span<const WideTensor>)>;

  explicit RecordedPass(Record record) : record_(std::move(record)) {}

  /// Inputs must have the shapes, dtypes and devices that those of the first run had.
  std::vector<ExecutionOutput> run(std::span<const WideTensor> inputs, Pass pass);

  /// The next run records anew.
  void forget();

  bool is_recorded() const { return recording_ != nullptr; }
  /// Why it could not be recorded; empty as long as it was not tried, or when it was.
  const std::string& refusal() const { return refusal_; }

 private:
  void try_to_record(std::span<const WideTensor> inputs, Pass pass);

  Record record_;
  bool warm_ = false;
  std::string refusal_;
  std::unique_ptr<Recording> recording_;
  std::vector<WideTensor> places_;        ///< of the inputs
  std::vector<ExecutionOutput> written_;  ///< by the recording
};

}  // namespace wide
