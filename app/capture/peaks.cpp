#include "app/capture/peaks.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include "app/capture/peaks_folder.h"
#include "core/aten/torch_bridge.h"
#include "formats/error.h"
#include "formats/file.h"
#include "processes/load.h"
#include "profiler/machine.h"
#include "profiler/trace/source.h"

namespace wide::app {
namespace {

constexpr std::int64_t kNanoseconds = 150'000'000;  // of trying each thing
constexpr int kLeastRuns = 5;
// Large enough for the peak of a core. A product of types that the CPU has no units for may take it seconds:
// they get a smaller one. A device gets larger ones until a product takes it a millisecond.
constexpr std::int64_t kMatrix = 768, kLeastMatrix = 96, kLargestMatrix = 12'288;
constexpr double kLongEnough = 1e-3, kTooLong = 0.1;  // seconds
constexpr int kCalls = 100;                           // of what takes next to nothing
constexpr double kSmallCopies = 2e6;                  // bytes, below which what a call costs is seen
constexpr std::int64_t kLongCopy = 256 << 20;         // bytes
constexpr int kTries = 2;                             // at peaks that make sense

// The best of many: a peak is what is possible, not what is usual.
template <typename Run>
double best_seconds(const Run& run, std::int64_t nanoseconds = kNanoseconds) {
  run();
  double best = std::numeric_limits<double>::max();
  const auto end = profiler::now() + nanoseconds;
  for (int i = 0; i < kLeastRuns || profiler::now() < end; ++i) {
    const auto start = profiler::now();
    run();
    best = std::min(best, static_cast<double>(profiler::now() - start) / 1e9);
  }
  return best;
}

// Seconds of a call that is made `times` times. Where the device can record, the calls are replayed: what is
// looked for is its time, not that of the host which launches.
double seconds_of_each(const ComputeDevice& device, std::int64_t times, const std::function<void()>& call,
                       std::int64_t nanoseconds = kNanoseconds) {
  const auto all = [&] {
    for (std::int64_t i = 0; i < times; ++i) call();
  };
  call();
  const auto recording = device.record ? device.record(all) : nullptr;
  const auto seconds = best_seconds(
      [&] {
        recording ? recording->replay() : all();
        synchronize(device.device);
      },
      nanoseconds);
  return seconds / static_cast<double>(times);
}

// Such as models have: with all bits alike a GPU uses less power, and runs faster.
at::Tensor numbers(const ComputeDevice& device, at::ScalarType dtype, std::int64_t size) {
  const auto generator = new_generator(device.device, 1);
  return at::randn({size, size}, generator, at::TensorOptions().dtype(dtype).device(device.device));
}

struct Product {
  at::Tensor a, b, out;
  double seconds = 0;

  Product(const ComputeDevice& device, at::ScalarType dtype, std::int64_t size,
          std::int64_t nanoseconds = kNanoseconds)
      : a(numbers(device, dtype, size)), b(numbers(device, dtype, size)), out(at::empty_like(a)) {
    seconds = seconds_of_each(
        device, 1, [this] { run(); }, nanoseconds);
  }
  void run() { at::mm_out(out, a, b); }
  double flops() const {
    const auto n = static_cast<double>(a.size(0));
    return 2 * n * n * n / seconds;
  }
};

// Of the first product: what the least one takes says how long a larger one would.
std::int64_t first_size(const ComputeDevice& device, at::ScalarType dtype) {
  const auto least = Product(device, dtype, kLeastMatrix, kNanoseconds / 10).seconds;
  auto size = kMatrix;
  const auto seconds = [&] { return least * std::pow(static_cast<double>(size) / kLeastMatrix, 3); };
  while (size > kLeastMatrix && seconds() > kTooLong) size /= 2;
  return size;
}

// The largest that is needed.
Product product_of(const ComputeDevice& device, at::ScalarType dtype) {
  auto size = first_size(device, dtype);
  Product product(device, dtype, size);
  while (!device.device.is_cpu() && product.seconds < kLongEnough && 2 * size <= kLargestMatrix)
    product = Product(device, dtype, size *= 2);
  return product;
}

// Of a convolution in float32: on some processors oneDNN multiplies twice as fast as the library of products.
double convolution_flops(const ComputeDevice& device) {
  constexpr std::int64_t kImages = 4, kChannels = 128, kEdge = 32;
  const auto last = [&](std::vector<std::int64_t> shape) {
    return at::randn(shape, new_generator(device.device, 1)).contiguous(at::MemoryFormat::ChannelsLast);
  };
  const auto x = last({kImages, kChannels, kEdge + 2, kEdge + 2}), w = last({kChannels, kChannels, 3, 3});
  const auto seconds = seconds_of_each(device, 1, [&] { at::conv2d(x, w); });
  return 2.0 * static_cast<double>(w.numel() * kImages * kEdge * kEdge) / seconds;
}

profiler::Bandwidth copying(const ComputeDevice& device, std::int64_t bytes) {
  const auto from = at::ones({bytes / 4}, at::TensorOptions().dtype(at::kFloat).device(device.device));
  auto to = at::empty_like(from);
  // Small copies are repeated, or the call would be measured.
  const auto repeats = std::max<std::int64_t>(1, (std::int64_t{4} << 20) / bytes);
  const auto seconds = seconds_of_each(device, repeats, [&] { to.copy_(from); });
  const auto moved = 2.0 * static_cast<double>(bytes);
  return {moved, moved / seconds};
}

// Note [Gaps]
// What a launch takes the host and what the device takes from one kernel to the next are two things that the
// clock shows as one: the larger. So the host is timed while it launches and does not wait, and the device
// while it has all kernels in line behind one that takes long.
void measure_launches(const ComputeDevice& device, profiler::Peaks& peaks) {
  auto one = at::ones({1}, at::TensorOptions().device(device.device));
  const auto smallest = [&] { at::neg_out(one, one); };
  double launching = std::numeric_limits<double>::max();
  const auto launch = [&] {
    const auto start = profiler::now();
    for (int i = 0; i < kCalls; ++i) smallest();
    launching = std::min(launching, static_cast<double>(profiler::now() - start) / 1e9);
  };
  best_seconds([&] {
    synchronize(device.device);
    launch();
  });
  peaks.launch_us = launching / kCalls * 1e6;
  if (device.device.is_cpu()) return;
  // Copies, as their time hangs on nothing else: that of a product follows the GPU's temperature.
  const auto from = at::ones({kLongCopy / 4}, at::TensorOptions().device(device.device));
  auto to = at::empty_like(from);
  const auto copy = [&] { to.copy_(from); };
  const auto seconds = seconds_of_each(device, 1, copy);
  const auto busy = [&] {
    for (double covered = 0; covered < 2 * launching; covered += seconds) copy();
  };
  const auto alone = best_seconds([&] { busy(), synchronize(device.device); });
  const auto followed = best_seconds([&] { busy(), launch(), synchronize(device.device); });
  peaks.gap_us = std::max(0.0, followed - alone) / kCalls * 1e6;
  if (device.record) peaks.graph_gap_us = seconds_of_each(device, kCalls, smallest) * 1e6;
}

// A device's name may hold anything.
std::filesystem::path file_of(const profiler::Peaks& peaks) {
  auto device = peaks.device;
  std::replace_if(
      device.begin(), device.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return peaks_folder() / (peaks.machine + "-" + device + "-" + std::to_string(peaks.threads) + ".json");
}

profiler::Peaks nothing_yet(const ComputeDevice& device) {
  auto facts = profiler::machine();
  facts.extra["libtorch"] = TORCH_VERSION;
  profiler::Peaks peaks;
  peaks.machine = profiler::key(facts);
  const bool cpu = device.device.is_cpu();
  peaks.device = cpu ? "cpu" : device.name, peaks.threads = cpu ? at::get_num_threads() : 1;
  return peaks;
}

}  // namespace

profiler::Peaks measure_peaks(const ComputeDevice& device) {
  const c10::InferenceMode guard;
  auto peaks = nothing_yet(device);
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf})
    peaks.flops[dtype_name(dtype)] = product_of(device, dtype).flops();
  const bool cpu = device.device.is_cpu();
  if (auto& best = peaks.flops[dtype_name(at::kFloat)]; cpu) best = std::max(best, convolution_flops(device));
  for (const std::int64_t kibibytes : cpu ? std::array{16, 128, 1 << 10, 8 << 10, 64 << 10}
                                          : std::array{128, 1 << 10, 8 << 10, 64 << 10, 256 << 10})
    peaks.bandwidth.push_back(copying(device, kibibytes << 10));
  measure_launches(device, peaks);
  // A smaller working set is at least as fast as a larger one: what it lacks is what a call costs.
  for (auto i = peaks.bandwidth.size() - 1; i-- > 0 && cpu;) {
    auto& level = peaks.bandwidth[i];
    if (level.bytes < kSmallCopies)
      level.bytes_per_second = std::max(level.bytes_per_second, peaks.bandwidth[i + 1].bytes_per_second);
  }
  return peaks;
}

profiler::Peaks peaks_in_peace(const std::function<profiler::Peaks()>& measure, processes::LoadSource& load,
                               int threads) {
  profiler::Peaks peaks;
  for (int i = 0; i < kTries; ++i) {
    const auto before = load.read();
    peaks = measure();
    peaks.doubts = profiler::nonsense(peaks);
    auto disturbed = processes::objection(processes::between(before, load.read()), threads);
    if (!disturbed.empty()) peaks.doubts.push_back(std::move(disturbed));
    if (peaks.doubts.empty()) break;
  }
  return peaks;
}

profiler::Peaks stored_peaks(const ComputeDevice& device, KeptPeaks wanted) {
  const auto file = file_of(nothing_yet(device));
  if (wanted != KeptPeaks::kNone) {
    try {
      const auto bytes = formats::read_file(file);
      auto kept = profiler::peaks_from_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      const bool doubtful = !kept.doubts.empty() || !profiler::nonsense(kept).empty();
      if (wanted == KeptPeaks::kAny || !doubtful) return kept;
    } catch (const Error&) {
      // Not there, or not readable: measured again.
    }
  }
  processes::MachineLoad load;
  const auto threads = device.device.is_cpu() ? at::get_num_threads() : 1;
  const auto peaks = peaks_in_peace([&] { return measure_peaks(device); }, load, threads);
  try {
    if (std::filesystem::exists(file) && !std::filesystem::is_regular_file(file))
      return peaks;  // a pipe waits
    std::filesystem::create_directories(file.parent_path());
    const auto text = profiler::to_text(peaks);
    formats::replace_file(file, std::array{std::as_bytes(std::span(text))});
  } catch (const std::exception&) {
    // Only a cache: the next profile measures them again.
  }
  return peaks;
}

}  // namespace wide::app
