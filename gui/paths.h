#pragma once
// Paths as a person reads and types them: the home folder is "~".

#include <filesystem>
#include <string>

namespace wide::gui {

/// "~/models/resblock" of a path below the home folder; any other path as it is.
std::string shown_path(const std::filesystem::path& path);

/// What was typed as a path: "~" is the home folder, what is not absolute lies in `folder`.
std::filesystem::path typed_path(const std::string& text, const std::filesystem::path& folder);

}  // namespace wide::gui
