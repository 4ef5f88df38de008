#pragma once
// Subjects that a person keeps an eye on: how each fared over its runs, in one card.

#include <filesystem>
#include <string>
#include <vector>

#include "results/trend.h"

namespace wide::gui {

struct PinnedSubject {
  std::string subject;
  std::string about;             ///< what is followed: "N = 8, float32, eager"; empty: nothing was measured
  std::vector<double> speedups;  ///< over eager, a run each, oldest first; unknown ones are left out
  results::Interval newest;      ///< the last of them
  double wide_us = 0;            ///< of a pass, then
  std::string started;           ///< of that run
  std::string state;             ///< "steady over 12 runs", "changed with run 7", "not measured yet"
  bool changed = false;          ///< and the newest level is another than the one before
};

/// Of its cases the one that was measured in most runs; of equal ones that with more members.
PinnedSubject pinned_subject(const results::Trend& trend);
/// For a job. A subject that has no runs is there, too. Throws wide::Error.
std::vector<PinnedSubject> read_pinned(const std::filesystem::path& database,
                                       const std::vector<std::string>& subjects);

}  // namespace wide::gui
