#pragma once
// Traces back from JSON: those that this program wrote, and those that torch.profiler (Kineto) wrote.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/trace/trace.h"

namespace wide::profiler {

/// A trace is a claim of whoever wrote it, and may be hostile: what is beyond these is refused.
struct ImportLimits {
  std::size_t bytes = std::size_t{2} << 30;  ///< unpacked
  std::size_t events = 20'000'000;
  std::size_t depth = 64;
};

/// One trace per capture in `text` (JSON, or that in gzip); a file of another writer is one trace whose
/// contender is `source`. Events of phases other than X, M, C and Kineto's [memory] instants are passed over;
/// where time may be in them (B, E, unknown ones) the first trace is incomplete and says how many.
/// Throws wide::Error ("trace") naming `source` when it is no such JSON, or too large.
std::vector<Trace> read_chrome(std::string_view text, const std::string& source,
                               const ImportLimits& limits = {});

/// The same from a file. Throws wide::Error ("trace").
std::vector<Trace> read_chrome_file(const std::filesystem::path& path, const ImportLimits& limits = {});

}  // namespace wide::profiler
