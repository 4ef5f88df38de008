#include "core/bundle/bundle.h"

#include <ATen/ATen.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "core/aten/torch_bridge.h"
#include "core/bundle/plan_file.h"
#include "core/bundle/reader.h"
#include "core/native/code_cache.h"
#include "formats/bundle_files.h"
#include "formats/document.h"
#include "formats/fault.h"
#include "formats/file.h"
#include "formats/packed.h"
#include "formats/sha256.h"

namespace wide {
namespace {

namespace fs = std::filesystem;
using formats::kBundleList, formats::kBundleMembers, formats::kBundleProgram;
using nlohmann::json;
using Bytes = std::vector<std::byte>;

constexpr int kBundleVersion = 1;
constexpr std::uintmax_t kLargestList = 256 << 20;
constexpr const char* kCode = "code";

std::string sha256(std::span<const std::byte> bytes) {
  return formats::Sha256().add(bytes).hex();
}

// Piece by piece: the members of a fleet are not to be held twice.
std::string sha256_of(const fs::path& path) {
  constexpr std::uint64_t kPiece = 1 << 20;
  return formats::naming_file("write", formats::display_name(path), [&] {
    const formats::OpenFile file(path);
    formats::Sha256 digest;
    for (std::uint64_t at = 0; at < file.size(); at += kPiece)
      digest.add(file.read(at, std::min(kPiece, file.size() - at)));
    return digest.hex();
  });
}

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

// "a/b/" and "a/b/." are "a/b".
fs::path without_slash(fs::path folder) {
  while (!folder.empty() && folder != folder.root_path() &&
         (!folder.has_filename() || folder.filename() == "."))
    folder = folder.parent_path();
  if (folder.empty() || folder.filename() == "..")
    throw Error("bundle", "a bundle cannot take the place of the folder one is in; name a new one");
  return folder;
}

bool is_digest(const std::string& name) {
  return name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// What a bundle has nothing of.
std::optional<fs::path> foreign_part(const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    const auto kind = entry.symlink_status().type();
    const bool is_code = name == kCode && kind == fs::file_type::directory;
    const bool is_file = name == kBundleList || name == kBundleProgram || name == kBundleMembers;
    if (!is_code && !(is_file && kind == fs::file_type::regular)) return entry.path();
    if (!is_code) continue;
    for (const auto& code : fs::directory_iterator(entry.path())) {
      if (code.symlink_status().type() != fs::file_type::regular || !is_digest(code.path().filename()))
        return code.path();
    }
  }
  return std::nullopt;
}

// Nothing but a bundle, and only if asked, makes place for another.
void check_place(const fs::path& folder, bool replace) {
  std::error_code none;
  const auto there = fs::symlink_status(folder, none).type();
  if (there == fs::file_type::not_found) return;
  const auto name = formats::display_name(folder);
  if (there != fs::file_type::directory || !is_bundle(folder))
    throw Error("bundle", name + ": is there already and is no bundle; give another name");
  if (!replace) {
    throw Error("bundle", name +
                              ": is there already; give another name, or say that it may be replaced "
                              "(--force, replace=True)");
  }
  if (const auto other = foreign_part(folder)) {
    throw Error("bundle", formats::display_name(*other) +
                              ": is no part of the bundle that is to be replaced; move it elsewhere");
  }
}

// Written beside its place, under a name that nobody has, and put there at the end; goes with this object if
// it never was.
class NewFolder {
 public:
  explicit NewFolder(fs::path place) : place_(std::move(place)) {
    if (place_.has_parent_path()) fs::create_directories(place_.parent_path());
    for (int attempt = 0; beside_.empty(); ++attempt) {
      auto name = place_;
      name += "." + std::to_string(::getpid()) + "." + std::to_string(attempt);
      if (fs::create_directory(name)) beside_ = name;
    }
    fs::create_directory(beside_ / kCode);
  }
  ~NewFolder() {
    std::error_code ignored;
    if (!beside_.empty()) fs::remove_all(beside_, ignored);
  }
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  fs::path path(const std::string& name) const { return beside_ / name; }
  void write(const std::string& name, std::span<const std::byte> bytes) const {
    formats::naming_file("write", formats::display_name(place_ / name),
                         [&] { formats::replace_file(path(name), std::array{bytes}); });
  }
  // At any moment one of the two stands there, also if the process is killed. What came there meanwhile is
  // looked at again, once nobody finds it under its name any more.
  void put_in_place(bool replace) {
    if (rename(beside_, place_, RENAME_NOREPLACE)) return beside_.clear();
    if ((errno == EINVAL || errno == ENOSYS) &&
        fs::symlink_status(place_).type() == fs::file_type::not_found) {
      fs::rename(beside_, place_);  // a file system that cannot tell
      return beside_.clear();
    }
    check_place(place_, replace);
    if (!rename(beside_, place_, RENAME_EXCHANGE))
      throw fs::filesystem_error("exchange", place_, std::error_code(errno, std::generic_category()));
    const auto came = std::exchange(beside_, {});  // not ours to remove yet
    if (is_bundle(came) && !foreign_part(came)) {
      beside_ = came;
      return;
    }
    if (rename(came, place_, RENAME_EXCHANGE)) beside_ = came;
    throw Error("bundle", formats::display_name(beside_.empty() ? came : place_) +
                              ": came while the bundle was written, and is none; give another name");
  }

 private:
  static bool rename(const fs::path& from, const fs::path& to, unsigned how) {
    return ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), how) == 0;
  }

  fs::path place_, beside_;
};

void write_members(const fs::path& file, const WideModel& model) {
  std::vector<at::Tensor> held;
  std::vector<formats::PackMember> members;
  for (const auto& member : model.member_list()) {
    formats::PackMember packed{member.name, "member '" + member.name + "'", {}, {}};
    for (const auto& [fqn, tensor] : member.tensors) {
      held.push_back(tensor.detach().cpu().resolve_conj().resolve_neg().contiguous());
      packed.entries.push_back(to_entry(fqn, held.back()));
    }
    members.push_back(std::move(packed));
  }
  formats::write_packed(file, members);
}

class BundleReader {
 public:
  BundleReader(const fs::path& folder, const LoadOptions& options)
      : folder_(folder), in_("load", place(kBundleList), kAdvice), trust_(options.trust) {
    document_ = formats::naming_file("load", place(kBundleList), [&] {
      const formats::OpenFile file(folder_ / kBundleList);
      if (file.size() > kLargestList) throw formats::Fault("too large to be the list of a bundle");
      const auto bytes = file.read(0, file.size());
      return formats::parse_document({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    });
    in_.check_version(document_, kBundleVersion);
  }

  Bundle read() {
    Bundle bundle;
    const auto name = in_.text(document_, "name");
    const auto mode = in_.text(document_, "mode");
    const auto known = std::ranges::find_if(kAllModes, [&](Mode one) { return wide::name(one) == mode; });
    if (known == kAllModes.end()) in_.fail(formats::quote(mode) + " is no mode");
    bundle.mode = *known;
    bundle.seed = in_.get(document_, "seed", json::value_t::number_unsigned).get<std::uint64_t>();
    read_model(bundle.loaded, name);
    for (const auto& [key, plan] : in_.get(document_, "plans", json::value_t::object).items())
      bundle.plans.emplace(key, plan_from_json(plan, place(kBundleList)));
    read_code(bundle.loaded.warnings);
    return bundle;
  }

 private:
  static constexpr const char* kAdvice = "make the bundle again with `widebench bundle`";

  std::string place(const std::string& file) const { return formats::display_name(folder_ / file); }

  Bytes file(const std::string& name) const {
    const auto& digests = in_.get(document_, "files", json::value_t::object);
    const auto digest = in_.text(digests, name.c_str());
    auto bytes =
        formats::naming_file("load", place(name), [&] { return formats::read_file(folder_ / name); });
    if (sha256(bytes) != digest) {
      throw Error("load",
                  place(name) + ": is not what the bundle was written with, by its SHA-256; " + kAdvice);
    }
    return bytes;
  }

  void read_model(LoadedModel& loaded, const std::string& name) const {
    auto program = file(kBundleProgram);
    const auto members = formats::Safetensors::parse(file(kBundleMembers), place(kBundleMembers));
    const auto packed = formats::Packed::of(members, place(kBundleMembers));
    if (!packed) throw Error("load", place(kBundleMembers) + ": holds no members; " + kAdvice);
    std::set<std::string> given;
    for (const auto& entry : members.entries()) given.insert(entry.name);
    auto read = load_program(std::move(program), name, given);
    const auto known = tensor_names(read.graph);
    SeenTensors seen;
    for (std::size_t i = 0; i < packed->members().size(); ++i) {
      const auto from = packed->member(i);
      Member member{from.name, read.tensors};
      for (const auto& entry : from.entries) {
        if (!known.contains(entry.name)) {
          throw Error("load", place(kBundleMembers) + ": has " + formats::quote(entry.name) +
                                  ", which the program lacks; " + kAdvice);
        }
        member.tensors.insert_or_assign(entry.name, to_tensor(entry, seen));
      }
      check_member(read.graph, member);
      loaded.members.push_back(std::move(member));
    }
    loaded.graph = std::move(read.graph);
    loaded.warnings = std::move(read.warnings);
  }

  void read_code(std::vector<std::string>& warnings) const {
    native::Objects objects;
    for (const auto& item : in_.get(document_, "code", json::value_t::array)) {
      const auto name = item.is_string() ? item.get<std::string>() : std::string();
      if (!is_digest(name)) in_.fail(formats::quote(item.dump()) + " names no code");
      if (trust_) objects.emplace(name, file(std::string(kCode) + "/" + name));
    }
    const bool is_left = !trust_ && !in_.get(document_, "code", json::value_t::array).empty();
    if (is_left && native::Compiler::of_this_machine().program.empty()) {
      warnings.push_back(
          formats::display_name(folder_) +
          ": its compiled code is not used, as it would run in this process; trust it where you "
          "know who made it (--trust)");
    }
    native::CodeCache::of_this_user().lend(std::move(objects));
  }

  fs::path folder_;
  Reader in_;
  bool trust_;
  json document_;
};

}  // namespace

bool is_bundle(const fs::path& path) {
  return formats::bundle_files(path).has_value();
}

void check_bundle_place(const fs::path& folder, bool replace) try {
  check_place(without_slash(folder), replace);
} catch (const fs::filesystem_error& error) {
  throw Error("bundle", formats::display_name(folder) + ": " + error.code().message());
}

void write_bundle(const fs::path& given, std::span<const std::byte> program, const WideModel& model,
                  bool replace) {
  const auto folder = without_slash(given);
  const auto difference = architecture_difference(
      load_graph({program.begin(), program.end()}, model.graph().name), model.graph());
  if (!difference.empty()) {
    throw Error("bundle", "the program is another one than the model was loaded from: " + difference +
                              "; load it again");
  }
  auto& cache = native::CodeCache::of_this_user();
  try {
    check_place(folder, replace);
    NewFolder made(folder);
    json document{{"schema_version", kBundleVersion},
                  {"name", model.graph().name},
                  {"mode", name(model.options().mode)},
                  {"seed", model.options().seed},
                  {"plans", json::object()},
                  {"code", json::array()},
                  {"files", json::object()}};
    const auto add = [&](const std::string& name, std::span<const std::byte> bytes) {
      document["files"][name] = sha256(bytes);
      made.write(name, bytes);
    };
    add(kBundleProgram, program);
    write_members(made.path(kBundleMembers), model);
    document["files"][kBundleMembers] = sha256_of(made.path(kBundleMembers));
    for (const auto& source : model.sources()) {
      const auto name = native::CodeCache::name_of(source);
      const auto file = std::string(kCode) + "/" + name;
      if (document["files"].contains(file)) continue;
      const auto object = cache.object(source);
      if (!object) {
        throw Error("bundle", "the compiled code of a kernel is no longer in " + cache.folder().string() +
                                  "; make the plan again");
      }
      add(file, *object);
      document["code"].push_back(name);
    }
    for (const auto& [key, plan] : model.plans()) document["plans"][key] = to_json(plan);
    // A name may be a file's, whose bytes need be no text.
    made.write(kBundleList, bytes_of(document.dump(1, ' ', false, json::error_handler_t::replace) + "\n"));
    made.put_in_place(replace);
  } catch (const fs::filesystem_error& error) {
    throw Error("write", formats::display_name(folder) + ": " + error.code().message());
  }
}

Bundle read_bundle(const fs::path& folder, const LoadOptions& options) {
  return BundleReader(folder, options).read();
}

}  // namespace wide
