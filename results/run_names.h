#pragma once
// What a word that names runs may mean besides a baseline: a number, latest, the start of a uid, a report
// file.

#include <string>

namespace wide::results {

/// Whether `choice` means a report file: it has a '/' or ends in ".json".
bool is_report_file(const std::string& choice);

/// Whether `text` is enough of a run's uid to mean that run: its first six characters or more.
bool is_start_of_uid(const std::string& text, const std::string& uid);

/// Throws wide::Error when a baseline called `name` would hide a number, latest or a file.
void check_baseline_name(const std::string& name);

}  // namespace wide::results
