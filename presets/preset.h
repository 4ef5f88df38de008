#pragma once
// Presets: JSON files that say which cases a sweep measures. The form is described in presets/README.md.

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "presets/case.h"

namespace wide::presets {

/// A preset with all its axes multiplied out.
struct Preset {
  std::string name;
  std::string description;
  std::filesystem::path file;   ///< where it was read from
  double timeout_seconds = 60;  ///< per case, worker start to end
  std::vector<CaseSpec> cases;  ///< in the order of the file, n varying fastest; no two have the same key
};

/// What the command line may change in a preset; an empty list or no value leaves it as it is.
struct PresetChanges {
  std::vector<std::string> subjects;    ///< keep these only
  std::vector<std::int64_t> n;          ///< instead of the preset's
  std::vector<std::string> modes;       ///< instead of the preset's
  std::vector<std::string> strategies;  ///< instead of the preset's
  std::vector<std::string> dtypes;      ///< instead of the preset's
  std::vector<std::string> devices;     ///< instead of the preset's
  std::optional<int> threads;
  std::optional<std::uint64_t> seed;
};

/// Reads a preset. Throws wide::Error ("preset") naming `file` and the JSON path of an unknown key, a missing
/// key, a bad value or a case that stands twice.
Preset parse_preset(std::string_view text, const std::filesystem::path& file,
                    const PresetChanges& changes = {});
Preset read_preset(const std::filesystem::path& file, const PresetChanges& changes = {});

/// The file of a preset given by name or path. A path is anything with a '/' or ending in ".json". A name is
/// looked for in the user's folder ($XDG_CONFIG_HOME/widebench/presets), beside the program
/// (../share/widebench/presets) and in the source tree, in this order. Throws wide::Error that lists the
/// names there are.
std::filesystem::path find_preset(std::string_view name_or_path);

/// All presets that a name can find, by name; the first in search order wins.
std::vector<std::filesystem::path> known_presets();

}  // namespace wide::presets
