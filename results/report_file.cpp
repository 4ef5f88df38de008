#include <fstream>
#include <span>
#include <system_error>

#include "formats/error.h"
#include "formats/fault.h"
#include "formats/file.h"
#include "results/json_fields.h"
#include "results/report.h"
#include "results/table.h"

namespace wide::results {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxReportBytes = 256ULL << 20;

std::string read_text(const fs::path& path, std::uintmax_t bytes) {
  std::ifstream file(path, std::ios::binary);
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  if (!file.is_open() || file.bad()) throw Error("import", "it cannot be read; name a report file");
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

}  // namespace

void write_report(const fs::path& path, const nlohmann::json& document) {
  write_text(path, dump(document) + "\n");
}

void write_text(const fs::path& path, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  formats::naming_file("report", path.string(), [&] { formats::replace_file(path, std::span(&bytes, 1)); });
}

Imported read_report(const fs::path& path) {
  std::error_code error;
  const auto bytes = fs::file_size(path, error);
  if (error)
    throw Error("import", path.string() + ": cannot be read (" + error.message() + "); name a report file");
  if (bytes > kMaxReportBytes)
    throw Error("import", path.string() + ": larger than 256 MiB, which no report is");
  try {
    return from_report(read_text(path, bytes));
  } catch (const nlohmann::json::exception& fault) {
    // The parser shows what it read last, which may be a megabyte.
    throw Error("import", path.string() + ": this is no JSON report (" + printable(fault.what(), 200) + ")");
  } catch (const Error& fault) {
    const std::string text = fault.what();
    throw Error("import", text.starts_with(path.string()) ? text : path.string() + ": " + text);
  }
}

}  // namespace wide::results
