#include "gui/views/sweep_form.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "formats/error.h"
#include "results/escape.h"

namespace wide::gui {
namespace {

using presets::CaseSpec;

std::string comma_joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text.append(text.empty() ? "" : ",").append(word);
  return text;
}

// How many values an axis has: those that the form gives, or else those of the preset.
template <typename Value>
std::size_t axis(const std::vector<Value>& given, const presets::Preset& base, Value CaseSpec::*member) {
  if (!given.empty()) return given.size();
  std::set<Value> values;
  for (const auto& spec : base.cases) values.insert(spec.*member);
  return values.size();
}

bool wanted(const SweepForm& form, const std::string& subject) {
  return form.subjects.empty() ||
         std::find(form.subjects.begin(), form.subjects.end(), subject) != form.subjects.end();
}

// A subject per shape of the preset; subjects that it lacks once, with their own default shape.
std::vector<std::string> subjects_by_shape(const SweepForm& form, const presets::Preset& base,
                                           const std::vector<app::SubjectInfo>& known) {
  std::vector<std::string> result;
  std::set<std::pair<std::string, std::map<std::string, std::int64_t>>> seen;
  for (const auto& spec : base.cases) {
    if (wanted(form, spec.subject) && seen.insert({spec.subject, spec.shape}).second)
      result.push_back(spec.subject);
  }
  for (const auto& name : form.subjects) {
    if (std::find(result.begin(), result.end(), name) != result.end()) continue;
    if (std::none_of(known.begin(), known.end(), [&](const auto& s) { return s.name == name; }))
      throw Error("preset", "no subject is called \"" + name + "\"");
    result.push_back(name);
  }
  return result;
}

std::int64_t members_in_checkpoints(const SweepForm& form) {
  return std::max<std::int64_t>(1, form.members.value_or(std::ssize(form.weights)));
}

}  // namespace

std::string objection(const SweepForm& form) {
  if (form.preset.empty()) return "choose a preset: it gives shapes and how long to measure";
  if (form.timeout && !(*form.timeout >= 0.1 && *form.timeout <= 86400))
    return "the time limit of a case is 0.1 to 86,400 seconds";
  if (const auto gate = objection(form.gate); !gate.empty()) return gate;
  if (form.model.empty()) return "";
  if (form.modes.size() > 1) return "a model of your own is measured in one mode at a time";
  if (!form.dtypes.empty()) return "a model of your own is measured in the type of its checkpoints";
  if (form.devices.size() > 1) return "a model of your own is measured on one device at a time";
  const auto given = members_in_checkpoints(form);
  for (const auto n : form.n) {
    if (form.peers && n > given)
      return "with the Python ways each member needs a checkpoint; there are fewer than " + std::to_string(n);
  }
  return "";
}

std::string remark(const SweepForm& form) {
  std::string text;
  if (form.threads) text.append("Threads: ").append(std::to_string(*form.threads)).append(". ");
  if (form.seed) text.append("Seed: ").append(std::to_string(*form.seed)).append(". ");
  if (form.model.empty() || form.n.empty()) return text;
  const auto given = members_in_checkpoints(form);
  if (*std::max_element(form.n.begin(), form.n.end()) <= given) return text;
  text.append("Members beyond the first").append(given == 1 ? "" : " " + std::to_string(given));
  return text.append(" have no checkpoint: they are copies, their weights scaled by a percent or more.");
}

std::vector<std::string> arguments(const SweepForm& form) {
  std::vector<std::string> words = {"benchmark"};
  if (form.model.empty()) {
    if (form.subjects.empty()) words.emplace_back("all");
    words.insert(words.end(), form.subjects.begin(), form.subjects.end());
  }
  words.insert(words.end(), {"-p", form.preset});
  const auto list = [&](const char* option, const std::vector<std::string>& values) {
    if (!values.empty()) words.insert(words.end(), {option, comma_joined(values)});
  };
  if (!form.n.empty()) words.insert(words.end(), {"-n", counts_text(form.n)});
  if (!form.modes.empty()) words.push_back("-c=" + comma_joined(form.modes));
  list("-s", form.strategies);
  list("--dtype", form.dtypes);
  list("--rivals", form.rivals);
  list("--device", form.devices);
  if (form.peers) words.emplace_back("--peers");
  if (form.threads) words.insert(words.end(), {"--threads", std::to_string(*form.threads)});
  if (form.timeout) words.insert(words.end(), {"--timeout", results::shortest(*form.timeout)});
  if (form.seed) words.insert(words.end(), {"--seed", std::to_string(*form.seed)});
  if (!form.label.empty()) words.insert(words.end(), {"--label", form.label});
  if (!form.database.empty()) words.insert(words.end(), {"--db", form.database});
  const auto gate = arguments(form.gate);
  words.insert(words.end(), gate.begin(), gate.end());
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
  const auto strategies = axis(form.strategies, base, &CaseSpec::strategy);
  if (!form.model.empty()) return std::max<std::size_t>(1, form.n.size()) * strategies;
  const auto by_axes = axis(form.n, base, &CaseSpec::n) * axis(form.dtypes, base, &CaseSpec::dtype) *
                       axis(form.devices, base, &CaseSpec::device) * axis(form.modes, base, &CaseSpec::mode);
  const bool all = std::find(form.strategies.begin(), form.strategies.end(), "all") != form.strategies.end();
  std::size_t count = 0;
  for (const auto& name : subjects_by_shape(form, base, known)) {
    auto here = strategies;
    if (all) {
      const auto found =
          std::find_if(known.begin(), known.end(), [&](const auto& s) { return s.name == name; });
      here = 2 + (found == known.end() ? 0 : found->strategies.size());  // auto, its own, sequential
    }
    count += by_axes * here;
  }
  return count;
}

}  // namespace wide::gui
