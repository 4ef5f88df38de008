#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <functional>
#include <system_error>
#include <unordered_set>

#include "formats/error.h"
#include "results/json_fields.h"
#include "results/report.h"
#include "results/table.h"

namespace wide::results {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kMaxReportBytes = 256ULL << 20;
constexpr int kMaxReportDepth = 64;

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

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

/// Sees every event of the parser and stops it at what no report is: deep nesting, which would exhaust the
/// stack of whoever walks the document, and a name that an object has twice, of which each reader would take
/// another.
class Watch {
 public:
  bool operator()(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (!objection_.empty()) return false;
    if (depth > kMaxReportDepth) {
      objection_ = "nested deeper than 64 levels, which no report is";
    } else if (event == Event::object_start) {
      names_.resize(std::max(names_.size(), static_cast<std::size_t>(depth) + 1));
      names_[static_cast<std::size_t>(depth)].clear();
    } else if (event == Event::key) {  // its depth is that of the object's content
      const auto level = static_cast<std::size_t>(depth) - 1;
      if (!names_.at(level).insert(parsed.get_ref<const std::string&>()).second)
        objection_ =
            "an object has the field '" + printable(parsed.get_ref<const std::string&>()) + "' twice";
    }
    return objection_.empty();
  }
  const std::string& objection() const { return objection_; }

 private:
  std::string objection_;
  std::vector<std::unordered_set<std::string>> names_;  ///< of the open objects, by depth
};

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
  std::error_code none;
  if (fs::exists(path, none) &&
      !fs::is_regular_file(path, none)) {  // a pipe or /dev/stdout cannot be renamed over
    if (fs::is_directory(path, none))
      throw Error("report", path.string() + ": this is a folder; name a file");
    const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (file.get() < 0) fail(path, "open it");
    return write_all(file.get(), text, path);
  }
  const fs::path target = fs::is_symlink(path, none) ? fs::weakly_canonical(path, none) : path;
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
  std::ifstream file(path, std::ios::binary);
  Watch watch;
  try {
    const auto document = nlohmann::json::parse(file, std::ref(watch));
    if (!watch.objection().empty()) throw Error("import", path.string() + ": " + watch.objection());
    return from_report(document);
  } catch (const nlohmann::json::exception& fault) {
    // The parser shows what it read last, which may be a megabyte.
    throw Error("import", path.string() + ": this is no JSON report (" + printable(fault.what(), 200) + ")");
  } catch (const Error& fault) {
    const std::string text = fault.what();
    throw Error("import", text.starts_with(path.string()) ? text : path.string() + ": " + text);
  }
}

}  // namespace wide::results
