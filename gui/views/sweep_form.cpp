#include "gui/views/sweep_form.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "formats/error.h"
#include "formats/file.h"
#include "presets/case_fields.h"
#include "results/escape.h"

namespace wide::gui {
namespace {

using nlohmann::json;
using presets::CaseSpec;

std::string comma_joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text.append(text.empty() ? "" : ",").append(word);
  return text;
}

// The values of an axis that the form changes, or else those of the preset in the order they stand there.
template <typename Value, typename Member>
std::vector<Value> axis(const std::vector<Value>& given, const presets::Preset& base,
                        Member CaseSpec::*member) {
  if (!given.empty()) return given;
  std::vector<Value> values;
  for (const auto& spec : base.cases) {
    if (std::find(values.begin(), values.end(), spec.*member) == values.end()) values.push_back(spec.*member);
  }
  return values;
}

std::string hash_text(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  std::array<char, 16> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16).ptr;
  return std::string(digits.data(), end).substr(0, 8);
}

bool wanted(const SweepForm& form, const std::string& subject) {
  return form.subjects.empty() ||
         std::find(form.subjects.begin(), form.subjects.end(), subject) != form.subjects.end();
}

// One entry per subject and shape of the preset; subjects that it lacks with their own default shape.
json own_cases(const SweepForm& form, const presets::Preset& base,
               const std::vector<app::SubjectInfo>& known) {
  auto cases = json::array();
  std::set<std::tuple<std::string, std::map<std::string, std::int64_t>>> seen;
  std::set<std::string> subjects;
  for (const auto& spec : base.cases) {
    if (!wanted(form, spec.subject) || !seen.insert({spec.subject, spec.shape}).second) continue;
    subjects.insert(spec.subject);
    json shape = json::object();
    for (const auto& [name, size] : spec.shape) shape[name] = {size};
    cases.push_back({{"subject", spec.subject}, {"kind", spec.kind}, {"shape", shape}});
  }
  for (const auto& name : form.subjects) {
    if (subjects.contains(name)) continue;
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const auto& s) { return s.name == name; });
    if (found == known.end()) throw Error("preset", "no subject is called \"" + name + "\"");
    cases.push_back({{"subject", name}, {"kind", found->kind}, {"shape", json::object()}});
  }
  return cases;
}

}  // namespace

std::string objection(const SweepForm& form) {
  if (form.preset.empty()) return "choose a preset: it gives shapes and how long to measure";
  if (form.model.empty()) return "";
  if (form.modes.size() > 1) return "a model of your own is measured in one mode at a time";
  if (!form.dtypes.empty()) return "a model of your own is measured in the type of its checkpoints";
  if (form.devices.size() > 1) return "a model of your own is measured on one device at a time";
  const auto given = std::max<std::size_t>(1, form.weights.size());
  for (const auto n : form.n) {
    if (form.peers && static_cast<std::size_t>(n) > given)
      return "with the Python ways each member needs a checkpoint; there are fewer than " + std::to_string(n);
  }
  return "";
}

std::string remark(const SweepForm& form) {
  if (form.model.empty() || form.n.empty()) return "";
  const auto given = std::max<std::int64_t>(1, std::ssize(form.weights));
  if (*std::max_element(form.n.begin(), form.n.end()) <= given) return "";
  std::string text = "Members beyond the ";
  text.append(given == 1 ? "first" : "first ").append(given == 1 ? "" : std::to_string(given));
  return text.append(" have no checkpoint: they are copies, their weights scaled by a percent or more.");
}

bool needs_file(const SweepForm& form) {
  auto rivals = form.rivals;
  std::sort(rivals.begin(), rivals.end());
  return !form.dtypes.empty() || form.modes.size() > 1 || form.devices.size() > 1 ||
         (!rivals.empty() && rivals != kChoosableRivals);
}

std::string own_preset(const SweepForm& form, const presets::Preset& base,
                       const std::vector<app::SubjectInfo>& known) {
  if (base.cases.empty()) throw Error("preset", base.file.string() + ": has no cases to begin with");
  const auto& first = base.cases.front();
  json defaults{{"n", axis(form.n, base, &CaseSpec::n)},
                {"dtypes", axis(form.dtypes, base, &CaseSpec::dtype)},
                {"devices", axis(form.devices, base, &CaseSpec::device)},
                {"modes", axis(form.modes, base, &CaseSpec::mode)},
                {"strategies", axis(std::vector<std::string>(), base, &CaseSpec::strategy)},
                {"rivals", form.rivals.empty() ? first.rivals : form.rivals},
                {"seed", form.seed.value_or(first.seed)},
                {"threads", form.threads.value_or(first.threads)},
                {"stopping", presets::to_json(first.stopping)}};
  json document{{"schema_version", 1},
                {"timeout_seconds", base.timeout_seconds},
                {"defaults", defaults},
                {"cases", own_cases(form, base, known)}};
  std::string name = "own-";
  name.append(hash_text(document.dump()));
  document["name"] = name;
  document["description"] = "A grid of one's own, made in the window from the preset " + base.name + ".";
  return document.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

std::filesystem::path user_presets() {
  const auto absolute = [](const char* name) -> const char* {
    const char* value = std::getenv(name);
    return value != nullptr && *value == '/' ? value : nullptr;
  };
  if (const char* config = absolute("XDG_CONFIG_HOME"))
    return std::filesystem::path(config) / "widebench/presets";
  if (const char* home = absolute("HOME")) return std::filesystem::path(home) / ".config/widebench/presets";
  throw Error("preset", "there is no home folder to keep a preset in; set HOME");
}

std::string write_own_preset(const SweepForm& form, const std::vector<app::SubjectInfo>& known) {
  const auto text = own_preset(form, presets::read_preset(presets::find_preset(form.preset)), known);
  const auto name = json::parse(text).at("name").get<std::string>();
  const auto folder = user_presets();
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw Error("preset", folder.string() + ": cannot be made: " + failed.message());
  formats::replace_file(folder / (name + ".json"), std::array{std::as_bytes(std::span(text))});
  return name;
}

std::vector<std::string> arguments(const SweepForm& form, const std::string& preset_name) {
  std::vector<std::string> words = {"benchmark"};
  if (form.model.empty()) {
    if (form.subjects.empty()) words.emplace_back("all");
    words.insert(words.end(), form.subjects.begin(), form.subjects.end());
  }
  words.insert(words.end(), {"-p", preset_name});
  const bool in_file = needs_file(form);
  if (!form.n.empty()) words.insert(words.end(), {"-n", counts_text(form.n)});
  if (!in_file && form.modes.size() == 1) words.push_back("-c=" + form.modes[0]);
  if (!form.strategies.empty()) words.insert(words.end(), {"-s", comma_joined(form.strategies)});
  if (!in_file && form.devices.size() == 1) words.insert(words.end(), {"--device", form.devices[0]});
  if (form.peers) words.emplace_back("--peers");
  if (form.threads) words.insert(words.end(), {"--threads", std::to_string(*form.threads)});
  if (form.seed) words.insert(words.end(), {"--seed", std::to_string(*form.seed)});
  if (!form.label.empty()) words.insert(words.end(), {"--label", form.label});
  if (!form.database.empty()) words.insert(words.end(), {"--db", form.database});
  if (form.resume) words.emplace_back("--resume");
  if (!form.model.empty()) {
    words.insert(words.end(), {"--model", form.model});
    if (!form.weights.empty()) words.emplace_back("--weights");
    words.insert(words.end(), form.weights.begin(), form.weights.end());
  }
  return words;
}

std::string command_text(const std::vector<std::string>& arguments) {
  std::string text = "widebench";
  for (const auto& argument : arguments) text.append(" ").append(results::shell_word(argument));
  return text;
}

std::size_t count_cases(const SweepForm& form, const std::vector<app::SubjectInfo>& known) {
  const auto base = presets::read_preset(presets::find_preset(form.preset));
  const auto times = [](std::size_t given, std::size_t otherwise) { return given == 0 ? otherwise : given; };
  auto strategies = times(form.strategies.size(), axis(form.strategies, base, &CaseSpec::strategy).size());
  if (!form.model.empty()) return times(form.n.size(), 1) * strategies;
  const auto by_axes = times(form.n.size(), axis(form.n, base, &CaseSpec::n).size()) *
                       times(form.dtypes.size(), axis(form.dtypes, base, &CaseSpec::dtype).size()) *
                       times(form.devices.size(), axis(form.devices, base, &CaseSpec::device).size()) *
                       times(form.modes.size(), axis(form.modes, base, &CaseSpec::mode).size());
  const bool all = std::find(form.strategies.begin(), form.strategies.end(), "all") != form.strategies.end();
  std::size_t count = 0;
  for (const auto& entry : own_cases(form, base, known)) {
    auto here = strategies;
    if (all) {
      const auto name = entry.at("subject").get<std::string>();
      const auto found =
          std::find_if(known.begin(), known.end(), [&](const auto& s) { return s.name == name; });
      here = 2 + (found == known.end() ? 0 : found->strategies.size());  // auto, its own, sequential
    }
    count += by_axes * here;
  }
  return count;
}

}  // namespace wide::gui
