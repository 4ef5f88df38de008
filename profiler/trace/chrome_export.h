#pragma once
// Traces as the JSON that Perfetto, chrome://tracing and HolisticTraceAnalysis read.

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "profiler/trace/trace.h"

namespace wide::profiler {

inline constexpr int kTraceSchemaVersion = 1;  ///< of the "widebench" object in the file

/// Hands the JSON text over piece by piece. Every capture is a process of its own (its devices are more), all
/// on one time axis. The fields are those of trace.schema.json.
void write_chrome(std::span<const Trace* const> traces, const std::function<void(std::string_view)>& sink);
std::string chrome_json(std::span<const Trace* const> traces);

/// The same into a file, which is replaced whole or not at all; gzip where the name ends in ".gz". Throws
/// formats::Fault.
void write_chrome_file(const std::filesystem::path& path, std::span<const Trace* const> traces);

}  // namespace wide::profiler
