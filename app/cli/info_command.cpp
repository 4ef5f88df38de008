// widebench info: what this machine and this program have. Reads facts only, loads no model.
#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/cli/context.h"
#include "app/cli/values.h"
#include "app/exit_code.h"
#include "app/sweep_job.h"
#include "presets/preset.h"
#include "results/store.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using nlohmann::json;

json machine(const profiler::Facts& facts) {
  json caches = json::object();
  for (const auto& cache : facts.caches) caches[cache.name] = cache.bytes;
  return {{"cpu", facts.cpu},
          {"physical_cores", facts.physical_cores},
          {"logical_cores", facts.logical_cores},
          {"caches", caches},
          {"isa", facts.isa},
          {"memory_bytes", facts.memory_bytes},
          {"os", facts.os},
          {"kernel", facts.kernel},
          {"compiler", facts.compiler},
          {"key", profiler::key(facts)}};
}

json devices(const app::Engine& engine) {
  auto list = json::array();
  for (const auto& device : engine.devices()) {
    list.push_back({{"name", device.name},
                    {"description", device.description},
                    {"usable", device.usable},
                    {"reason", device.reason}});
  }
  return list;
}

// Never a failure: a database that cannot be read is told, not fatal.
json database(const std::string& given) {
  json result = {{"path", nullptr}, {"exists", false}, {"bytes", 0}, {"runs", 0}, {"error", nullptr}};
  try {
    const auto path = given.empty() ? results::default_path() : std::filesystem::path(given);
    result["path"] = path.string();
    std::error_code failed;
    if (!std::filesystem::exists(path, failed)) return result;
    result["exists"] = true;
    result["bytes"] = std::filesystem::file_size(path);
    result["runs"] = results::Store::open(path, results::OpenMode::kReadOnly).runs().size();
  } catch (const std::exception& error) {
    result["error"] = error.what();
  }
  return result;
}

std::uintmax_t size_of(const std::string& folder) {
  std::uintmax_t bytes = 0;
  std::error_code failed;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, failed)) {
    std::error_code unreadable;
    const auto size = entry.is_regular_file(unreadable) ? entry.file_size(unreadable) : 0;
    if (!unreadable) bytes += size;
  }
  return bytes;
}

json gather(const Context& context, const std::string& given_database) {
  const auto& engine = context.engine;
  json result = {{"version", engine.version},
                 {"git_commit", engine.git_commit},
                 {"machine", machine(app::machine_facts(engine))},
                 {"devices", devices(engine)},
                 {"libraries", engine.libraries()},
                 {"primitives", json::object()},
                 {"subjects", json::object()},
                 {"caches", json::array()},
                 {"presets", json::object()},
                 {"database", database(given_database)}};
  if (result["libraries"].is_null()) result["libraries"] = json::object();
  for (const auto& primitive : engine.primitives())
    result["primitives"][primitive.name] = primitive.strategies;
  for (const auto& subject : engine.subjects()) result["subjects"][subject.name] = subject.kind;
  for (const auto& cache : engine.caches()) {
    result["caches"].push_back({{"name", cache.name}, {"path", cache.path}, {"bytes", size_of(cache.path)}});
  }
  for (const auto& file : presets::known_presets()) result["presets"][file.stem().string()] = file.string();
  return result;
}

std::string megabytes(const json& bytes) {
  return fmt::format("{:.1f} MB", bytes.get<double>() / 1e6);
}

std::string joined(const json& list) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + item.get<std::string>();
  return text;
}

void print_info(std::ostream& out, const json& info) {
  const auto line = [&out](std::string_view what, const std::string& text) {
    constexpr std::size_t kLongest = 4096;
    out << fmt::format("{:<12} {}\n", what, results::printable(text, kLongest));
  };
  const auto text = [](const json& value) { return value.get<std::string>(); };
  const auto& machine = info["machine"];
  line("widebench", text(info["version"]) + " " + text(info["git_commit"]));
  line("machine", fmt::format("{}, {} cores ({} threads), {:.1f} GiB, {}", text(machine["cpu"]),
                              machine["physical_cores"].get<int>(), machine["logical_cores"].get<int>(),
                              machine["memory_bytes"].get<double>() / (1 << 30), text(machine["os"])));
  line("", joined(machine["isa"]));
  for (const auto& device : info["devices"]) {
    const bool usable = device["usable"].get<bool>();
    line("device", text(device["name"]) + " " + text(device["description"]) +
                       (usable ? "" : " (not usable: " + text(device["reason"]) + ")"));
  }
  for (const auto& [name, version] : info["libraries"].items()) line("library", name + " " + text(version));
  for (const auto& [name, strategies] : info["primitives"].items())
    line("primitive", name + ": " + joined(strategies));
  std::map<std::string, std::string> subjects;
  for (const auto& [name, kind] : info["subjects"].items()) subjects[text(kind)] += " " + name;
  for (const auto& [kind, names] : subjects) line("subjects", kind + ":" + names);
  for (const auto& [name, file] : info["presets"].items()) line("preset", name + " " + text(file));
  for (const auto& cache : info["caches"]) {
    line("cache",
         fmt::format("{} {}, {}", text(cache["name"]), text(cache["path"]), megabytes(cache["bytes"])));
  }
  const auto& database = info["database"];
  const auto path = database["path"].is_null() ? "none" : text(database["path"]);
  if (!database["error"].is_null()) {
    line("database", path + " (" + text(database["error"]) + ")");
  } else if (!database["exists"].get<bool>()) {
    line("database", path + " (not there yet)");
  } else {
    line("database",
         fmt::format("{}, {} runs, {}", path, database["runs"].get<int>(), megabytes(database["bytes"])));
  }
}

}  // namespace

void add_info_command(CLI::App& app, Context& context) {
  const auto database = std::make_shared<std::string>();
  auto& command =
      *app.add_subcommand("info", "Machine, devices, libraries, primitives, strategies, caches, database");
  command.add_option("--db", *database, "Database; default $XDG_DATA_HOME/widebench/results.db")
      ->type_name("FILE");
  add_common_options(command, context);
  command.footer(examples({"widebench info", "widebench info --json"}));
  set_action(command, context, [&context, database] {
    const auto info = gather(context, *database);
    if (context.json) {
      context.print(info);
    } else {
      print_info(context.human(), info);
    }
    return app::kExitDone;
  });
}

}  // namespace wide::cli
