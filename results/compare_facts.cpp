#include "results/compare_facts.h"

#include <set>

#include "results/json_fields.h"
#include "results/table.h"

namespace wide::results {
namespace {

using Facts = std::map<std::string, std::string>;

std::string spaced(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

/// What numbers depend on so much that a difference forbids to compare them.
Facts hard_facts(const RunRecord& run) {
  constexpr std::uint64_t kGiB = 1ULL << 30;
  const profiler::Facts& machine = run.machine;
  Facts facts = {
      {"CPU", machine.cpu},
      {"cores", std::to_string(machine.physical_cores) + " of " + std::to_string(machine.logical_cores)},
      {"instruction sets", spaced(machine.isa)},
      {"memory in GiB", std::to_string((machine.memory_bytes + kGiB / 2) / kGiB)},
      {"operating system", machine.os},
      {"compiler", machine.compiler},
      {"device", run.device},
      {"threads", std::to_string(run.threads)}};
  std::string caches;
  for (const auto& cache : machine.caches) caches += cache.name + " " + std::to_string(cache.bytes) + " ";
  facts["caches"] = caches;
  for (const auto& [name, value] : machine.extra) facts["installed " + name] = value;
  return facts;
}

/// What is worth knowing, though it forbids nothing.
Facts soft_facts(const RunRecord& run) {
  Facts facts = {{"kernel", run.machine.kernel},
                 {"widebench", run.tool_version},
                 {"commit", run.git_commit},
                 {"origin", run.origin},
                 {"status", std::string(name(run.status))},
                 {"statistics version", std::to_string(run.statistics_version)},
                 {"preset", run.preset}};
  for (const auto& [name, value] : run.environment) facts["environment " + name] = value;
  return facts;
}

using Collect = Facts (*)(const RunRecord&);

/// "CPU: A | B" for every fact that is not one and the same in all runs of both sides.
std::vector<std::string> differing(const Side& first, const Side& second, Collect collect) {
  std::map<std::string, std::pair<std::set<std::string>, std::set<std::string>>> values;
  std::set<std::string> names;
  for (const Side* side : {&first, &second})
    for (const Imported& run : side->runs)
      for (const auto& [name, value] : collect(run.run)) names.insert(name);
  const auto add = [&](const Side& side, bool is_first) {
    for (const Imported& run : side.runs) {
      Facts facts = collect(run.run);
      for (const auto& name : names) {
        auto& entry = values[name];
        (is_first ? entry.first : entry.second).insert(facts[name]);
      }
    }
  };
  add(first, true);
  add(second, false);
  const auto shown = [](const std::set<std::string>& set) {
    std::string text;
    for (const auto& value : set) {
      text += text.empty() ? "" : " and ";
      text += value.empty() ? "unknown" : printable(value, 100);
    }
    return text;
  };
  std::vector<std::string> lines;
  for (const auto& [name, pair] : values) {
    if (pair.first == pair.second && pair.first.size() == 1) continue;
    std::string line = printable(name);
    line.append(": ").append(shown(pair.first)).append(" | ").append(shown(pair.second));
    lines.push_back(std::move(line));
  }
  return lines;
}

bool any_imported(const Side& side) {
  for (const Imported& run : side.runs) {
    if (run.run.origin != "measured") return true;
  }
  return false;
}

}  // namespace

void add_differences(const Side& first, const Side& second, Comparison& comparison) {
  comparison.barriers = differing(first, second, hard_facts);
  comparison.remarks = differing(first, second, soft_facts);
  for (const Side* side : {&first, &second}) {
    if (any_imported(*side))
      comparison.remarks.push_back(printable(side->name) + " is imported: a claim, not measured here");
  }
}

}  // namespace wide::results
