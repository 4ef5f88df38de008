#pragma once
// Places in timelines to come back to, kept by the profile that they are in.

#include <span>
#include <string>
#include <vector>

#include "profiler/trace/trace.h"

namespace wide::gui {

/// A place to come back to.
struct Bookmark {
  double time = 0;   ///< nanoseconds
  std::string name;  ///< of what was selected there; may be empty
  bool operator==(const Bookmark&) const = default;
};

struct KeptBookmarks {
  std::string profile;  ///< its fingerprint
  std::vector<Bookmark> places;
};

/// The same for the same captures, whether just taken, read from a trace file or out of the database, in
/// whatever order; another for any others.
std::string fingerprint(std::span<const profiler::Trace> traces);

/// What is kept of a profile; empty where nothing is.
std::vector<Bookmark> kept_bookmarks(std::span<const KeptBookmarks> all, const std::string& profile);
/// Keeps these of a profile, none of them too. The newest 32 profiles are kept, 100 places of each.
void keep_bookmarks(std::vector<KeptBookmarks>& all, const std::string& profile,
                    std::span<const Bookmark> places);

}  // namespace wide::gui
