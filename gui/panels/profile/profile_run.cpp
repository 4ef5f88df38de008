// The child process that captures, and the reading of traces.
#include <cstdlib>

#include "app/stored_captures.h"
#include "app/temporary_folder.h"
#include "formats/error.h"
#include "gui/panels/profile/profile_panel.h"
#include "gui/views/child.h"
#include "results/report.h"

namespace wide::gui {
namespace {

using Shared = std::shared_ptr<ProfilePanel>;

Step step_of(const JobContext& context) {
  return [&context](double fraction, const char* what) {
    context.check();
    context.progress(fraction, what);
  };
}

}  // namespace

std::vector<std::string> profile_arguments(const ProfilePanel& panel, const Workbench& bench,
                                           const std::string& trace, const std::string& plan) {
  const auto& form = panel.form;
  std::vector<std::string> words = {"profile"};
  ModelSource source{.subject = form.subject, .copies = form.members};
  BuildWish wish;
  if (form.open_model && bench.session.model) {
    source = bench.session.model->source;
    wish = bench.session.model->wish;
  }
  if (!source.subject.empty()) {
    const auto& preset = form.open_model && bench.session.model ? kSubjectSizes : form.preset;
    words.insert(words.end(), {source.subject, "-p", preset, "-n", std::to_string(source.copies)});
  } else {
    words.emplace_back("--model");
    words.insert(words.end(), source.models.begin(), source.models.end());
    if (!source.weights.empty()) words.emplace_back("--weights");
    words.insert(words.end(), source.weights.begin(), source.weights.end());
    if (source.weights.empty() && source.models.size() == 1)
      words.insert(words.end(), {"-n", std::to_string(source.copies)});
  }
  if (!plan.empty()) words.insert(words.end(), {"--plan", plan});
  if (wish.mode != "eager") words.insert(words.end(), {"--mode", wish.mode});
  words.insert(words.end(), {"--device", bench.host.device});
  std::string rivals;
  for (const auto& rival : form.rivals) rivals.append(rivals.empty() ? "" : ",").append(rival);
  words.insert(words.end(), {"--rivals", rivals.empty() ? "none" : rivals, "--passes",
                             std::to_string(form.passes), "--roofline"});
  if (form.measure_peaks) words.emplace_back("--measure-peaks");
  words.insert(words.end(), {"--trace", trace});
  return words;
}

void start_profile(const Shared& panel, Workbench& bench) {
  // What is profiled is what Graph and Strategies show: the plan goes along, in the folder of the job.
  const bool open = panel->form.open_model && bench.session.model;
  const auto plan = open ? bench.session.model->plan : std::string();
  const auto arguments = profile_arguments(*panel, bench, "");
  const auto program = bench.host.program;
  Offers offers;
  if (const auto& session = bench.session; panel->form.open_model && session.model && session.planned)
    offers = offers_of(*session.model, *session.planned);
  const auto database = panel->records->database.string();  // kept there, so that History has it
  panel->job = bench.jobs.start(
      Lane::kMeasure, "Profile",
      [panel, arguments, plan, program, database, offers](const JobContext& context) -> Apply {
        const app::TemporaryFolder folder("widebench-profile");
        const auto trace = folder.path() / "trace.json";
        auto words = arguments;
        words.back() = trace.string();
        if (!plan.empty()) {
          const auto file = folder.path() / "open.plan.json";
          results::write_text(file, plan);
          words.insert(words.end(), {"--plan", file.string()});
        }
        words.insert(words.begin(), program);
        words.emplace_back("--json");
        if (!database.empty()) words.insert(words.end(), {"--db", database});
        context.progress(-1, "capturing");
        ChildTask task{.argv = std::move(words)};
        task.cancelled = [&context] { return context.cancelled(); };
        const auto end = run_child(task);
        if (end.cancelled) throw JobCancelled();
        if (end.code != 0) throw Error("profile", complaint(end));
        auto data = std::make_shared<ProfileData>(read_profile(trace, end.output, step_of(context), offers));
        data->file.clear();  // it goes with the folder
        return [panel, data] {
          ++panel->records->revision;
          show_profile(*panel, data);
        };
      });
}

void load_profile(const Shared& panel, Workbench& bench, const std::filesystem::path& file) {
  panel->job = bench.jobs.start(
      Lane::kFiles, "Opening " + file.filename().string(), [panel, file](const JobContext& context) -> Apply {
        auto data = std::make_shared<ProfileData>(read_profile(file, "", step_of(context)));
        return [panel, data] { show_profile(*panel, data); };
      });
}

void load_captures(const Shared& panel, Workbench& bench, std::int64_t run) {
  const auto database = panel->records->database;
  panel->job =
      bench.jobs.start(Lane::kFiles, "Opening the captures of run " + std::to_string(run),
                       [panel, database, run](const JobContext& context) -> Apply {
                         const auto store = results::Store::open(database, results::OpenMode::kReadOnly);
                         const auto cases = app::captured_cases(store, run);
                         if (cases.empty())
                           throw Error("profile", "run " + std::to_string(run) + " has no captures");
                         auto data = std::make_shared<ProfileData>(
                             make_profile(app::read_captures(store, cases.front()), "", step_of(context)));
                         return [panel, data] { show_profile(*panel, data); };
                       });
}

void show_profile(ProfilePanel& panel, std::shared_ptr<ProfileData> data) {
  panel.data = std::move(data);
  panel.capture = panel.data->wide;
  panel.comparison = 0;
  panel.chosen_of.clear();
  reset(panel.timeline);
  panel.marked.clear();
  panel.span = {};
  panel.query = {.text = panel.query.text};
  if (!panel.timeline.looked_for.empty()) look_for(panel.timeline, *panel.data, panel.timeline.looked_for);
  for (auto& table : panel.data->kernels) table.filter(panel.kernels.filter);
  panel.data->nodes.filter(panel.nodes.filter);
  panel.data->points.filter(panel.points.filter);
  panel.data->limit_nodes.filter(panel.limits.filter);
  panel.data->limit_modules.filter(panel.limits.filter);
}

}  // namespace wide::gui
