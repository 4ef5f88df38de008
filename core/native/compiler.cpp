#include "core/native/compiler.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "formats/error.h"
#include "formats/fault.h"
#include "formats/file.h"
#include "processes/process.h"

namespace wide::native {
namespace {

using std::filesystem::path;

constexpr std::size_t kMostMemory = std::size_t{2} << 30, kMostFile = std::size_t{16} << 20;

bool is_program(const path& file) {
  struct stat facts {};
  return file.is_absolute() && ::stat(file.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
         ::access(file.c_str(), X_OK) == 0;
}

Compiler find_compiler() {
  const char* given = ::getenv("WIDEBENCH_CC");
  if (given != nullptr && *given != '\0') {
    if (std::string_view(given) == "none") return {{}, "WIDEBENCH_CC says that none is to be used"};
    if (!is_program(given)) return {{}, "WIDEBENCH_CC names no program by its whole path"};
    return {given, {}};
  }
  const char* variable = ::getenv("PATH");
  const std::string folders = variable == nullptr ? "/usr/local/bin:/usr/bin:/bin" : variable;
  for (const char* name : {"cc", "gcc", "clang"}) {
    for (std::size_t begin = 0; begin <= folders.size();) {
      const auto end = std::min(folders.find(':', begin), folders.size());
      if (auto file = path(folders.substr(begin, end - begin)) / name; is_program(file)) return {file, {}};
      begin = end + 1;
    }
  }
  return {{}, "there is no C compiler: no cc, gcc or clang in PATH"};
}

// Goes with the object, and all that is in it.
class BuildFolder {
 public:
  explicit BuildFolder(const path& in) {
    auto pattern = (in / "build-XXXXXX").string();
    if (::mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~BuildFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  BuildFolder(const BuildFolder&) = delete;
  BuildFolder& operator=(const BuildFolder&) = delete;
  const path& where() const { return path_; }

 private:
  path path_;
};

// None of ours, that libraries or options could come by (SEI CERT ENV03-C).
std::vector<std::string> environment(const Compiler& compiler, const path& folder) {
  return {"PATH=" + compiler.program.parent_path().string() + ":/usr/local/bin:/usr/bin:/bin", "LC_ALL=C",
          "CCACHE_DISABLE=1", "TMPDIR=" + folder.string()};
}

// The first line that says something, without what a terminal would take for a command.
std::string first_line(const std::string& text) {
  constexpr std::size_t kLongest = 200;
  std::string line = text.substr(0, std::min(text.find('\n'), kLongest));
  std::erase_if(line, [](unsigned char c) { return c < 0x20 || c >= 0x7F; });
  return line;
}

std::string why_it_failed(const processes::ProcessOutcome& outcome, const Compiler& compiler) {
  const auto name = compiler.program.string();
  if (outcome.end == processes::ProcessEnd::kTimedOut)
    return name + " took longer than " + std::to_string(static_cast<int>(compiler.seconds)) + " s";
  if (outcome.end == processes::ProcessEnd::kSignalled)
    return name + " was killed by " + processes::signal_name(outcome.code);
  if (outcome.end != processes::ProcessEnd::kExited) return name + " could not be run to its end";
  return name + " failed with code " + std::to_string(outcome.code) + ": " + first_line(outcome.errors);
}

}  // namespace

const Compiler& Compiler::of_this_machine() {
  static const auto compiler = find_compiler();
  return compiler;
}

std::string identity(const Compiler& compiler) {
  struct stat facts {};
  if (::stat(compiler.program.c_str(), &facts) != 0) return {};
  return compiler.program.string() + " " + std::to_string(facts.st_size) + " " +
         std::to_string(facts.st_mtim.tv_sec) + "." + std::to_string(facts.st_mtim.tv_nsec);
}

std::vector<std::string> compile_flags(const std::string& level) {
  // Nobody reads floating-point flags or errno; for their sake loops would not become vectors, nor would they
  // where GCC moves comparisons between branches first (tree-pre). What is computed is not changed by these.
  return {"-x",
          "c",
          "-std=gnu11",
          "-O3",
          "-march=" + level,
          "-ffp-contract=off",
          "-fno-trapping-math",
          "-fno-math-errno",
          "-fno-tree-pre",
          "-fPIC",
          "-shared",
          "-nostdlib",
          "-s",
          "-w",
          "-Wl,-z,relro,-z,now"};
}

Compiled compile(const Compiler& compiler, const Source& source, const path& folder) {
  if (compiler.program.empty()) return {{}, compiler.refusal};
  const BuildFolder build(folder);
  if (build.where().empty())
    return {{}, "no file can be written in " + folder.string() + ": " + std::strerror(errno)};
  const auto object = build.where() / "kernel.so";
  processes::ProcessTask task{
      .argv = {compiler.program.string()}, .input = source.text, .timeout_seconds = compiler.seconds};
  for (auto& flag : compile_flags(source.level)) task.argv.push_back(std::move(flag));
  for (const char* more : {"-o", object.c_str(), "-"}) task.argv.emplace_back(more);
  task.environment = environment(compiler, build.where());
  task.limits = {.memory = kMostMemory, .file = kMostFile, .seconds = static_cast<int>(compiler.seconds) + 1};
  try {
    const auto outcome = processes::run_process(task);
    if (outcome.end != processes::ProcessEnd::kExited || outcome.code != 0)
      return {{}, why_it_failed(outcome, compiler), outcome.end == processes::ProcessEnd::kTimedOut};
    return {formats::read_file(object), {}};
  } catch (const std::exception& error) {
    return {{}, compiler.program.string() + " gave nothing: " + error.what()};
  }
}

}  // namespace wide::native
