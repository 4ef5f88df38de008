#pragma once
// A wide model as a folder: program, members, plans and compiled code, ready to run on machines of one kind.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include "core/frontend/members.h"
#include "core/model/wide_model.h"

namespace wide {

/// What lies in a bundle; README.md says in which files.
struct Bundle {
  LoadedModel loaded;
  Mode mode = Mode::kDefault;
  std::uint64_t seed = 0;
  std::map<std::string, StoredPlan> plans;  ///< for BuildOptions::plans
};

/// A folder with a bundle.json in it.
bool is_bundle(const std::filesystem::path& path);

/// What write_bundle() would refuse of the place alone, before an hour of planning. Throws wide::Error
/// ("bundle").
void check_bundle_place(const std::filesystem::path& folder, bool replace);

/// Writes `model`, with its members as they were loaded and the plans and code of all its builds, as the
/// folder `folder`: whole or not at all. `program` is the .pt2 file that it was loaded from. A bundle that is
/// there is replaced if `replace`; nothing else ever is. Throws wide::Error ("bundle", "pack", "write").
void write_bundle(const std::filesystem::path& folder, std::span<const std::byte> program,
                  const WideModel& model, bool replace = false);

/// Every file of it must be what was written, by its SHA-256. Compiled code is only taken with
/// `options.trust`: it runs in this process; groups of operators run otherwise where it is not. Throws
/// wide::Error ("load") naming the file.
Bundle read_bundle(const std::filesystem::path& folder, const LoadOptions& options = {});

}  // namespace wide
