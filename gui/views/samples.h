#pragma once
// Made-up data for demo mode: the same in every run, and said to be a sample wherever it is shown.

#include <vector>

#include "gui/views/history_data.h"
#include "gui/views/profile_data.h"

namespace wide::gui {

RunData sample_run_data();
ProfileData sample_profile();
HistoryData sample_history();
std::vector<CompareData> sample_comparison();
results::Trend sample_trend();

}  // namespace wide::gui
