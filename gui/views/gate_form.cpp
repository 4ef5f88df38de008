#include "gui/views/gate_form.h"

#include <algorithm>
#include <array>

#include "results/escape.h"
#include "results/table.h"

namespace wide::gui {

std::vector<std::string> arguments(const GateForm& form) {
  if (form.baseline.empty()) return {};
  const GateForm usual;
  std::vector<std::string> words = {"--baseline", form.baseline};
  const auto add = [&](const char* option, const std::string& value) {
    words.insert(words.end(), {option, value});
  };
  if (form.effect_percent != usual.effect_percent)
    add("--min-effect", results::shortest(form.effect_percent));
  if (form.minimum_us != usual.minimum_us) add("--min-us", results::shortest(form.minimum_us));
  if (form.repeats != usual.repeats) add("--gate-repeats", std::to_string(form.repeats));
  if (form.fail_inconclusive) words.emplace_back("--fail-inconclusive");
  if (form.across_machines) words.emplace_back("--across-machines");
  return words;
}

std::string objection(const GateForm& form) {
  if (form.baseline.empty()) return "";
  if (!(form.effect_percent >= 0.1 && form.effect_percent <= 1000))
    return "the smallest slow-down that counts is 0.1 to 1000 percent";
  if (!(form.minimum_us >= 0 && form.minimum_us <= 1e12))
    return "the microseconds that count are not below 0";
  if (form.repeats < 0 || form.repeats > 1000) return "an alert is measured again 0 to 1000 times";
  return "";
}

GateSaid read_gate(std::string_view output) {
  constexpr std::string_view kHeadline = "gate: ";
  constexpr std::array<std::string_view, 5> kCases = {"WRONG ", "BROKEN ", "SLOWER ", "MISSING ",
                                                      "UNDECIDED "};
  GateSaid said;
  while (!output.empty()) {
    const auto end = std::min(output.find('\n'), output.size());
    const auto line = output.substr(0, end);
    output.remove_prefix(std::min(end + 1, output.size()));
    const auto begins = [&](std::string_view word) { return line.starts_with(word); };
    if (std::any_of(kCases.begin(), kCases.end(), begins))
      said.cases.push_back(results::printable(line, 300));
    if (!begins(kHeadline)) continue;
    const auto rest = line.substr(kHeadline.size());
    const auto colon = std::min(rest.find(": "), rest.size());
    said.verdict = results::printable(rest.substr(0, colon), 40);
    said.counts = results::printable(rest.substr(std::min(colon + 2, rest.size())), 300);
  }
  if (said.verdict.empty()) said.cases.clear();
  return said;
}

}  // namespace wide::gui
