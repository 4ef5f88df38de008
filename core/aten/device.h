#pragma once
// The device that a wide model runs on: what is asked of it beside calling operators on its tensors.

#include <ATen/core/Generator.h>
#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/util/FunctionRef.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace wide {

/// Work of a device that is launched again as a whole, on the same memory: a CUDA Graph.
class Recording {
 public:
  Recording() = default;
  virtual ~Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  /// Throws c10::Error.
  virtual void replay() = 0;
};

/// Where a model runs.
struct ComputeDevice {
  at::Device device = at::kCPU;
  std::string name;  ///< "NVIDIA H100 80GB HBM3": measured costs are kept by it. Empty on the CPU
  /// Records what `work` gives the device, without running it; `work` was run before. Throws c10::Error where
  /// something in it cannot be recorded. Empty on a device that has no such thing.
  std::function<std::unique_ptr<Recording>(c10::function_ref<void()> work)> record;
};

/// Waits until the device has done all that it was given. On the CPU there is nothing to wait for.
void synchronize(at::Device device);

/// The most bytes that tensors of this process ever had at once on the device; 0 for the CPU.
std::int64_t peak_bytes(at::Device device);

/// The generator that operators on the device draw from where they are given none.
at::Generator default_generator(at::Device device);
at::Generator new_generator(at::Device device, std::uint64_t seed);

/// While it lives, what is drawn from the device's default generator does not move the caller's stream.
class KeptGenerator {
 public:
  explicit KeptGenerator(at::Device device);
  ~KeptGenerator();
  KeptGenerator(const KeptGenerator&) = delete;
  KeptGenerator& operator=(const KeptGenerator&) = delete;

 private:
  at::Generator generator_;
  at::Tensor state_;
};

/// Calls work(0) … work(count - 1) on this thread, item i with stream i % streams of the device as the
/// current one. They begin after what the current stream has been given, and it goes on after all of them.
void run_on_streams(at::Device device, std::size_t count, std::size_t streams,
                    c10::function_ref<void(std::size_t)> work);

}  // namespace wide
