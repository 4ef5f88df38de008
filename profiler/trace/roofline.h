#pragma once
// What a machine can do at most, what each node reached of it, and what holds it back.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/trace/comparison.h"
#include "profiler/trace/trace.h"

namespace wide::profiler {

/// Copy bandwidth with a working set of `bytes`: caches make small ones faster.
struct Bandwidth {
  double bytes = 0;             ///< read and written together
  double bytes_per_second = 0;  ///< read and written together
};

/// Measured on the machine itself, never taken from a data sheet. One device and number of threads.
struct Peaks {
  std::string machine;  ///< key() of its facts
  std::string device;   ///< "cpu", or a GPU's name
  int threads = 1;
  std::map<std::string, double> flops;  ///< by dtype ("float32"): floating-point operations per second
  std::vector<Bandwidth> bandwidth;     ///< by ascending bytes
  double launch_us = 0;                 ///< what the smallest call of an operator takes the host
  double gap_us = 0;        ///< from one smallest kernel that waits in line to the next; 0 on a CPU
  double graph_gap_us = 0;  ///< the same within a CUDA Graph; 0 where there are none
  std::vector<std::string> doubts =
      {};  ///< why they are not to be believed, a sentence each; empty: they are

  /// Of the measured working set nearest to `bytes`. 0 when nothing was measured.
  double bytes_per_second(double bytes) const;
};

/// What cannot be in peaks that were measured in peace: larger working sets that are faster than smaller
/// ones, types further apart than any processor has them. A sentence each. See Note [Sense of peaks].
std::vector<std::string> nonsense(const Peaks& peaks);

/// The fact of a trace that holds the peaks of the machine it was captured on, as to_text gives them.
inline constexpr const char* kPeaksFact = "machine_peaks";

std::string to_text(const Peaks& peaks);  ///< JSON
/// Throws wide::Error ("roofline") when `text` is none that to_text gave.
Peaks peaks_from_text(std::string_view text);

/// The fact of a trace whose passes are launched as a whole, as a CUDA Graph.
inline constexpr const char* kReplayedFact = "replayed";

/// What keeps a node from being faster.
enum class Bound : std::uint8_t { kNothing, kHost, kLaunch, kFill, kMemory, kArithmetic, kLayout };
/// "-", "host dispatch", "launch", "fill", "memory", "arithmetic" or "layout copies".
std::string_view name(Bound bound);

/// One node on the roofline. Microseconds per pass.
struct RooflinePoint {
  std::int32_t node = -1;
  double time_us = 0;       ///< measured
  double roof_us = 0;       ///< hard bound: the slower of arithmetic and memory at the machine's peak
  double practical_us = 0;  ///< and the launches that it made
  double flops = 0, bytes = 0;
  double share = 0;  ///< of the time of all nodes
  Bound bound = Bound::kNothing;

  double fraction() const { return time_us > 0 ? roof_us / time_us : 0; }
  double intensity() const { return bytes > 0 ? flops / bytes : 0; }  ///< operations per byte
  double flops_per_second() const { return time_us > 0 ? flops / time_us * 1e6 : 0; }
};

struct Roofline {
  Peaks peaks;
  std::string dtype;
  std::vector<RooflinePoint> nodes;  ///< graph order; those computed at build are left out
  RooflinePoint total;               ///< the sum, with what binds most of the time
  /// Why it is not to be believed: what is doubtful of the peaks, and nodes above the roof.
  std::vector<std::string> doubts = {};
};

/// `dtype` picks the arithmetic peak; without one for it the memory bound alone counts.
Roofline roofline(const Trace& trace, const Structure& structure, const Peaks& peaks,
                  const std::string& dtype);

/// A chart of the roof and the nodes, as an SVG document without scripts or outside references.
std::string to_svg(const Roofline& roofline, const Trace& trace);

}  // namespace wide::profiler
