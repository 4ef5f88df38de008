#pragma once
// The JSON report of a run: written for scripts, read back by `runs import`. Schema:
// results/report.schema.json.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "results/record.h"

namespace wide::results {

inline constexpr int kReportSchemaVersion = 1;

enum class Samples : std::uint8_t { kLeaveOut, kInclude };

/// The whole report. Numbers that are not finite become null, invalid UTF-8 becomes U+FFFD.
nlohmann::json report(const RunRecord& run, const std::vector<CaseRecord>& cases,
                      Samples samples = Samples::kInclude);

/// The text of report() with the fields of `more` in it, made case by case: what dumping the whole would
/// give, without holding all of it as a document.
std::string report_text(const RunRecord& run, const std::vector<CaseRecord>& cases,
                        const nlohmann::json& more = nlohmann::json::object());

/// How to measure the run again: the exact command, seeds, environment, and the command that also compares.
/// Made from the record, and not read back.
nlohmann::json reproduce_json(const RunRecord& run);

struct Imported {
  RunRecord run;
  std::vector<CaseRecord> cases;
};

/// The inverse of report_text(), case by case: at most 64 levels deep, no object with a field twice. Throws
/// wide::Error{"import", …} that names the place in the document, and nlohmann::json::exception for what is
/// no JSON.
Imported from_report(const std::string& text);

/// One case alone, as in a report's `cases`; also the message from a worker process.
nlohmann::json case_json(const CaseRecord& record, Samples samples = Samples::kInclude);
CaseRecord case_from_json(const nlohmann::json& document);

/// Writes a temporary file beside `path`, syncs it, renames it: never half a file. Throws
/// wide::Error{"report", …}.
void write_report(const std::filesystem::path& path, const nlohmann::json& document);

/// The same for any text.
void write_text(const std::filesystem::path& path, std::string_view text);

/// Reads a report file of at most 256 MiB, as from_report() does. Throws wide::Error{"import", …}.
Imported read_report(const std::filesystem::path& path);

}  // namespace wide::results
