#include "app/capture/peaks.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

#include "app/capture/peaks_folder.h"
#include "core/aten/torch_bridge.h"
#include "formats/error.h"
#include "formats/file.h"
#include "profiler/machine.h"
#include "profiler/trace/source.h"

namespace wide::app {
namespace {

constexpr std::int64_t kNanoseconds = 150'000'000;  // of trying each thing
constexpr int kLeastRuns = 5;
constexpr std::int64_t kMatrix =
    768;  // large enough for the peak, small enough for 16-bit types without units

// The best of many: a peak is what is possible, not what is usual.
template <typename Run>
double best_seconds(const Run& run) {
  run();
  double best = std::numeric_limits<double>::max();
  const auto end = profiler::now() + kNanoseconds;
  for (int i = 0; i < kLeastRuns || profiler::now() < end; ++i) {
    const auto start = profiler::now();
    run();
    best = std::min(best, static_cast<double>(profiler::now() - start) / 1e9);
  }
  return best;
}

double product_flops(at::ScalarType dtype) {
  const auto options = at::TensorOptions().dtype(dtype);
  const auto a = at::ones({kMatrix, kMatrix}, options), b = at::ones({kMatrix, kMatrix}, options);
  auto out = at::empty({kMatrix, kMatrix}, options);
  const auto n = static_cast<double>(kMatrix);
  return 2 * n * n * n / best_seconds([&] { at::mm_out(out, a, b); });
}

profiler::Bandwidth copying(std::int64_t bytes) {
  const auto from = at::ones({bytes / 4}, at::kFloat);
  auto to = at::empty_like(from);
  // Small copies are repeated, or the call would be measured.
  const auto repeats = std::max<std::int64_t>(1, (std::int64_t{4} << 20) / bytes);
  const auto seconds = best_seconds([&] {
    for (std::int64_t i = 0; i < repeats; ++i) to.copy_(from);
  });
  const auto moved = 2.0 * static_cast<double>(bytes);
  return {moved, moved * static_cast<double>(repeats) / seconds};
}

std::filesystem::path file_of(const profiler::Peaks& peaks) {
  return peaks_folder() /
         (peaks.machine + "-" + peaks.device + "-" + std::to_string(peaks.threads) + ".json");
}

profiler::Peaks nothing_yet() {
  auto facts = profiler::machine();
  facts.extra["libtorch"] = TORCH_VERSION;
  profiler::Peaks peaks;
  peaks.machine = profiler::key(facts), peaks.device = "cpu", peaks.threads = at::get_num_threads();
  return peaks;
}

}  // namespace

profiler::Peaks measure_peaks() {
  const c10::InferenceMode guard;
  auto peaks = nothing_yet();
  for (const auto dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf})
    peaks.flops[dtype_name(dtype)] = product_flops(dtype);
  for (const std::int64_t kibibytes : {16, 128, 1024, 8 << 10, 64 << 10})
    peaks.bandwidth.push_back(copying(kibibytes << 10));
  auto one = at::ones({1});
  constexpr int kCalls = 100;
  peaks.launch_us = best_seconds([&] {
                      for (int i = 0; i < kCalls; ++i) at::neg_out(one, one);
                    }) /
                    kCalls * 1e6;
  return peaks;
}

profiler::Peaks stored_peaks(bool again) {
  const auto file = file_of(nothing_yet());
  if (!again) {
    try {
      const auto bytes = formats::read_file(file);
      return profiler::peaks_from_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    } catch (const Error&) {
      // Not there, or not readable: measured again.
    }
  }
  const auto peaks = measure_peaks();
  try {
    std::filesystem::create_directories(file.parent_path());
    const auto text = profiler::to_text(peaks);
    formats::replace_file(file, std::array{std::as_bytes(std::span(text))});
  } catch (const std::exception&) {
    // Only a cache: the next profile measures them again.
  }
  return peaks;
}

}  // namespace wide::app
