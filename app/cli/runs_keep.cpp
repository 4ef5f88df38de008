// widebench runs pin, unpin, tag, note, delete, prune: what is kept of the history, and under which names.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "app/cli/run_choice.h"
#include "app/cli/runs_commands.h"
#include "app/cli/values.h"
#include "app/exit_code.h"
#include "app/run_lock.h"
#include "results/store.h"
#include "results/table.h"

namespace wide::cli {
namespace {

using results::printable;
using results::Store;

struct RunsKeepArguments {
  std::shared_ptr<std::string> database = std::make_shared<std::string>();
  std::vector<std::string> runs;
  std::string name, run, text;
  std::vector<std::string> tags;
  bool remove = false;
  std::size_t keep = 0;
};

Store open(const RunsKeepArguments& options) {
  const auto path = database_path(*options.database);
  // These commands change a history; they do not begin one.
  if (!std::filesystem::exists(path))
    throw Error("store",
                path.string() + ": there is no database yet; run a sweep first or name another --db");
  return Store::open(path, results::OpenMode::kReadWrite);
}

int done(const Context& context, const nlohmann::json& document, const std::string& text) {
  if (context.json) context.print(document);
  context.human() << text << '\n';
  return app::kExitDone;
}

std::vector<std::int64_t> chosen(const Store& store, const std::vector<std::string>& choices) {
  std::vector<std::int64_t> ids;
  for (const auto& choice : choices) {
    const auto found = find_runs(store, choice);
    std::ranges::copy_if(found, std::back_inserter(ids),
                         [&](auto id) { return std::ranges::find(ids, id) == ids.end(); });
  }
  return ids;
}

int pin(const Context& context, const RunsKeepArguments& options) {
  auto store = open(options);
  const auto ids = chosen(store, options.runs);
  if (!options.name.empty()) {
    store.set_baseline(options.name, ids);
  } else {
    for (const auto id : ids) store.set_pinned(id, true);
  }
  return done(context, {{"pinned", ids}, {"baseline", options.name}},
              options.name.empty()
                  ? fmt::format("pinned run {}", fmt::join(ids, ", "))
                  : fmt::format("baseline {} is now run {}", printable(options.name), fmt::join(ids, ", ")));
}

int unpin(const Context& context, const RunsKeepArguments& options) {
  auto store = open(options);
  for (const auto& choice : options.runs) {
    if (store.remove_baseline(choice)) continue;
    for (const auto id : find_runs(store, choice)) store.set_pinned(id, false);
  }
  return done(context, {{"unpinned", options.runs}}, "done");
}

int tag(const Context& context, const RunsKeepArguments& options) {
  auto store = open(options);
  const auto id = find_run(store, options.run);
  for (const auto& text : options.tags) {
    if (!options.remove) {
      store.add_tag(id, text);
    } else if (!store.remove_tag(id, text)) {
      throw Error("runs", fmt::format("run {} has no tag '{}'", id, printable(text)));
    }
  }
  return done(context, {{"run", id}, {"tags", store.run(id).tags}}, fmt::format("run {} tagged", id));
}

int note(const Context& context, const RunsKeepArguments& options) {
  auto store = open(options);
  const auto id = find_run(store, options.run);
  store.add_note(id, options.text);
  return done(context, {{"run", id}}, fmt::format("noted with run {}", id));
}

std::set<std::int64_t> all_runs(const Store& store) {
  std::set<std::int64_t> ids;
  for (const auto& run : store.runs()) ids.insert(run.id);
  return ids;
}

/// Says which runs are gone: with a run go those that measured it again.
int deleted(const Context& context, const Store& store, std::set<std::int64_t> before) {
  for (const auto id : all_runs(store)) before.erase(id);
  return done(context, {{"deleted", before}},
              before.empty() ? "deleted no run" : fmt::format("deleted run {}", fmt::join(before, ", ")));
}

int remove(const Context& context, const RunsKeepArguments& options) {
  auto store = open(options);
  const auto named = chosen(store, options.runs);
  const std::set<std::int64_t> once(named.begin(), named.end());
  const std::vector<std::int64_t> ids(once.begin(), once.end());
  std::vector<std::unique_ptr<app::RunLock>> locks;  // not while one of them is measured
  for (const auto id : ids) locks.push_back(std::make_unique<app::RunLock>(store.path(), id));
  auto before = all_runs(store);
  store.delete_runs(ids);
  return deleted(context, store, std::move(before));
}

int prune(const Context& context, const RunsKeepArguments& options) {
  auto store = open(options);
  auto before = all_runs(store);
  store.prune(options.keep, [&store](std::int64_t id) {
    try {
      const app::RunLock lock(store.path(), id);
      return false;
    } catch (const Error&) {
      return true;  // it is measured, or held against a baseline
    }
  });
  return deleted(context, store, std::move(before));
}

using Act = int (*)(const Context&, const RunsKeepArguments&);

CLI::App& add(CLI::App& runs, Context& context, const std::shared_ptr<RunsKeepArguments>& options,
              const std::string& name, const std::string& about, Act act) {
  auto& command = add_runs_subcommand(runs, context, name, about, options->database);
  set_action(command, context, [&context, options, act] { return act(context, *options); });
  return command;
}

}  // namespace

void add_runs_keep(CLI::App& runs, Context& context) {
  const auto options = std::make_shared<RunsKeepArguments>();
  auto& pinned = add(runs, context, options, "pin", "Keep runs; with --as, name them as a baseline", pin);
  pinned
      .add_option("RUN", options->runs,
                  "Runs to keep; several make a baseline that knows how much runs differ")
      ->required();
  pinned.add_option("--as", options->name, "Name of the baseline, replacing an older one")->type_name("NAME");
  pinned.footer(examples({"widebench runs pin latest --as main", "widebench runs pin 3 4 5 6 --as main"}));
  auto& unpinned = add(runs, context, options, "unpin", "Forget a baseline, or let runs go", unpin);
  unpinned.add_option("NAME|RUN", options->runs, "Baselines or runs")->required();
  unpinned.footer(examples({"widebench runs unpin main", "widebench runs unpin 3"}));
  auto& tagged = add(runs, context, options, "tag", "Hang tags on a run", tag);
  tagged.add_option("RUN", options->run, kStoredRunHelp)->required();
  tagged.add_option("TAG", options->tags, "Tags")->required();
  tagged.add_flag("--remove", options->remove, "Take them off");
  tagged.footer(examples({"widebench runs tag latest nightly", "widebench runs tag 3 nightly --remove"}));
  auto& noted = add(runs, context, options, "note", "Write something down about a run", note);
  noted.add_option("RUN", options->run, kStoredRunHelp)->required();
  noted.add_option("TEXT", options->text, "The note")->required();
  noted.footer(examples({"widebench runs note latest \"new allocator\""}));
  auto& removed = add(runs, context, options, "delete", "Delete runs with all that belongs to them", remove);
  removed.add_option("RUN", options->runs, "Runs")->required();
  removed.footer(examples({"widebench runs delete 3 4"}));
  auto& pruned =
      add(runs, context, options, "prune", "Delete all but the newest runs; pinned ones stay", prune);
  pruned.add_option("--keep", options->keep, "How many to keep beside those that are pinned")
      ->required()
      ->check(between(0, 1'000'000));
  pruned.footer(examples({"widebench runs prune --keep 100"}));
}

}  // namespace wide::cli
