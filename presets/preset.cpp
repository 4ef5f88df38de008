#include "presets/preset.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "formats/error.h"
#include "presets/case_fields.h"
#include "presets/json_reader.h"

namespace wide::presets {
namespace {

constexpr std::size_t kMostCases = 100'000;
constexpr std::uintmax_t kLargestFile = 4 << 20;

// The axes that "defaults" gives and a case may replace.
struct Axes {
  std::vector<std::int64_t> n;
  std::vector<std::string> dtypes = {"float32"};
  std::vector<std::string> devices = {"auto"};
  std::vector<std::string> modes = {"eager"};
  std::vector<std::string> strategies = {"auto"};
  std::vector<std::string> rivals = {"eager", "threads"};
  profiler::StoppingRule stopping;
  std::uint64_t seed = 0;
  int threads = 0;
};

void read_axes(JsonReader& in, Axes& axes) {
  if (const auto list = in.find("n")) {
    axes.n.clear();
    for (const auto& value : list->elements()) axes.n.push_back(value.integer(1, kMostMembers));
  }
  if (const auto list = in.find("dtypes")) axes.dtypes = read_names(*list, kDtypes);
  if (const auto list = in.find("devices")) axes.devices = read_names(*list, kDevices);
  if (const auto list = in.find("modes")) axes.modes = read_names(*list, kModes);
  if (const auto list = in.find("strategies")) {
    axes.strategies.clear();
    for (const auto& value : list->elements()) axes.strategies.push_back(value.string());
  }
  if (const auto list = in.find("rivals")) axes.rivals = read_names(*list, kRivals);
  if (const auto rule = in.find("stopping")) axes.stopping = read_stopping(*rule, axes.stopping);
  if (const auto seed = in.find("seed")) axes.seed = static_cast<std::uint64_t>(seed->integer(0, INT64_MAX));
  if (const auto threads = in.find("threads"))
    axes.threads = static_cast<int>(threads->integer(0, kMostThreads));
}

void change_axes(Axes& axes, const PresetChanges& changes) {
  if (!changes.n.empty()) axes.n = changes.n;
  if (!changes.modes.empty()) axes.modes = changes.modes;
  if (!changes.strategies.empty()) axes.strategies = changes.strategies;
  if (!changes.dtypes.empty()) axes.dtypes = changes.dtypes;
  if (!changes.devices.empty()) axes.devices = changes.devices;
  if (changes.threads) axes.threads = *changes.threads;
  if (changes.seed) axes.seed = *changes.seed;
}

using Shape = std::map<std::string, std::int64_t>;

// Every combination of the sizes; the last name varies fastest.
std::vector<Shape> read_shapes(const JsonReader& in) {
  std::vector<Shape> shapes = {{}};
  for (const auto& [name, sizes] : in.members()) {
    std::vector<Shape> longer;
    for (const auto& shape : shapes) {
      for (const auto& size : sizes.elements()) {
        longer.push_back(shape);
        longer.back()[name] = size.integer(0, kLargestSize);
        if (longer.size() > kMostCases) in.fail("makes more than 100000 cases");
      }
    }
    shapes = std::move(longer);
  }
  return shapes;
}

// The specs of one entry of "cases": shapes x dtypes x devices x modes x strategies x n.
std::vector<CaseSpec> multiply(const CaseSpec& base, const Axes& axes, const std::vector<Shape>& shapes,
                               const JsonReader& where) {
  const auto count = shapes.size() * axes.dtypes.size() * axes.devices.size() * axes.modes.size() *
                     axes.strategies.size() * axes.n.size();
  if (count > kMostCases) where.fail("makes more than 100000 cases");
  std::vector<CaseSpec> specs;
  specs.reserve(count);
  CaseSpec spec = base;
  spec.rivals = axes.rivals;
  spec.stopping = axes.stopping;
  spec.seed = axes.seed;
  spec.threads = axes.threads;
  for (const auto& shape : shapes) {
    for (const auto& dtype : axes.dtypes) {
      for (const auto& device : axes.devices) {
        for (const auto& mode : axes.modes) {
          for (const auto& strategy : axes.strategies) {
            for (const auto n : axes.n) {
              spec.shape = shape, spec.dtype = dtype, spec.device = device;
              spec.mode = mode, spec.strategy = strategy, spec.n = n;
              specs.push_back(spec);
            }
          }
        }
      }
    }
  }
  return specs;
}

std::vector<CaseSpec> read_entry(JsonReader in, Axes axes, const PresetChanges& changes) {
  CaseSpec base;
  base.subject = in.at("subject").string();
  base.kind = in.at("kind").one_of({"primitive", "block", "zoo"});
  const auto shapes = read_shapes(in.at("shape"));
  read_axes(in, axes);
  in.no_other_keys();
  if (axes.n.empty()) in.fail("no n, neither here nor in $.defaults");
  change_axes(axes, changes);
  if (axes.devices.size() > 1 && std::ranges::find(axes.devices, "auto") != axes.devices.end())
    in.fail("the device auto is cpu or cuda, whichever the machine has; name it alone");
  const auto& kept = changes.subjects;
  if (!kept.empty() && std::find(kept.begin(), kept.end(), base.subject) == kept.end()) return {};
  return multiply(base, axes, shapes, in);
}

std::vector<std::filesystem::path> search_folders() {
  std::vector<std::filesystem::path> folders;
  const auto from = [&](const char* variable, const char* below) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value != '/') return false;  // the XDG rules have relative paths ignored
    folders.push_back(std::filesystem::path(value) / below);
    return true;
  };
  if (!from("XDG_CONFIG_HOME", "widebench/presets")) from("HOME", ".config/widebench/presets");
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (!failed) folders.push_back(program.parent_path().parent_path() / "share/widebench/presets");
  folders.emplace_back(WIDEBENCH_SOURCE_PRESETS);
  return folders;
}

bool is_path(std::string_view text) {
  return text.find('/') != text.npos || text.ends_with(".json");
}

}  // namespace

Preset parse_preset(std::string_view text, const std::filesystem::path& file, const PresetChanges& changes) {
  const auto json = parse_json(text, file.string());
  JsonReader in(json, file.string());
  if (in.at("schema_version").integer(1, INT64_MAX) != 1) {
    in.fail("schema_version is newer than this program reads (1); update the program");
  }
  Preset preset;
  preset.name = in.at("name").string();
  if (const auto description = in.find("description")) preset.description = description->string();
  preset.file = file;
  if (const auto seconds = in.find("timeout_seconds")) preset.timeout_seconds = seconds->number(0.1, 86400);
  Axes axes;
  if (auto defaults = in.find("defaults")) {
    read_axes(*defaults, axes);
    defaults->no_other_keys();
  }
  const auto cases = in.at("cases");
  in.no_other_keys();
  if (!cases.json().is_array()) cases.fail("must be an array of objects");
  std::set<std::string> keys;
  for (const auto& entry : cases.elements()) {
    for (auto& spec : read_entry(entry, axes, changes)) {
      if (!keys.insert(spec.key()).second) entry.fail("the case " + spec.key() + " stands twice");
      preset.cases.push_back(std::move(spec));
    }
    if (keys.size() > kMostCases) entry.fail("the preset has more than 100000 cases");
  }
  return preset;
}

Preset read_preset(const std::filesystem::path& file, const PresetChanges& changes) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed)) {
    throw Error("preset",
                file.string() +
                    (std::filesystem::exists(file, failed) ? ": is no file of JSON" : ": no such file") +
                    "; `widebench info` lists the presets there are");
  }
  if (std::filesystem::file_size(file, failed) > kLargestFile || failed) {
    throw Error("preset", file.string() + ": larger than 4 MiB, which no preset is");
  }
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw Error("preset", file.string() + ": cannot be read; check its permissions");
  return parse_preset(text, file, changes);
}

std::vector<std::filesystem::path> known_presets() {
  std::map<std::string, std::filesystem::path> by_name;
  for (const auto& folder : search_folders()) {
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(folder, failed)) {
      if (entry.path().extension() == ".json") by_name.emplace(entry.path().stem().string(), entry.path());
    }
  }
  std::vector<std::filesystem::path> files;
  for (const auto& [name, file] : by_name) files.push_back(file);
  return files;
}

std::filesystem::path find_preset(std::string_view name_or_path) {
  if (is_path(name_or_path)) return name_or_path;
  std::string names;
  for (const auto& file : known_presets()) {
    if (file.stem() == name_or_path) return file;
    names += (names.empty() ? "" : ", ") + file.stem().string();
  }
  throw Error("preset", "no preset is called \"" + std::string(name_or_path) + "\"; there are " + names +
                            "; a preset of your own is given by its path");
}

}  // namespace wide::presets
