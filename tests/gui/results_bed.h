#pragma once
// A history to look at: runs of a made-up machine in a database of the test's own.

#include <filesystem>
#include <vector>

#include "gui/bed.h"
#include "gui/panels/shared/results_panels.h"

namespace wide::test {

/// A window whose database is a new one that is not there yet.
void with_no_results(ImGuiTestContext* ctx, const Start& start = {});
/// A window with three runs of twelve cases: in the second two cases became much slower. Returns their ids,
/// oldest first.
std::vector<std::int64_t> with_history(ImGuiTestContext* ctx);
/// A case that passed, "resblock" with so many members and this speed-up.
results::CaseRecord passed_case(std::int64_t n, double speedup);
gui::ResultsPanels& panels();
std::filesystem::path database();
std::string bytes_of(const std::filesystem::path& file);

}  // namespace wide::test
