#pragma once
// Results of a sweep as table rows.

#include <cstdint>
#include <string>
#include <vector>

#include "gui/views/table.h"
#include "results/record.h"

namespace wide::gui {

/// Columns: subject, n, strategy, verdict, wide, eager, best, rival, rival_time, shape, device, dtype, mode,
/// error, reason, rivals.
Table sweep_table();

/// Adds a row per case. A case that did not pass has no times and no speed-up in it: its verdict stands
/// there, loud.
void add_cases(Table& table, const std::vector<results::CaseRecord>& cases);

/// "pass", "fail", …; of a pass "faster", "slower", "same" or "inconclusive" against the best rival.
std::string verdict_word(const results::CaseRecord& record);
/// The same of a case that was judged together with others.
std::string verdict_word(const results::CaseRecord& record, profiler::Effect effect);
/// Why a case did not pass, or why its times allow no verdict: "unreliable: measure again; …".
std::string reason_text(const results::CaseRecord& record);

/// What each rival took: "eager 1.52 ms, threads 0.81 ms", with "doubtful: " before it where the times allow
/// no verdict. Empty where the case did not pass.
std::string rivals_text(const results::CaseRecord& record);

/// What a verdict word means to the reader.
enum class Meaning : std::uint8_t { kGood, kBad, kSame, kUnclear, kBroken };
/// "faster" is good; "slower" bad; "fail", "error", "oom", "timeout" broken.
Meaning meaning(std::string_view word);

/// {"batch":8,"height":32} as "batch 8, height 32"; empty where it is none.
std::string shape_text(const nlohmann::json& shape);

/// "pass 41, fail 2": counts of verdicts.
std::string totals(const std::vector<results::CaseRecord>& cases);

}  // namespace wide::gui
