// Models: opening, building, proving, timing, each as a job.
#include "gui/session.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <span>

#include "app/capture/peaks_folder.h"
#include "formats/error.h"
#include "formats/file.h"
#include "gui/paths.h"
#include "gui/workbench.h"
#include "processes/process.h"
#include "results/counted.h"

namespace wide::gui {
namespace {

Progress progress(const JobContext& context) {
  return {[context](double fraction, const std::string& what) { context.progress(fraction, what); },
          [context] { context.check(); }};
}

// Whether the build has times that AUTO's view of the same model has not, such as what was measured since.
bool has_newer_times(const ModelView& built, const ModelView& planned) {
  const bool comparable = built.schedule == planned.schedule;  // else estimates are of other passes
  const auto differ = [&](double us, bool measured, double other_us, bool other_measured) {
    return measured != other_measured || (comparable && measured && us != other_us);
  };
  return std::any_of(built.graph.begin(), built.graph.end(), [&](const NodeView& node) {
    const auto* offers = node.choosable() ? planned.find(node.name) : nullptr;
    if (offers == nullptr) return false;
    bool offered = false, same = false;
    const auto compare = [&](const std::string& strategy, double us, bool measured) {
      if (strategy != node.strategy) return;
      offered = true;
      same = same || !differ(us, measured, node.microseconds, node.measured);
    };
    compare(offers->strategy, offers->microseconds, offers->measured);
    for (const auto& other : offers->alternatives)
      compare(other.strategy, other.microseconds, other.measured);
    return offered && !same;
  });
}

// What the model runs by has one time wherever it stands: under another schedule AUTO's is another.
std::shared_ptr<const ModelView> with_times_of(const ModelView& built,
                                               const std::shared_ptr<const ModelView>& planned) {
  if (planned.get() == &built) return planned;
  auto offered = std::make_shared<ModelView>(*planned);
  for (auto& node : offered->graph) {
    const auto* now = built.find(node.name);
    if (now == nullptr) continue;
    if (now->strategy == node.strategy) {
      node.microseconds = now->microseconds, node.measured = now->measured;
      continue;
    }
    auto& others = node.alternatives;
    const auto found = std::find_if(others.begin(), others.end(), [&](const AlternativeView& one) {
      return one.strategy == now->strategy;
    });
    if (found == others.end()) continue;
    found->microseconds = now->microseconds, found->measured = now->measured;
    std::stable_sort(others.begin(), others.end(),
                     [](const auto& a, const auto& b) { return a.microseconds < b.microseconds; });
  }
  return offered;
}

}  // namespace

std::string chosen(const BuildWish& wish, const NodeView& node) {
  if (const auto found = wish.by_value.find("%" + node.name); found != wish.by_value.end())
    return found->second;
  for (const auto& kind : {node.kind, node.primitive}) {
    if (const auto found = wish.by_kind.find(kind); found != wish.by_kind.end()) return found->second;
  }
  return wish.all;
}

std::optional<double> Session::estimated_us(const NodeView& node) const {
  if (!model) return std::nullopt;
  const auto wanted = chosen(wish, node);
  const auto* now = model->find(node.name);
  if (now == nullptr || wanted == chosen(model->wish, node) || wanted == now->strategy) return std::nullopt;
  const auto* found = offers(node.name);
  const auto& offer = found != nullptr ? *found : *now;
  if (wanted == "auto" || wanted == offer.strategy) return offer.microseconds;
  for (const auto& other : offer.alternatives) {  // fastest first
    if (other.strategy == wanted) return other.microseconds;
  }
  return std::nullopt;
}

double Session::estimated_pass_us() const {
  if (!model) return 0;
  double us = model->pass_us;
  for (const auto& node : model->graph) {
    if (!node.choosable()) continue;
    if (const auto then = estimated_us(node)) us += model->turns * (*then - node.microseconds);
  }
  return std::max(0.0, us);
}

Try Session::estimated() const {
  Try result = try_of(*model);
  result.wish = wish, result.predicted_us = estimated_pass_us(), result.built = false;
  for (auto& node : result.nodes) {
    const auto* now = model->find(node.name);
    const auto then = now != nullptr ? estimated_us(*now) : std::nullopt;
    if (!then) continue;
    const auto wanted = chosen(wish, *now);
    const auto* offer = offers(node.name);
    node.strategy = wanted == "auto" && offer != nullptr ? offer->strategy : wanted;
    node.microseconds = *then, node.layout.clear(), node.estimate = true;
  }
  return result;
}

std::string why_not_fastest(const NodeView& node) {
  for (const auto& other : node.alternatives) {  // fastest first
    if (other.strategy == node.strategy) continue;
    if (other.microseconds >= node.microseconds) return "";
    auto why =
        other.strategy + " takes " + time_text(other.microseconds) +
        " by itself, less than what AUTO took: AUTO compares whole passes, with the changes of layout that "
        "each choice needs between nodes";
    if (node.measured) why += ", and races the best of them";
    return why;
  }
  return "";
}

std::filesystem::path plan_file(const ModelView& model) {
  const auto folder = app::peaks_folder().parent_path() / "plans";
  std::string name = model.name;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  name.append("-").append(std::to_string(std::hash<std::string>{}(model.plan))).append(".plan.json");
  const auto file = folder / name;
  try {
    std::filesystem::create_directories(folder);
    formats::replace_file(file, std::array{std::as_bytes(std::span(model.plan))});
  } catch (const std::exception& error) {
    throw Error("plan", shown_path(file) + ": the plan of the open model cannot be written: " + error.what());
  }
  return file;
}

void Session::note_changes() {
  constexpr std::size_t kMost = 100;
  if (history.last == wish) return;
  history.undo.push_back(std::move(history.last));
  if (history.undo.size() > kMost) history.undo.erase(history.undo.begin());
  history.redo.clear();
  history.last = wish;
  if (edited()) note_try(tries, estimated());
}

void Session::undo() {
  if (history.undo.empty()) return;
  history.redo.push_back(std::move(wish));
  wish = history.last = std::move(history.undo.back());
  history.undo.pop_back();
}

void Session::redo() {
  if (history.redo.empty()) return;
  history.undo.push_back(std::move(wish));
  wish = history.last = std::move(history.redo.back());
  history.redo.pop_back();
}

void Workbench::show_model(std::shared_ptr<const ModelView> model) {
  const bool another = !session.model || !(session.model->source == model->source);
  const BuildWish free{.mode = model->wish.mode};
  if (another || model->wish == free) session.planned = model;
  session.offered = with_times_of(*model, session.planned);
  session.model = std::move(model);
  session.proof.reset();
  session.calls.reset();
  ++session.revision;
  if (another) session.tries.clear();
  note_try(session.tries, try_of(*session.model));
  if (another) {
    session.wish = session.model->wish;
    session.history = {.last = session.wish};
    const auto& graph = session.model->graph;
    const auto first =
        std::find_if(graph.begin(), graph.end(), [](const NodeView& node) { return node.choosable(); });
    selection.choose_node(first == graph.end() ? "" : first->name);
  }
}

void Workbench::open_files(const std::vector<std::string>& paths) {
  try {
    auto source = source_of(paths, session.model ? session.model->source : ModelSource{});
    // Checkpoints are members of one model: which one, only the person knows.
    if (source.models.size() > 1 && !source.weights.empty()) {
      choice_ = std::move(source);
    } else {
      open_source(source);
    }
  } catch (const Error& error) {
    notices.post(Level::kError, "This could not be opened", error.what());
  }
}

void Workbench::say_if_waiting(const std::string& title) {
  if (!jobs.measuring()) return;
  notices.post(Level::kInfo, title + " waits",
               "It would disturb what is being timed, and begins when that is done; Jobs can cancel either.");
}

void Workbench::open_source(const ModelSource& source, const BuildWish& wish) {
  say_if_waiting("Opening " + title(source));
  jobs.start(Lane::kEngine, "Opening " + title(source),
             [this, source, wish, bench = host.bench](const JobContext& context) -> Apply {
               auto model = bench->open(source, {}, progress(context));
               return [this, wish, model = std::move(model)] {
                 for (const auto& warning : model->warnings)
                   notices.post(Level::kWarning, "While opening " + model->name, warning);
                 notices.log(Level::kInfo, "opened " + model->name + " with " +
                                               results::counted(model->members.size(), "member"));
                 settings.remember(model->source);
                 if (settings_changed) settings_changed();
                 show_model(model);
                 if (wish == BuildWish()) return;
                 session.wish = wish;
                 build();
               };
             });
}

void Workbench::build() {
  if (!session.model) return;
  say_if_waiting("Building " + session.model->name);
  // In another mode nodes of the same names can be other operators: AUTO plans it, too.
  const bool other_mode = session.planned && session.planned->wish.mode != session.wish.mode;
  jobs.start(Lane::kEngine, "Building " + session.model->name,
             [this, wish = session.wish, known = other_mode ? nullptr : session.planned,
              bench = host.bench](const JobContext& context) -> Apply {
               const BuildWish free{.mode = wish.mode};
               auto planned = !known && wish != free ? bench->build(free, progress(context)) : nullptr;
               auto model = bench->build(wish, progress(context));
               if (known && wish != free && has_newer_times(*model, *known)) {
                 planned = bench->build(free, progress(context));
                 model = bench->build(wish, progress(context));
               }
               return [this, planned = std::move(planned), model = std::move(model)] {
                 if (planned) session.planned = planned;
                 notices.log(Level::kInfo,
                             "built " + model->name + " in " + time_text(model->build_milliseconds * 1e3));
                 show_model(model);
               };
             });
}

void Workbench::prove() {
  if (!session.model) return;
  say_if_waiting("Validating " + session.model->name);
  jobs.start(Lane::kEngine, "Validating " + session.model->name,
             [this, name = session.model->name, bench = host.bench](const JobContext& context) -> Apply {
               auto proof = bench->prove(progress(context));
               return [this, name, proof = std::move(proof)] {
                 session.proof = proof;
                 if (!proof.refusal.empty()) {
                   notices.post(Level::kWarning, name + " cannot be validated", proof.refusal);
                   return;
                 }
                 double worst = 0;
                 for (const auto& member : proof.members) worst = std::max(worst, member.max_abs);
                 for (const auto& check : proof.checks) worst = std::max(worst, check.max_abs);
                 char number[32];
                 std::snprintf(number, sizeof number, "%.2e", worst);
                 const auto text = results::counted(proof.members.size(), "member") + ", max error " + number;
                 if (proof.passed && !proof.notes.empty()) {
                   notices.post(Level::kWarning, "Validated " + name + ", but not whole",
                                proof.notes.front());
                 } else if (proof.passed) {
                   notices.post(Level::kInfo, "Validated " + name, text);
                 } else {
                   notices.post(Level::kError, name + " computes wrong numbers",
                                text + "; the table in Strategies names the members and where they differ");
                 }
               };
             });
}

void Workbench::look_at_calls() {
  if (!session.model) return;
  jobs.start(Lane::kEngine, "Looking at what " + session.model->name + " calls",
             [this, revision = session.revision, bench = host.bench](const JobContext& context) -> Apply {
               auto calls = bench->calls(progress(context));
               return [this, revision, calls = std::move(calls)] {
                 if (revision == session.revision) session.calls = calls;
               };
             });
}

void Workbench::measure() {
  if (!session.model) return;
  const auto& source = session.model->source;
  std::vector<std::string> argv{host.program, "plan"};
  if (source.subject.empty()) {
    argv.emplace_back("--model");
    argv.insert(argv.end(), source.models.begin(), source.models.end());
    if (!source.weights.empty()) argv.emplace_back("--weights");
    argv.insert(argv.end(), source.weights.begin(), source.weights.end());
  } else {
    argv.push_back(source.subject);
  }
  if (source.weights.empty() && source.models.size() <= 1)
    argv.insert(argv.end(), {"-n", std::to_string(session.model->members.size())});
  argv.insert(argv.end(), {"--mode", session.wish.mode});
  jobs.start(Lane::kMeasure, "Timing the strategies of " + session.model->name,
             [this, argv](const JobContext& context) -> Apply {
               std::atomic<int> stop = 0;
               const auto begun = std::chrono::steady_clock::now();
               double shown = -1;
               processes::ProcessTask task{.argv = argv, .timeout_seconds = 600, .stop = &stop};
               task.waiting = [&] {
                 if (context.cancelled()) stop = 2;
                 const double seconds =
                     std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
                 if (seconds < shown + 1) return;
                 shown = seconds;
                 context.progress(-1, "in a process of its own");
               };
               const auto outcome = processes::run_process(task);
               context.check();
               if (outcome.end != processes::ProcessEnd::kExited || outcome.code != 0) {
                 throw Error("plan", "the process ended with " + std::to_string(outcome.code) + ": " +
                                         outcome.errors);
               }
               return [this] {
                 notices.log(Level::kInfo, "timed what was not known; building with it");
                 build();
               };
             });
}

}  // namespace wide::gui
