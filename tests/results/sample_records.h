#pragma once
// Records with a different value in every field, and a text of every field to compare them by.

#include <filesystem>
#include <string>

#include "results/record.h"
#include "tests/temporary_folder.h"

namespace wide::results::test {

/// A passed case with two rivals, checks and samples.
CaseRecord passed_case(const std::string& key = "mlp/n=4");
/// A case of another verdict: no speed-ups, most numbers unknown.
CaseRecord failed_case(const std::string& key = "mlp/n=8", Verdict verdict = Verdict::kFail);
RunRecord sample_run();

/// Every field, numbers exactly. Two records are equal when their texts are.
std::string describe(const CaseRecord& record);
/// The same; `id` and `origin` are left out, since a database gives them.
std::string describe(const RunRecord& run);

using wide::test::TemporaryFolder;

/// True when `text` has `part`.
bool has(const std::string& text, const std::string& part);

/// WIDEBENCH_SOAK=1: the figures of a night instead of those of a minute.
bool soak();

/// All bytes of a file.
std::string bytes_of(const std::filesystem::path& path);

}  // namespace wide::results::test
