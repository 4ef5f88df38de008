#include "app/cli/run_choice.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "formats/error.h"
#include "results/run_names.h"
#include "results/table.h"

namespace wide::cli {
namespace {

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

/// How far back "latest" or "latest~K" counts; nothing for any other text.
std::optional<std::int64_t> steps_back(const std::string& choice) {
  if (choice == "latest") return 0;
  if (!choice.starts_with("latest~")) return std::nullopt;
  const auto steps = number(std::string_view(choice).substr(7));
  return steps && *steps >= 0 ? steps : std::nullopt;
}

std::string list_command(const results::Store& store) {
  return "widebench runs list" + results::database_flag(store.path());
}

std::int64_t newest(const results::Store& store, std::int64_t back) {
  const auto runs = store.runs();
  auto left = back;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (run->origin != "measured" || run->parent != 0 || app::only_captured(store, *run)) continue;
    if (left-- == 0) return run->id;
  }
  throw Error("runs", store.path().string() + ": holds " + std::to_string(back - left) +
                          " runs measured here; name another by its number, as `" + list_command(store) +
                          "` shows it");
}

std::int64_t newest_captured(const results::Store& store, std::int64_t back) {
  const auto runs = store.runs();
  auto left = back;
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (!app::captured_cases(store, run->id).empty() && left-- == 0) return run->id;
  }
  throw Error("runs", store.path().string() + ": holds " + std::to_string(back - left) +
                          " runs with captures; `widebench profile SUBJECT --keep` makes one");
}

// Whether the key of a case begins with `text`, whole words of it.
bool begins(const std::string& key, const std::string& text) {
  return key.starts_with(text) && (key.size() == text.size() || key[text.size()] == '/');
}

}  // namespace

std::filesystem::path database_path(const std::string& option) {
  return option.empty() ? results::default_path() : std::filesystem::path(option);
}

std::vector<std::int64_t> find_runs(const results::Store& store, const std::string& choice) {
  if (const auto id = number(choice)) return {*id};
  if (const auto back = steps_back(choice)) return {newest(store, *back)};
  for (const auto& baseline : store.baselines()) {
    if (baseline.name == choice) return baseline.runs;
  }
  std::vector<std::int64_t> found;
  for (const auto& run : store.runs()) {
    if (results::is_start_of_uid(choice, run.uid)) found.push_back(run.id);
  }
  if (found.size() == 1) return found;
  if (!found.empty())
    throw Error("runs", "several runs have a uid that starts with " + results::printable(choice));
  throw Error("usage",
              "\"" + results::printable(choice) +
                  "\" is no run; give its number, latest, latest~1, a baseline's name, the first six "
                  "characters of a uid or more; `" +
                  list_command(store) + "` shows them, and `runs compare` takes report files, too");
}

std::int64_t find_run(const results::Store& store, const std::string& choice) {
  const auto runs = find_runs(store, choice);
  if (runs.size() == 1) return runs.front();
  throw Error("usage", "the baseline \"" + results::printable(choice) + "\" holds " +
                           std::to_string(runs.size()) + " runs; name one of them");
}

app::CapturedCase find_captured(const results::Store& store, const std::string& choice) {
  const auto slash = choice.find('/');
  const auto run = choice.substr(0, slash);
  const auto part = slash == std::string::npos ? std::string() : choice.substr(slash + 1);
  const auto back = steps_back(run);
  const auto id = back ? newest_captured(store, *back) : find_run(store, run);
  auto cases = app::captured_cases(store, id);
  const auto which = "run " + std::to_string(id);
  if (cases.empty())
    throw Error("runs", which + " has no captures; `widebench profile SUBJECT --keep` makes a run that has");
  std::string keys;
  for (const auto& captured : cases) keys.append("\n  ").append(results::printable(captured.key, 300));
  if (!part.empty()) std::erase_if(cases, [&](const auto& captured) { return !begins(captured.key, part); });
  if (cases.size() == 1) return std::move(cases.front());
  auto message = which;
  message += cases.empty() ? " captured no case '" + results::printable(part, 300) + "'"
                           : " captured several cases that this may mean; name one as RUN/CASE";
  throw Error("usage", message.append("; it captured").append(keys));
}

results::Side read_side(const std::filesystem::path& database, const std::string& choice) {
  results::Side side{choice, {}};
  if (results::is_report_file(choice)) {
    side.runs.push_back(results::read_report(choice));
    side.runs.back().run.origin = "imported";
    return side;
  }
  const auto store = results::Store::open(database, results::OpenMode::kReadOnly);
  for (const auto id : find_runs(store, choice))
    side.runs.push_back({store.run(id), store.compared_cases(id)});
  return side;
}

}  // namespace wide::cli
