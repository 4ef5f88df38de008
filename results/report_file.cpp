#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "formats/descriptor.h"
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

[[noreturn]] void fail(const fs::path& path, const std::string& doing) {
  throw Error("report", path.string() + ": cannot " + doing + " (" + std::generic_category().message(errno) +
                            "); check folder, permissions and free space, or name another file");
}

void write_all(int file, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const auto written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(path, "write the report");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string read_text(const fs::path& path, std::uintmax_t bytes) {
  std::ifstream file(path, std::ios::binary);
  std::string text(bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  if (!file.is_open() || file.bad()) throw Error("import", "it cannot be read; name a report file");
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

/// Rights of a new file: what the umask leaves, or those of the file that is replaced.
mode_t rights_for(const fs::path& path) {
  struct stat old {};
  if (::stat(path.c_str(), &old) == 0) return old.st_mode & 0777;
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

}  // namespace

void write_report(const fs::path& path, const nlohmann::json& document) {
  write_text(path, dump(document) + "\n");
}

void write_text(const fs::path& path, std::string_view text) {
  const auto target = formats::naming_file("report", path.string(), [&] {
    formats::refuse_standard_output(path);
    return formats::behind_links(path);
  });
  std::error_code none;
  if (fs::exists(path, none) &&
      !fs::is_regular_file(path, none)) {  // a pipe or /dev/stdout cannot be renamed over
    if (fs::is_directory(path, none))
      throw Error("report", path.string() + ": this is a folder; name a file");
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0) fail(path, "open it");
    return write_all(file.get(), text, path);
  }
  std::string temporary = target.string() + ".XXXXXX";
  const Descriptor file(::mkostemp(temporary.data(), O_CLOEXEC));
  if (file.get() < 0) fail(path, "create a file beside it");
  try {
    write_all(file.get(), text, path);
    if (::fchmod(file.get(), rights_for(target)) != 0) fail(path, "set its permissions");
    if (::fsync(file.get()) != 0) fail(path, "bring the report to disk");
    if (::rename(temporary.c_str(), target.c_str()) != 0) fail(path, "put the report in its place");
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  const fs::path folder = target.has_parent_path() ? target.parent_path() : fs::path(".");
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() >= 0) ::fsync(directory.get());  // the name, too; not every file system can
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
