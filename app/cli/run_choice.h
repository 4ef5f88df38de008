#pragma once
// Which runs an argument means: a number, latest, latest~1, a baseline, the start of a uid, a report file.

#include <filesystem>
#include <string>
#include <vector>

#include "app/stored_captures.h"
#include "results/compare.h"
#include "results/store.h"

namespace wide::cli {

/// The database named by --db, or the default one.
std::filesystem::path database_path(const std::string& option);

/// The one stored run that `choice` names. latest counts back over runs measured here; those that captured
/// only do not count. Throws wide::Error.
std::int64_t find_run(const results::Store& store, const std::string& choice);

/// The same for what may be several runs: baselines too.
std::vector<std::int64_t> find_runs(const results::Store& store, const std::string& choice);

/// The captured case that `choice` names: a run as above (latest: of those with captures), and where it
/// captured several cases "/" and the beginning of one's key, as in "3/mlp/n=8". Throws wide::Error.
app::CapturedCase find_captured(const results::Store& store, const std::string& choice);

/// The runs with what compare() looks at of their cases, from the database or from a report file; a file
/// needs no database.
results::Side read_side(const std::filesystem::path& database, const std::string& choice);

inline constexpr const char* kCapturedHelp = "RUN, or RUN/CASE where a run captured several";

/// What may be given, for the help of options.
inline constexpr const char* kRunHelp = "Number, latest, latest~1, baseline, uid or report file";
inline constexpr const char* kStoredRunHelp = "Number, latest, latest~1, baseline or uid";

}  // namespace wide::cli
