#pragma once
// What lies within a stretch of a profile: its kernels, gain and limits; how long each call of a kernel took;
// what took longest.

#include <string>
#include <vector>

#include "gui/views/profile_data.h"

namespace wide::gui {

/// The profile of what begins within the stretch, in each capture. A pass counts where it lies wholly within:
/// without one on either side there is no gain. Throws wide::Error when nothing begins within it.
ProfileData within(const ProfileData& data, const Measure& stretch, const Step& step);

/// Calls of a kernel by how long they took, in steps of equal ratio.
struct Histogram {
  double low_us = 0, high_us = 0;  ///< shortest and longest
  std::vector<double> edges;       ///< one more than counts, microseconds
  std::vector<std::size_t> counts;
  std::size_t calls = 0;
};
/// Of work with this name, as the table of kernels shows it; no calls: there is none.
Histogram histogram(const profiler::Trace& trace, const profiler::Structure& structure,
                    const std::string& kernel, std::size_t steps = 24);

/// Work by how long it took, longest first, at most `most`; only what begins within a stretch where one is
/// given.
std::vector<SlicePlace> slowest(const ProfileData& data, const std::optional<Measure>& stretch,
                                std::size_t most = 1000);

}  // namespace wide::gui
